"""Accounts for tests: Argon2 with the cheapest parameters, users, and a way to call domain functions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import cache
from threading import Thread
from typing import ClassVar, TypeVar
from uuid import uuid4

import psycopg
from argon2 import PasswordHasher
from psycopg import AsyncConnection

from headwater.spaces.accounts.members import add_member
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.sessions import open_session
from headwater.spaces.accounts.users import User, create_user
from tests.support.connections import AS_NEW

T = TypeVar("T")

PASSWORD = "correct horse battery"
CHEAP = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}
HASH = PasswordHasher(**CHEAP).hash(PASSWORD)


def unique_email() -> str:
    return f"user-{uuid4().hex}@example.com"


class Accounts:
    """Runs domain functions, each in its own transaction and on another thread, because a thread that drives
    a browser already has an event loop.
    """

    _connections: ClassVar[dict[str, AsyncConnection]] = {}
    """The connection to each database, by URL."""

    def __init__(self, url: str) -> None:
        self.url = url

    def run(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        return _elsewhere(self._pooled_transaction(work))

    def run_together(self, works: list[Callable[[AsyncConnection], Awaitable[T]]]) -> list[T | Exception]:
        """Run all functions concurrently and return the result or exception of each."""

        async def gather_results() -> list[T | Exception]:
            results = await asyncio.gather(*map(self._own_transaction, works), return_exceptions=True)
            return [
                result for result in results if not isinstance(result, BaseException) or _keep_error(result)
            ]  # type: ignore[misc]

        return _elsewhere(gather_results())

    async def _pooled_transaction(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        connection = self._connections.pop(self.url, None)
        if connection is None or not await _is_alive(connection):
            connection = await AsyncConnection.connect(self.url)
        try:
            result = await work(connection)
            await connection.execute(AS_NEW)
            await connection.commit()
        except BaseException:
            await connection.close()
            raise
        self._connections[self.url] = connection
        return result

    async def _own_transaction(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        async with await AsyncConnection.connect(self.url) as connection:
            return await work(connection)

    def user(self, email: str | None = None, name: str = "") -> User:
        """Create a user whose password is PASSWORD."""
        return self.run(lambda c: create_user(c, email or unique_email(), HASH, name))

    def make_member(self, space_id: int, role: Role, name: str) -> tuple[User, str]:
        """Create a member of the Space and return it with a session token."""

        async def make(connection: AsyncConnection) -> tuple[User, str]:
            user = await create_user(connection, unique_email(), HASH, name)
            await add_member(connection, space_id, user.id, role)
            token, _ = await open_session(connection, user.id)
            return user, token

        return self.run(make)

    def member(self, space_id: int, role: Role = Role.OWNER, name: str = "") -> User:
        """Create a user who is a member of the Space."""
        user = self.user(name=name)
        self.run(lambda c: add_member(c, space_id, user.id, role))
        return user


async def _is_alive(connection: AsyncConnection) -> bool:
    try:
        await connection.execute("SELECT 1")
        await connection.rollback()
    except psycopg.Error:
        return False
    return True


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return an event loop that runs on its own thread."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, daemon=True).start()
    return loop


def _elsewhere(work: Coroutine[None, None, T]) -> T:
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


def _keep_error(error: BaseException) -> bool:
    if not isinstance(error, Exception):
        raise error
    return True
