"""What is stored of a contact follows it: to a survivor when it is merged, to another company when
its membership changes. Whoever calls holds the Space's lock.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from psycopg import AsyncConnection, Connection

from headwater.database.queries import Queries

queries = Queries(__name__, "reassignment.sql")


class Move(msgspec.Struct, frozen=True, gc=False):
    """What the stored rows of a contact become; a contact that was not merged moves to itself."""

    contact_id: int
    survivor_id: int
    company_id: int | None
    source_mask: int = 0
    """Sources, as bits, that are now on the path of its events."""


def restamp_all(connection: Connection[Any], space_id: int, moves: Iterable[Move]) -> None:
    """Carry out the moves of a batch."""
    values = [{"space_id": space_id, **msgspec.structs.asdict(move)} for move in moves]
    if values:
        for name in queries.names():
            connection.cursor().executemany(queries[name], values)


async def restamp(connection: AsyncConnection, space_id: int, move: Move) -> None:
    """Carry out one move."""
    values = {"space_id": space_id, **msgspec.structs.asdict(move)}
    for name in queries.names():
        await connection.execute(queries[name], values)
