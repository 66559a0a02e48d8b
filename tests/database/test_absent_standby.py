"""Synchronous replication while the standby is away: a commit then waits without any limit."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from headwater.database import pool
from headwater.intake.inbox import probe
from tests.support.waiting import wait_until

COMMIT = "SELECT pg_logical_emit_message(true, 'headwater', '')"


def change_server(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SQL(statement))  # type: ignore[arg-type]
        connection.execute("SELECT pg_reload_conf()")


@pytest.fixture
def url(young_url: str) -> Iterator[str]:
    """A database whose commits wait for a standby that is away; other databases' don't wait for the disk."""
    with psycopg.connect(young_url, autocommit=True) as connection:
        name = Identifier(connection.info.dbname)
        connection.execute(SQL("ALTER DATABASE {} SET synchronous_commit = on").format(name))
    change_server(young_url, "ALTER SYSTEM SET synchronous_standby_names = 'absent'")
    yield young_url
    change_server(young_url, "ALTER SYSTEM RESET synchronous_standby_names")


def count_waiting(url: str) -> int:
    with psycopg.connect(url) as connection:
        counted = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        row = connection.execute(counted).fetchone()
        assert row is not None
        return row[0]


def wait_for_standby(url: str) -> None:
    """Wait until the server knows its setting."""
    with psycopg.connect(url) as connection:
        wait_until(lambda: connection.execute("SHOW synchronous_standby_names").fetchone() == ("absent",))


async def commit(url: str, seconds: float) -> None:
    async with await pool.connect(url) as connection:
        with pool.bounded(connection, seconds):
            await connection.execute(COMMIT)


async def takes_writes(url: str) -> bool:
    return await probe.takes_writes(pool.Database(url), ())


def test_a_refused_commit_keeps_no_connection(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise there would be none left after minutes."""
    wait_for_standby(url)
    for _ in range(2):
        with pytest.raises(psycopg.OperationalError):
            asyncio.run(commit(url, 0.2))
    wait_until(lambda: count_waiting(url) == 2)
    monkeypatch.setattr(pool, "DEADLINE_SECONDS", 0.01)

    async def connect() -> None:
        await (await pool.connect(url)).close()

    asyncio.run(connect())
    wait_until(lambda: count_waiting(url) == 0)


def test_it_is_not_ready(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "SECONDS", 0.2)
    wait_for_standby(url)
    assert not asyncio.run(takes_writes(url))


def test_it_is_ready_with_its_standby(young_url: str) -> None:
    assert asyncio.run(takes_writes(young_url))
