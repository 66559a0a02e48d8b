"""Waiting for the database never outlasts its request, in the application or in PostgreSQL, and heavy work
never takes all connections.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import AsyncConnection
from psycopg_pool import PoolTimeout

from headwater.api import reports
from headwater.database import pool
from headwater.database.allowance import DEADLINE_SECONDS, begin_request, charge, seconds_left
from headwater.database.pool import UNAVAILABLE, Database
from headwater.intake.inbox import inbox
from headwater.intake.inbox.inbox import Inbox, Request
from headwater.intake.ingest.endpoints import TRACKING
from headwater.reports.query import ReportQuery
from headwater.reports.questions.report import Report, load_report
from tests.conftest import Running, client_for
from tests.support.factories import Stage
from tests.support.reading_fixtures import RANGE
from tests.support.waiting import wait_until


@contextmanager
def lock_tables(database_url: str, *tables: str) -> Iterator[None]:
    """Lock the tables against reading."""
    with psycopg.connect(database_url) as holder:
        holder.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
        yield


async def sleep_twice(database: Database) -> None:
    for _ in range(2):
        async with database.connection(1.0) as connection:
            await connection.execute("SELECT pg_sleep(0.7)")


def run(database_url: str, work: Callable[[Database], object]) -> None:
    async def run_with_database() -> None:
        async with Database(database_url) as database:
            await work(database)  # type: ignore[misc]

    asyncio.run(run_with_database())


def test_a_request_has_one_allowance_for_all_its_waits(database_url: str) -> None:
    async def as_request(database: Database) -> None:
        begin_request()
        await sleep_twice(database)

    run(database_url, sleep_twice)
    with pytest.raises(UNAVAILABLE):
        run(database_url, as_request)


def test_what_follows_long_work_has_the_rest_of_its_allowance(database_url: str) -> None:
    async def work_long(database: Database) -> None:
        begin_request()
        async with database.transaction(20.0):
            charge(pool.DEADLINE_SECONDS)
        for seconds in (pool.DEADLINE_SECONDS, 20.0):
            async with database.transaction(seconds) as connection:
                await connection.execute("SELECT 1")
        charge(20.0)
        with pytest.raises(UNAVAILABLE):
            async with database.connection():
                pass

    run(database_url, work_long)


def test_waiting_for_a_commit_is_part_of_the_allowance(
    database_url: str, space_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, now = inbox.take, [100.0]

    async def take_slowly(*arguments: Any) -> Any:
        now[0] += 0.75
        return await take(*arguments)

    monkeypatch.setattr(inbox, "take", take_slowly)
    clock = SimpleNamespace(monotonic=lambda: now[0], perf_counter=time.perf_counter)
    monkeypatch.setattr(inbox, "time", clock)

    async def put() -> float:
        queue = Inbox(database_url, TRACKING)
        queue.start()
        begin_request()
        await queue.put(Request(space_id, limit=100, cost=1, rows=[]))
        await queue.stop()
        return seconds_left()

    assert asyncio.run(put()) == DEADLINE_SECONDS - 0.75


def test_a_report_that_takes_long_is_answered(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def load_slowly(connection: AsyncConnection, space_id: int, query: ReportQuery) -> Report:
        charge(pool.DEADLINE_SECONDS)
        return await load_report(connection, space_id, query)

    monkeypatch.setattr(reports, "load_report", load_slowly)
    parameters = {"group_by": "source", "measures": "events", **RANGE}
    assert client.get("/reports", params=parameters).status_code == 200


def test_what_a_client_was_refused_does_not_go_on(
    client: httpx.Client, connection: psycopg.Connection, database_url: str
) -> None:
    count_query = (
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
        " AND query LIKE '%FROM companies%' AND pid <> pg_backend_pid()"
    )
    with lock_tables(database_url, "companies"):
        answers: list[int] = []
        senders = [
            threading.Thread(
                target=lambda: answers.append(client.get("/companies", params=RANGE).status_code)
            )
            for _ in range(8)
        ]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        assert answers == [503] * 8
        wait_until(lambda: connection.execute(count_query).fetchone() == (0,), 20)


def test_journeys_end_in_time_and_leave_connections_to_others(
    stage: Stage, server: Running, make_key: Callable[..., str], database_url: str
) -> None:
    contact_id = stage.contact()
    key = make_key(stage.space_id)
    answers: list[int] = []

    def ask() -> None:
        with client_for(server, key) as client:
            params = {"include_events": 1}
            answers.append(client.get(f"/contacts/{contact_id}", params=params).status_code)

    with lock_tables(database_url, "events"):
        started = time.monotonic()
        senders = [threading.Thread(target=ask) for _ in range(pool.POOL_SIZE)]
        for sender in senders:
            sender.start()
        with client_for(server, key) as client:
            while any(sender.is_alive() for sender in senders):
                assert client.get("/companies", params=RANGE).status_code == 200
        assert time.monotonic() - started < 20  # without the limit it was a minute
    assert answers == [503] * pool.POOL_SIZE


def test_heavy_work_has_a_few_places(database_url: str) -> None:
    async def fill_places(database: Database) -> None:
        release = asyncio.Event()
        holders = asyncio.Semaphore(0)

        async def hold() -> None:
            async with database.transaction(20.0):
                holders.release()
                await release.wait()

        tasks = [asyncio.create_task(hold()) for _ in range(pool.HEAVY_PLACES)]
        for _ in tasks:
            await holders.acquire()
        with pytest.raises(PoolTimeout):
            async with database.transaction(20.0):
                pass
        async with database.transaction() as connection:
            await connection.execute("SELECT 1")
        release.set()
        await asyncio.gather(*tasks)

    run(database_url, fill_places)


def test_long_work_gets_its_own_time_for_a_statement(database_url: str) -> None:
    async def read_timeouts(database: Database) -> None:
        timeouts: list[int] = []
        for seconds in (pool.DEADLINE_SECONDS, 20.0):
            async with database.transaction(seconds) as connection:
                cursor = await connection.execute(
                    "SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout'"
                )
                row = await cursor.fetchone()
                assert row is not None
                timeouts.append(row[0])
        usual, longer = timeouts
        assert 0 < usual <= 5_000
        assert 15_000 < longer <= 20_000

    run(database_url, read_timeouts)


def test_a_frozen_process_keeps_its_locks_no_longer_than_a_request_takes(
    database_url: str, space_id: int
) -> None:
    """Its session is terminated while the process is frozen in the middle of a transaction."""
    keep = "SELECT FROM spaces WHERE id = %s FOR UPDATE"

    async def freeze(database: Database) -> None:
        async with database.transaction() as frozen:
            await frozen.execute(keep, (space_id,))
            with psycopg.connect(database_url) as blocker:  # blocks the event loop
                blocker.execute("SET lock_timeout = '60s'")
                blocker.execute(keep, (space_id,))
            await frozen.execute("SELECT 1")

    with pytest.raises(UNAVAILABLE):
        run(database_url, freeze)
