"""A worker's rounds of the Spaces with waiting rows, a few at a time: so it sees what came in
meanwhile, and does not call on Spaces that other workers have emptied.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from psycopg import Connection

from headwater.intake.inbox.queue import last_waiting_space, next_waiting_spaces

MOST_SPACES = 32
"""The Spaces between two looks. With one row each they take some 50 ms, and a look less than 1."""

# Two workers, in the order of ids; a dot is a Space that has been emptied, and so is not seen:
#
#     . . . . e f g h i j k l . . . . . . s t u v w x y z
#             |                           |
#             worker 1 looks from here    worker 2 from here
#
# Where one comes up to the other, both see the same Spaces, and would in every look from then on.
# So a worker that finds a Space taken or emptied goes on from a place that it draws.


class Rounds:
    """A worker's place in its round. `ended` is called with all Spaces of a round at its end."""

    def __init__(self, ended: Callable[[set[int]], object]) -> None:
        self._ended = ended
        self._after: int | None = 0
        """The Space behind which it looks next; None where that is drawn."""
        self._seen = set[int]()
        """The Spaces of this round so far."""

    def look(self, connection: Connection[Any]) -> list[int]:
        """Return the next Spaces with waiting rows; none if there are none at all."""
        after = _draw(connection) if self._after is None else self._after
        spaces = next_waiting_spaces(connection, after, MOST_SPACES)
        left = MOST_SPACES - len(spaces)
        if left:
            self._ended(self._seen.union(spaces))
            self._seen.clear()
        if left and after:
            first = next_waiting_spaces(connection, 0, left)
            spaces += [space_id for space_id in first if space_id <= after]
        self._seen.update(spaces)
        self._after = spaces[-1] if len(spaces) == MOST_SPACES else 0
        return spaces

    def leave(self) -> None:
        """Look elsewhere next: where this worker is there is another one."""
        self._after = None


def _draw(connection: Connection[Any]) -> int:
    """Return a place among all Spaces with waiting rows."""
    return random.randrange(last_waiting_space(connection) + 1)  # noqa: S311 - no secret
