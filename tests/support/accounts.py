"""Accounts for tests: Argon2 with the cheapest parameters, users, and a way to call the domain."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from uuid import uuid4

from argon2 import PasswordHasher
from psycopg import AsyncConnection

from headwater.spaces.accounts.members import add_member
from headwater.spaces.accounts.roles import Role
from headwater.spaces.accounts.sessions import open_session
from headwater.spaces.accounts.users import User, create_user

T = TypeVar("T")

PASSWORD = "correct horse battery"
CHEAP = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}
HASH = PasswordHasher(**CHEAP).hash(PASSWORD)


def unique_email() -> str:
    return f"user-{uuid4().hex}@example.com"


class Accounts:
    """Runs domain functions, each in a transaction of its own, and on a thread of its own: one that
    drives a browser has an event loop already.
    """

    def __init__(self, url: str) -> None:
        self.url = url

    def run(self, act: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        return _elsewhere(self._transaction(act))

    def at_once(self, acts: list[Callable[[AsyncConnection], Awaitable[T]]]) -> list[T | Exception]:
        """What each returned or raised, all begun together."""

        async def together() -> list[T | Exception]:
            found = await asyncio.gather(*map(self._transaction, acts), return_exceptions=True)
            return [each for each in found if not isinstance(each, BaseException) or _kept(each)]  # type: ignore[misc]

        return _elsewhere(together())

    async def _transaction(self, act: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        async with await AsyncConnection.connect(self.url) as connection:
            return await act(connection)

    def user(self, email: str | None = None, name: str = "") -> User:
        """A new user whose password is PASSWORD."""
        return self.run(lambda c: create_user(c, email or unique_email(), HASH, name))

    def logged_in(self, space_id: int, role: Role, name: str) -> tuple[User, str]:
        """A new member of the Space, and the token of a session of theirs."""

        async def make(connection: AsyncConnection) -> tuple[User, str]:
            user = await create_user(connection, unique_email(), HASH, name)
            await add_member(connection, space_id, user.id, role)
            token, _ = await open_session(connection, user.id)
            return user, token

        return self.run(make)

    def member(self, space_id: int, role: Role = Role.OWNER, name: str = "") -> User:
        """A new user who is a member of the Space."""
        user = self.user(name=name)
        self.run(lambda c: add_member(c, space_id, user.id, role))
        return user


def _elsewhere(work: Coroutine[None, None, T]) -> T:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def _kept(error: BaseException) -> bool:
    if not isinstance(error, Exception):
        raise error
    return True
