"""The Spaces of which nothing can be stored for the moment, and when each is tried again.

In a cluster a Space's rows cannot be written while its shards are switched over to another node, or
while its node is away. In a group commit it would hold up or fail all others:

    group    a b c       fails because of c: all are due at once, each alone
    next     a · b · c   a and b are stored and released, c is held
    next     a b · a b   c's requests wait in the queue meanwhile
    later    c           alone; when it is stored, c is in the groups again
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable

HOLD_SECONDS = 0.5
"""How long a Space that failed alone is left out before it is tried again."""


class HeldSpaces:
    """The Spaces that are left out of groups: usually none."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[int, float] = {}

    def __bool__(self) -> bool:
        return bool(self._due)

    def __contains__(self, space_id: int) -> bool:
        return space_id in self._due

    def note_failure(self, spaces: Collection[int]) -> None:
        """Leave out a Space that failed alone; of several any may be at fault, so each is tried
        alone, at once.
        """
        pause = HOLD_SECONDS if len(spaces) == 1 else 0.0
        self._due.update(dict.fromkeys(spaces, self._clock() + pause))

    def note_success(self, spaces: Iterable[int]) -> None:
        """Let Spaces into groups again."""
        for space_id in spaces:
            self._due.pop(space_id, None)

    def choose(self, waiting: Iterable[int]) -> Callable[[int], bool]:
        """Return which of the waiting Spaces are of the next group: the first that is due, alone,
        or else all that are not left out.
        """
        now = self._clock()
        for space_id in waiting:
            if self._due.get(space_id, now + 1) <= now:
                return space_id.__eq__
        return lambda space_id: space_id not in self._due
