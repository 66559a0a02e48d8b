"""Connections for the API: pooled, with time limits that hold however the database fails.

A driver's own time-outs do not help against a frozen server: cancelling a query needs an answer from it. So a
connection that passes its deadline has its socket shut, and the pool replaces it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, Self

from psycopg import AsyncConnection, InterfaceError, OperationalError
from psycopg.errors import IdleInTransactionSessionTimeout, ReadOnlySqlTransaction
from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from headwater.base.telemetry.spans import inner_span
from headwater.database import row_security
from headwater.database.allowance import DEADLINE_SECONDS, spend
from headwater.database.outage_log import requests_outage
from headwater.database.queries import Queries, fetch_one

queries = Queries(__name__, "pool.sql")

ACQUIRE_SECONDS = 2.0
CONNECT_SECONDS = 3
POOL_SIZE = 8
HEAVY_PLACES = 3
"""Connections of a pool for heavy work."""
MARGIN_SECONDS = 0.25
"""PostgreSQL ends a long statement this much earlier than we end its connection, which costs more."""

UNAVAILABLE = (
    OperationalError,
    InterfaceError,
    PoolTimeout,
    ReadOnlySqlTransaction,
    IdleInTransactionSessionTimeout,
)
"""Errors of a database that is away, frozen, full, shutting down or a read-only standby, or that has ended a
frozen process's session.
"""

CONNECT: dict[str, Any] = {
    "autocommit": True,
    "connect_timeout": CONNECT_SECONDS,
    "tcp_user_timeout": 4000,
    "application_name": "headwater",
}
_SYSTEM = {"db.system.name": "postgresql"}


class PooledConnection(AsyncConnection):
    space_role: str | None = None
    """The role of confined sessions; None if the session cannot switch to it."""
    _confined_to: int | None = None
    _is_known = True
    """False if the last change was interrupted."""

    async def confine(self, space_id: int | None) -> None:
        """Confine the session to a Space, or to none. Inside a transaction the confinement lasts until its
        end.
        """
        if self.space_role is None or (self._is_known and space_id == self._confined_to):
            return
        if self.info.transaction_status is not TransactionStatus.IDLE:
            await self._confine(space_id, local=True)
            return
        self._is_known = False
        await self._confine(space_id, local=False)
        self._confined_to, self._is_known = space_id, True

    async def _confine(self, space_id: int | None, *, local: bool) -> None:
        if space_id is None:
            await self.execute(row_security.queries["release"])
        else:
            values = {"space_id": space_id, "role": self.space_role, "local": local}
            await self.execute(row_security.queries["confine"], values)


async def confine(connection: AsyncConnection, space_id: int) -> None:
    """Confine the rest of this task, including its current connection."""
    row_security.serve_space(space_id)
    if isinstance(connection, PooledConnection):
        await connection.confine(space_id)


async def connect(url: str) -> AsyncConnection:
    """Return an autocommit connection for work that must not wait for the pool."""
    connection = await AsyncConnection.connect(url, **CONNECT)
    try:
        with bounded(connection, CONNECT_SECONDS):
            await connection.execute(queries["watch_client"])
            await _end_abandoned(connection)
    except BaseException:
        await connection.close()
        raise
    return connection


async def _configure(connection: PooledConnection) -> None:
    with bounded(connection, CONNECT_SECONDS):
        role = await fetch_one(connection, row_security.queries["role"])
        connection.space_role = row_security.SpaceRole(*role).usable_name
        await connection.execute(queries["bound_session"], {"patience": _milliseconds(DEADLINE_SECONDS)})
        await _end_abandoned(connection)


async def _end_abandoned(connection: AsyncConnection) -> None:
    """End the sessions that new connections replace, if they wait for a standby."""
    await connection.execute(queries["end_abandoned"], {"patience": _milliseconds(DEADLINE_SECONDS)})


class Database:
    """A pool of connections, open during its block."""

    def __init__(self, url: str, size: int = POOL_SIZE) -> None:
        self.url = url
        self._pool = AsyncConnectionPool[PooledConnection](
            url,
            min_size=1,
            max_size=size,
            open=False,
            timeout=ACQUIRE_SECONDS,
            connection_class=PooledConnection,
            kwargs=CONNECT,
            reconnect_timeout=5,
            configure=_configure,
            check=None,
            num_workers=2,
        )
        self._heavy_places = asyncio.Semaphore(HEAVY_PLACES)

    async def __aenter__(self) -> Self:
        await self._pool.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pool.close(timeout=2)

    @asynccontextmanager
    async def connection(self, seconds: float = DEADLINE_SECONDS) -> AsyncGenerator[AsyncConnection]:
        """Yield a connection in autocommit, for single statements, for at most `seconds` minus the request's
        previous database time.

        Raises one of UNAVAILABLE without a connection, or after this time.
        """
        async with self._hold(seconds) as (connection, _):
            yield connection

    @asynccontextmanager
    async def transaction(
        self, seconds: float = DEADLINE_SECONDS, *, heavy: bool = False
    ) -> AsyncGenerator[AsyncConnection]:
        """Yield a connection inside a transaction that commits when the block ends.

        Heavy or long work takes one of a few places, which leaves most connections to other requests.
        """
        if heavy or seconds > DEADLINE_SECONDS:
            async with self._heavy_transaction(seconds) as connection:
                yield connection
        else:
            async with self.connection(seconds) as connection, connection.transaction():
                yield connection

    @asynccontextmanager
    async def _heavy_transaction(self, seconds: float) -> AsyncGenerator[AsyncConnection]:
        with spend() as deadline:
            await self._take_heavy_place(deadline)
        try:
            async with self._hold(seconds) as (connection, deadline), connection.transaction():
                patience = _milliseconds(deadline - time.monotonic() - MARGIN_SECONDS)
                await connection.execute(queries["bound_statements"].format(patience=patience))
                yield connection
        finally:
            self._heavy_places.release()

    @asynccontextmanager
    async def _hold(self, seconds: float) -> AsyncGenerator[tuple[AsyncConnection, float]]:
        with inner_span("postgresql", _SYSTEM, "client"), spend(seconds) as deadline:
            patience = min(ACQUIRE_SECONDS, deadline - time.monotonic())
            async with self._pool.connection(patience) as connection:
                with bounded(connection, deadline - time.monotonic()):
                    await connection.confine(row_security.served_space())
                    yield connection, deadline
            requests_outage.end()

    async def _take_heavy_place(self, deadline: float) -> None:
        patience = min(ACQUIRE_SECONDS, deadline - time.monotonic())
        try:
            async with asyncio.timeout(patience):
                await self._heavy_places.acquire()
        except TimeoutError:
            raise PoolTimeout("too many heavy requests are under way") from None


def _milliseconds(seconds: float) -> int:
    """Return milliseconds for PostgreSQL: at least 1, because 0 means no limit."""
    return max(1, round(1_000 * seconds))


class bounded:
    """Shuts `connection`'s socket when the block takes longer than `seconds`."""

    def __init__(self, connection: AsyncConnection, seconds: float) -> None:
        self._connection, self._seconds = connection, seconds

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._seconds, _shut, self._connection)

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def _shut(connection: AsyncConnection) -> None:
    with suppress(OSError, OperationalError):
        duplicate = socket.socket(fileno=os.dup(connection.fileno()))
        try:
            duplicate.shutdown(socket.SHUT_RDWR)
        finally:
            duplicate.close()
