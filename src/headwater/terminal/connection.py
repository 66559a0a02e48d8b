"""How a command reaches the database of a running Headwater, and tells when there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

import psycopg

from headwater.database.embedded import Embedded, EmbeddedError
from headwater.http.errors import Invalid, Problem
from headwater.settings import Settings
from headwater.terminal.failure import Failure

T = TypeVar("T")


def database_url(settings: Settings) -> str:
    """The database to use. Raises Failure when the data directory holds none."""
    if settings.database_url:
        return settings.database_url
    try:
        return Embedded(settings.data_dir).url
    except EmbeddedError as error:
        raise Failure(f"{error}; start `headwater serve` first, or name its --data-dir") from None


@contextmanager
def told(settings: Settings) -> Generator[None]:
    """Turns what can go wrong inside the block into a Failure that says what to do."""
    try:
        yield
    except Invalid as error:
        raise Failure(
            "; ".join(rule for rules in error.errors.values() for rule in rules)
        ) from None
    except Problem as error:
        raise Failure(error.message) from None
    except psycopg.OperationalError as error:
        where = (
            "HEADWATER_DATABASE_URL" if settings.database_url
            else f"{settings.data_dir}; is `headwater serve` running on it?"
        )  # fmt: skip
        reason = str(error).splitlines()[0] if settings.database_url else "no connection"
        raise Failure(f"cannot reach the database of {where} ({reason})") from None
    except psycopg.errors.UndefinedTable:
        raise Failure("the database has no Headwater schema; run `headwater migrate`") from None


def in_transaction(settings: Settings, act: Callable[[psycopg.AsyncConnection], Awaitable[T]]) -> T:
    """What `act` returns, given a connection inside a transaction that commits at its end."""

    async def run() -> T:
        async with await psycopg.AsyncConnection.connect(url, connect_timeout=5) as connection:
            return await act(connection)

    url = database_url(settings)
    with told(settings):
        return asyncio.run(run())
