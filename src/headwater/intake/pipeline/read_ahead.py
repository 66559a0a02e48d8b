"""Rows that wait behind a batch, read with it and parsed while PostgreSQL writes it, so that the
worker and PostgreSQL compute at the same time. They are used if the next claim of their Space finds
the same rows first, unchanged, under the same rules; otherwise they are read and parsed afresh.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any
from weakref import WeakKeyDictionary

from psycopg import Connection

from headwater.intake.inbox.queue import request_rows
from headwater.intake.inbox.rows import InboxRow
from headwater.intake.pipeline.batch import Batch, ParsedRows, SpaceRules
from headwater.intake.pipeline.steps import parse

# Two batches of a Space, 1 and 2:
#
#     worker      claim 1 | decide 1 | contacts 1 | parse 2 | events 1 |        claim 2 | decide 2
#     PostgreSQL                     | . . . . . . write 1 . . . . . . . commit |
#
# Between the two anything may happen to the rows of 2, as nobody holds the Space's lock: another
# worker takes them, a person is erased, an operator mends a payload, a row that was accepted before
# them is committed after them, a setting changes. So nothing of 2 is believed but what the claim,
# under the lock, finds to be as it was: every row by its id and the transaction that wrote it.

MOST_SPACES = 8
"""The Spaces for which rows are held at a time; others do without."""
MOST_CHARACTERS = 8_000_000
"""The length of a batch's payloads above which nothing is read ahead, to save memory."""
PIECE_ROWS = 50
"""The rows parsed between two looks whether PostgreSQL can take more of what is written to it."""


class ReadAhead:
    """The rows that a worker has parsed ahead, by its connection, with which they are gone."""

    def __init__(self, most_spaces: int = MOST_SPACES) -> None:
        self._most_spaces = most_spaces
        self._parsed = WeakKeyDictionary[Connection[Any], dict[int, ParsedRows]]()

    def take(self, connection: Connection[Any], space_id: int) -> ParsedRows | None:
        """Return the Space's rows, if there are any, and hold them no longer."""
        return self._of(connection).pop(space_id, None)

    def request(self, connection: Connection[Any], batch: Batch, limit: int) -> Callable[[], None]:
        """Request the rows behind a full batch; calling the result parses and holds them."""
        arrivals = batch.arrivals
        if (
            len(arrivals) < limit
            or len(self._of(connection)) >= self._most_spaces
            or sum(len(row.payload) for row in arrivals) > MOST_CHARACTERS
        ):
            return do_nothing
        last = arrivals[-1].id
        fetch_rows = request_rows(connection, batch.space.id, limit, after_id=last)

        def parse_and_hold() -> None:
            parsed = _parse(connection, batch.space, fetch_rows())
            if parsed is not None:
                self._of(connection)[batch.space.id] = parsed

        return parse_and_hold

    def keep_only(self, spaces: Collection[int]) -> None:
        """Hold no rows of other Spaces any longer, as nothing waits there."""
        for held in list(self._parsed.values()):
            for space_id in held.keys() - set(spaces):
                held.pop(space_id, None)

    def _of(self, connection: Connection[Any]) -> dict[int, ParsedRows]:
        return self._parsed.setdefault(connection, {})


def _parse(connection: Connection[Any], space: SpaceRules, arrivals: list[InboxRow]) -> ParsedRows | None:
    """Parse rows while PostgreSQL does what the connection has sent to it. None when there are
    none, or one has a fault, which shows again when its turn comes.
    """
    parsed = ParsedRows(space, arrivals)
    try:
        for start in range(0, len(arrivals), PIECE_ROWS):
            parse(parsed, arrivals[start : start + PIECE_ROWS])
            connection.pgconn.flush()
    except Exception:  # noqa: BLE001 - no fault of these rows may end the batch before them
        return None
    return parsed if arrivals else None


def do_nothing() -> None:
    """In place of reading ahead."""


NOTHING_AHEAD = ReadAhead(most_spaces=0)
"""For whoever takes one batch only."""
