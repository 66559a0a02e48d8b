"""Parse the next rows while PostgreSQL writes a batch.

They are used if the same versions are still first at the next claim, under the same rules.
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
# Anything may happen to the rows of 2 in between, because the Space isn't locked: another worker
# takes them, a person is erased, an operator fixes a payload, a row accepted earlier is committed
# later, a setting changes. So the claim, under the lock, verifies every row by its id and the
# transaction that wrote it.

MAX_SPACES = 8
"""More Spaces are not read ahead."""
MAX_CHARACTERS = 8_000_000
"""No read ahead of larger batches, to save memory."""
CHUNK_ROWS = 50
"""Rows to parse between flushes to PostgreSQL."""


class ReadAhead:
    """Parsed rows by connection."""

    def __init__(self, max_spaces: int = MAX_SPACES) -> None:
        self._max_spaces = max_spaces
        self._parsed = WeakKeyDictionary[Connection[Any], dict[int, ParsedRows]]()

    def take(self, connection: Connection[Any], space_id: int) -> ParsedRows | None:
        return self._parsed_rows(connection).pop(space_id, None)

    def request(self, connection: Connection[Any], batch: Batch, limit: int) -> Callable[[], None]:
        """Request the rows after a full batch. Call the result to keep them."""
        arrivals = batch.arrivals
        if (
            len(arrivals) < limit
            or len(self._parsed_rows(connection)) >= self._max_spaces
            or sum(len(row.payload) for row in arrivals) > MAX_CHARACTERS
        ):
            return do_nothing
        last = arrivals[-1].id
        fetch_rows = request_rows(connection, batch.space.id, limit, after_id=last)

        def parse_and_keep() -> None:
            parsed = _parse(connection, batch.space, fetch_rows())
            if parsed is not None:
                self._parsed_rows(connection)[batch.space.id] = parsed

        return parse_and_keep

    def keep_only(self, spaces: Collection[int]) -> None:
        for parsed_rows in list(self._parsed.values()):
            for space_id in parsed_rows.keys() - set(spaces):
                parsed_rows.pop(space_id, None)

    def _parsed_rows(self, connection: Connection[Any]) -> dict[int, ParsedRows]:
        return self._parsed.setdefault(connection, {})


def _parse(connection: Connection[Any], space: SpaceRules, arrivals: list[InboxRow]) -> ParsedRows | None:
    """Return None without rows, or with a faulty one."""
    parsed = ParsedRows(space, arrivals)
    try:
        for start in range(0, len(arrivals), CHUNK_ROWS):
            parse(parsed, arrivals[start : start + CHUNK_ROWS])
            connection.pgconn.flush()
    except Exception:  # noqa: BLE001 - must not end the earlier batch
        return None
    return parsed if arrivals else None


def do_nothing() -> None:
    """Read nothing ahead."""


NOTHING_AHEAD = ReadAhead(max_spaces=0)
