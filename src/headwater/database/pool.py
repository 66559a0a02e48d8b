"""Connections for the API: pooled, and bounded in time however the database fails.

A driver's own time-outs do not help against a frozen server: cancelling a query needs an answer
from it. So a connection that passes its deadline has its socket shut, which ends any wait at
once; the pool then replaces it.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

from psycopg import AsyncConnection, InterfaceError, OperationalError
from psycopg_pool import AsyncConnectionPool, PoolTimeout

ACQUIRE_SECONDS = 2.0
DEADLINE_SECONDS = 4.0

UNAVAILABLE = (OperationalError, InterfaceError, PoolTimeout)
"""What a database that is away, frozen, full or shutting down raises."""

CONNECT: dict[str, Any] = {
    "autocommit": True, "connect_timeout": 3, "tcp_user_timeout": 4000,
    "application_name": "headwater",
}  # fmt: skip


async def connect(url: str) -> AsyncConnection:
    """A connection of its own, in autocommit, for work that must not wait for the pool."""
    return await AsyncConnection.connect(url, **CONNECT)


class Database:
    """A pool of connections to one PostgreSQL."""

    def __init__(self, url: str, size: int = 8) -> None:
        self.url = url
        self._pool = AsyncConnectionPool(
            url, min_size=1, max_size=size, open=False, timeout=ACQUIRE_SECONDS,
            kwargs=CONNECT, reconnect_timeout=5,
            check=None, num_workers=2,
        )  # fmt: skip

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._pool.close(timeout=2)

    @asynccontextmanager
    async def connection(
        self, seconds: float = DEADLINE_SECONDS
    ) -> AsyncGenerator[AsyncConnection]:
        """A connection in autocommit, for single statements, held for `seconds` at most.

        Raises one of UNAVAILABLE when none can be had or the time is up.
        """
        async with self._pool.connection() as connection:
            with bounded(connection, seconds):
                yield connection

    @asynccontextmanager
    async def transaction(
        self, seconds: float = DEADLINE_SECONDS
    ) -> AsyncGenerator[AsyncConnection]:
        """A connection inside a transaction that commits when the block ends."""
        async with self.connection(seconds) as connection, connection.transaction():
            yield connection


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
