from __future__ import annotations

import secrets

from headwater.database.pool import UNAVAILABLE, bounded, connect
from headwater.database.queries import Queries

queries = Queries(__name__, "probe.sql")

SECONDS = 2.0
BYTES = 1_000


async def takes_writes(url: str) -> bool:
    """Return whether an event can be stored.

    Uses a connection outside the pool, which may be busy, and stores nothing.
    """
    row = {"space_id": 0, "id": -secrets.randbits(40), "payload": secrets.token_hex(BYTES)}
    try:
        async with await connect(url) as connection:
            with bounded(connection, SECONDS):
                async with connection.transaction(force_rollback=True):
                    await connection.execute(queries["try_write"], row)
                await connection.execute(queries["try_commit"])
    except UNAVAILABLE:
        return False
    return True
