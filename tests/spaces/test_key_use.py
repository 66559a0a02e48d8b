"""A key's last use is recorded in the background, seldom, and without slowing down requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import httpx
import psycopg
import pytest

from headwater.database.pool import Database
from headwater.spaces.access import KeyCache
from headwater.spaces.key_use import KeyUses
from tests.support.waiting import wait_until


@pytest.fixture
def read_last_uses(connection: psycopg.Connection, space_id: int) -> Callable[[], list[datetime | None]]:
    def read() -> list[datetime | None]:
        rows = connection.execute(
            "SELECT last_used_at FROM api_keys WHERE space_id = %s ORDER BY id", (space_id,)
        )
        return [row[0] for row in rows.fetchall()]

    return read


@pytest.fixture
def key_id(connection: psycopg.Connection, space_id: int, make_key: Callable[..., str]) -> int:
    make_key(space_id)
    row = connection.execute("SELECT id FROM api_keys WHERE space_id = %s", (space_id,)).fetchone()
    assert row is not None
    return row[0]


def run(url: str, use: Callable[[Database], Awaitable[None]]) -> None:
    async def main() -> None:
        async with Database(url, size=1) as database:
            await use(database)

    asyncio.run(main())


def test_it_works(
    client: httpx.Client,
    make_key: Callable[..., str],
    space_id: int,
    read_last_uses: Callable[[], list[datetime | None]],
) -> None:
    make_key(space_id)
    assert read_last_uses() == [None, None]
    before = datetime.now(UTC)
    assert client.get("/receipts/1").status_code == 404
    wait_until(lambda: read_last_uses()[0] is not None)
    first, second = read_last_uses()
    assert first is not None
    assert before - timedelta(seconds=1) < first < datetime.now(UTC) + timedelta(seconds=1)
    assert second is None


def test_a_key_is_written_once_a_minute(
    database_url: str, space_id: int, key_id: int, read_last_uses: Callable[[], list[datetime | None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    async def use(database: Database) -> None:
        uses = KeyUses(database)
        uses.note(space_id, key_id)
        await uses.write()
        first = read_last_uses()
        assert first != [None]
        uses.note(space_id, key_id)
        await uses.write()
        assert read_last_uses() == first
        monkeypatch.setattr("headwater.spaces.key_use.RENEWAL_SECONDS", 0.0)
        await uses.write()
        assert read_last_uses() > first
        second = read_last_uses()
        await uses.write()
        assert read_last_uses() == second, "what is written is not written again"

    run(database_url, use)


def test_what_is_left_is_written_at_the_end(
    database_url: str, space_id: int, key_id: int, read_last_uses: Callable[[], list[datetime | None]]
) -> None:
    async def use(database: Database) -> None:
        uses = KeyUses(database)
        uses.start()
        uses.note(space_id, key_id)
        await uses.write()
        first = read_last_uses()
        uses.note(space_id, key_id)
        await uses.stop()
        assert read_last_uses() > first

    run(database_url, use)


def test_a_process_does_not_set_the_clock_back(
    database_url: str, connection: psycopg.Connection, space_id: int, key_id: int,
    read_last_uses: Callable[[], list[datetime | None]],
) -> None:  # fmt: skip
    later = datetime(2100, 1, 1, tzinfo=UTC)
    connection.execute("UPDATE api_keys SET last_used_at = %s WHERE space_id = %s", (later, space_id))

    async def use(database: Database) -> None:
        uses = KeyUses(database)
        uses.note(space_id, key_id)
        await uses.write()
        assert read_last_uses() == [later]

    run(database_url, use)


def test_a_database_that_takes_no_writes_is_tolerated(
    database_url: str, space_id: int, key_id: int, read_last_uses: Callable[[], list[datetime | None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    async def use(database: Database) -> None:
        uses = KeyUses(database)
        uses.note(space_id, key_id)
        for mode in ("on", "off"):
            async with database.connection() as connection:
                await connection.execute(f"SET default_transaction_read_only = {mode}")
            await uses.write()
            assert read_last_uses() == [None], "a failure is not tried again at once"
        monkeypatch.setattr("headwater.spaces.key_use.RENEWAL_SECONDS", 0.0)
        await uses.write()
        assert read_last_uses() != [None]

    run(database_url, use)


def test_a_use_costs_a_request_nothing(
    database_url: str, space_id: int, make_key: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A use is recorded when the key is looked up, not for each request."""
    uses: list[tuple[int, int]] = []
    monkeypatch.setattr(KeyUses, "note", lambda _, *key: uses.append(key))
    header = f"Bearer {make_key(space_id)}".encode()

    async def use(database: Database) -> None:
        keys = KeyCache(database, 1.0)
        callers = {(await keys.caller(header, {})).key_id for _ in range(50)}
        assert uses == [(space_id, *callers)]

    run(database_url, use)
