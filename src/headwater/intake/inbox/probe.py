from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from psycopg import AsyncConnection

from headwater.database.pool import UNAVAILABLE, Database, bounded, connect
from headwater.database.queries import Queries
from headwater.intake.inbox.inbox import Inbox

queries = Queries(__name__, "probe.sql")

SECONDS = 2.0
BYTES = 1_000


async def takes_writes(database: Database, inboxes: Sequence[Inbox]) -> bool:
    """Return whether an event can be stored. Stores nothing."""
    row = {"space_id": 0, "id": -secrets.randbits(40), "payload": secrets.token_hex(BYTES)}
    try:
        async with _open(database, inboxes) as connection:
            with bounded(connection, SECONDS):
                async with connection.transaction(force_rollback=True):
                    await connection.execute(queries["try_write"], row)
                await connection.execute(queries["try_commit"])
    except UNAVAILABLE:
        return False
    return True


@asynccontextmanager
async def _open(database: Database, inboxes: Sequence[Inbox]) -> AsyncGenerator[AsyncConnection]:
    """Yield a connection outside the pool, which may be busy. Yield one of the pool if the server refuses new
    connections, but the inboxes have theirs, over which events are then stored.
    """
    async with AsyncExitStack() as stack:
        try:
            connection = await stack.enter_async_context(await connect(database.url))
        except UNAVAILABLE:
            if not all(inbox.is_connected for inbox in inboxes):
                raise
            connection = await stack.enter_async_context(database.connection(SECONDS))
        yield connection
