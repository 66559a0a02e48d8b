"""Move rows to another contact or company.

Packages own the statements for their rows. The caller holds the Space's lock.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from psycopg import AsyncConnection, Connection

from headwater.attribution.paths.changes import NOTE_CONTACTS, NOTE_MOVES
from headwater.database.bulk_values import rows
from headwater.events import batch_store as events
from headwater.events.browsing import batch_store as browsing
from headwater.events.touchpoints import batch_store as touchpoints
from headwater.people.identity.moves import ContactMove, ContactSplit

# Statements, because one connection blocks and the other is asynchronous.
_REASSIGN = (events.REASSIGN, touchpoints.REASSIGN, browsing.REASSIGN_VISITS, browsing.REASSIGN_HITS)
_RESTORE = {
    "events": events.RESTORE,
    "touchpoints": touchpoints.RESTORE,
    "visits": browsing.RESTORE_VISITS,
    "hits": browsing.RESTORE_HITS,
}


def reassign_all(connection: Connection[Any], space_id: int, moves: Collection[ContactMove]) -> None:
    values = [move.values(space_id) for move in moves]
    if values:
        connection.execute(NOTE_MOVES, {"space_id": space_id, "moves": rows(moves)})
        for statement in _REASSIGN:
            connection.cursor().executemany(statement, values)


async def reassign(connection: AsyncConnection, space_id: int, move: ContactMove) -> None:
    values = move.values(space_id)
    await connection.execute(NOTE_MOVES, {"space_id": space_id, "moves": rows([move])})
    for statement in _REASSIGN:
        await connection.execute(statement, values)


async def restore(connection: AsyncConnection, space_id: int, split: ContactSplit) -> dict[str, int]:
    """Return the number of rows by kind."""
    values = split.values(space_id)
    counts = {
        kind: (await connection.execute(statement, values)).rowcount for kind, statement in _RESTORE.items()
    }
    await connection.execute(NOTE_CONTACTS, values)
    return counts
