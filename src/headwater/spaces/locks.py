"""The lock of a Space, held until the end of a transaction: its identities change one at a time, without
blocking other Spaces.

It is a row in `space_locks`, because a cluster keeps `spaces` on every node, where locking one row blocks all
others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psycopg import AsyncConnection, Connection

from headwater.database.queries import Queries

queries = Queries(__name__, "locks.sql")

LOCK_PATIENCE = "3s"
"""A request waits this long for a busy Space, then fails before its deadline, so one busy Space cannot block
the pool.
"""


async def create_lock(connection: AsyncConnection, space_id: int) -> None:
    await connection.execute(queries["create"], {"space_id": space_id})


def request_lock(connection: Connection[Any], space_id: int) -> Callable[[], bool]:
    """Calling the result returns False if another transaction has the lock."""
    cursor = connection.execute(queries["try"], {"space_id": space_id})
    return lambda: cursor.fetchone() is not None


def try_lock(connection: Connection[Any], space_id: int) -> bool:
    return request_lock(connection, space_id)()


def lock_shared(connection: Connection[Any], space_id: int) -> None:
    """Wait for changes of the Space's identities, and prevent new ones until the transaction ends."""
    connection.execute(queries["share"], {"space_id": space_id})


async def lock_identities(connection: AsyncConnection, space_id: int) -> None:
    """Lock the Space for this transaction. Every change of a contact, an identifier, a company or a
    membership does this first, including the pipeline. Raises one of UNAVAILABLE after waiting for
    LOCK_PATIENCE.
    """
    await connection.execute(queries["bound_waiting"].format(patience=LOCK_PATIENCE))
    await lock_space(connection, space_id)


async def lock_space(connection: AsyncConnection, space_id: int) -> bool:
    """Lock the Space without a time limit. Returns False for an unknown Space."""
    cursor = await connection.execute(queries["take"], {"space_id": space_id})
    return await cursor.fetchone() is not None
