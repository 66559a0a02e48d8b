"""The lock of a Space, held until the end of a transaction: changes of its identities happen one at a time,
and never block other Spaces.

Each Space has a row in `space_locks` for it. The row in `spaces` would not do: a cluster keeps that table on
every node, where locking one row blocks all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psycopg import AsyncConnection, Connection

from headwater.database.queries import Queries

queries = Queries(__name__, "locks.sql")

LOCK_PATIENCE = "3s"
"""The time a request waits for a Space that is being changed. It then fails with an intact
connection, before its deadline cuts that off, and one busy Space cannot block the pool.
"""


async def create_lock(connection: AsyncConnection, space_id: int) -> None:
    """Create the row that a new Space is locked by."""
    await connection.execute(queries["create"], {"space_id": space_id})


def request_lock(connection: Connection[Any], space_id: int) -> Callable[[], bool]:
    """Request the Space's lock; calling the result returns False when another has it."""
    cursor = connection.execute(queries["try"], {"space_id": space_id})
    return lambda: cursor.fetchone() is not None


def try_lock(connection: Connection[Any], space_id: int) -> bool:
    """Lock the Space, unless another has it: then False is returned at once."""
    return request_lock(connection, space_id)()


def lock_shared(connection: Connection[Any], space_id: int) -> None:
    """Wait until no change of the Space's identities is under way, and allow none until the end of
    the transaction.
    """
    connection.execute(queries["share"], {"space_id": space_id})


async def lock_identities(connection: AsyncConnection, space_id: int) -> None:
    """Lock the Space for this transaction. Every change of a contact, an identifier, a company or a
    membership does this first: such changes happen one at a time, the pipeline's included.

    Raises one of UNAVAILABLE after waiting for LOCK_PATIENCE.
    """
    await connection.execute(queries["bound_waiting"].format(patience=LOCK_PATIENCE))
    await lock_space(connection, space_id)


async def lock_space(connection: AsyncConnection, space_id: int) -> bool:
    """Lock the Space, however long that takes. Returns False when there is no such Space."""
    cursor = await connection.execute(queries["take"], {"space_id": space_id})
    return await cursor.fetchone() is not None
