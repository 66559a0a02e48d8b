"""Iterate over Spaces with waiting rows a few at a time, to see new rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from psycopg import Connection

from headwater.intake.inbox.queue import find_last_waiting_space, find_next_waiting_spaces

MAX_SPACES = 32
"""Per poll, which takes less than 1 ms."""

# Two workers, in the order of ids; a dot is an empty Space, which is not seen:
#
#     . . . . e f g h i j k l . . . . . . s t u v w x y z
#             |                           |
#             worker 1 polls from here    worker 2 from here
#
# Once one catches up with the other, both would see the same Spaces in every poll. So a worker that
# finds a Space locked or emptied continues from a random position.


class Rounds:
    """`end_round` receives the Spaces of a finished round."""

    def __init__(self, end_round: Callable[[set[int]], object]) -> None:
        self._end_round = end_round
        self._after: int | None = 0
        """The last Space; None means a random one."""
        self._seen_spaces = set[int]()
        """Of this round."""

    def poll(self, connection: Connection[Any]) -> list[int]:
        after = _draw(connection) if self._after is None else self._after
        spaces = find_next_waiting_spaces(connection, after, MAX_SPACES)
        missing_count = MAX_SPACES - len(spaces)
        if missing_count:
            self._end_round(self._seen_spaces.union(spaces))
            self._seen_spaces.clear()
        if missing_count and after:
            first = find_next_waiting_spaces(connection, 0, missing_count)
            spaces += [space_id for space_id in first if space_id <= after]
        self._seen_spaces.update(spaces)
        self._after = spaces[-1] if len(spaces) == MAX_SPACES else 0
        return spaces

    def jump(self) -> None:
        self._after = None


def _draw(connection: Connection[Any]) -> int:
    return random.randrange(find_last_waiting_space(connection) + 1)  # noqa: S311 - no secret
