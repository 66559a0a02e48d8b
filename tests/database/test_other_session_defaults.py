"""A PostgreSQL whose sessions begin with another time zone, another form of dates, or a time limit."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.database import pool
from headwater.database.jobs.connection import connect
from headwater.database.migrator import LOCK, migrate
from headwater.database.pool import Database
from headwater.exports import jobs
from headwater.operations.terminal.connection import autocommit_connection
from tests.conftest import API
from tests.imports.watching import open_engine
from tests.support.commands import run_command
from tests.support.preloaded import CopiedServe
from tests.support.waiting import wait_until

DAY = {"start_date": "2026-05-13 00:00:00", "end_date": "2026-05-14 00:00:00"}


def set_default(url: str, setting: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        statement = f"ALTER DATABASE {connection.info.dbname} SET {setting}"
        connection.execute(statement)  # pyright: ignore[reportArgumentType, reportCallIssue]


@pytest.fixture
def url(young_url: str) -> str:
    set_default(young_url, "timezone = 'America/New_York'")
    set_default(young_url, "datestyle = 'SQL, DMY'")
    set_default(young_url, "intervalstyle = 'iso_8601'")
    return young_url


def run(url: str, *arguments: str) -> Any:
    result = run_command(*arguments, "--json", HEADWATER_DATABASE_URL=url)
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)


def test_it_works(url: str, tmp_path: Path) -> None:
    """Data arrives, is exported, checked and backed up."""
    variables = {"HEADWATER_DATABASE_URL": url, "HEADWATER_RATE_LIMIT_FACTOR": "1000"}
    with CopiedServe(tmp_path / "data", **variables) as serve:
        address = serve.url() + API
        space_id = str(run(url, "space", "create", "--name", "Shop")["id"])
        key = run(url, "key", "create", "--space", space_id, "--name", "k")["key"]
        with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}) as client:
            event = {"event_name": "purchase", "email": "a@example.com", "event_time": "2026-05-13 23:30:00"}
            assert client.post("/events/track", json=event).status_code == 202

            def list_events() -> list[dict[str, Any]]:
                answer = client.get("/events", params=DAY)
                return answer.json()["data"]

            wait_until(list_events)
            assert [event["event_time_utc"] for event in list_events()] == ["2026-05-13T23:30:00Z"]
            job = client.post("/contacts/exports", json={"whole_range": True}).json()
            assert "export_id" in job, job
            path = f"/contacts/exports/{job['export_id']}"
            wait_until(lambda: client.get(path).json()["status"] in ("completed", "failed"))
            assert client.get(path).json()["status"] == "completed"
        assert run(url, "backup", str(tmp_path), "--verify")["verified"]
        assert run(url, "check")
        assert serve.stop() == 0


def test_long_work_has_no_time_limit(young_url: str) -> None:
    """It would be repeated forever."""
    set_default(young_url, "statement_timeout = '200ms'")
    with psycopg.connect(young_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        results: list[list[str]] = []
        migration = threading.Thread(target=lambda: results.append(migrate(young_url)))
        migration.start()
        waiting = "SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND NOT l.granted"
        wait_until(lambda: other.execute(waiting).fetchone() is not None)
        other.execute("SET statement_timeout = 0")
        other.execute("SELECT pg_sleep(0.4), pg_advisory_unlock(%s)", (LOCK,))
    migration.join()
    assert results == [[]]
    with connect(young_url) as worker:
        worker.execute("SELECT pg_sleep(0.3)")
    with psycopg.connect(young_url) as export:
        export.execute(jobs.queries["snapshot"])
        export.execute("SELECT pg_sleep(0.3)")


def wait_for_limit(url: str) -> None:
    """Wait until PostgreSQL ends an idle session."""
    with psycopg.connect(url, autocommit=True) as idle, pytest.raises(psycopg.OperationalError):
        list(idle.notifies(timeout=10))


def test_idle_sessions_stay(young_url: str) -> None:
    """The next request would be refused, and the end of long work not recorded."""
    for setting in ("idle_session_timeout", "idle_in_transaction_session_timeout"):
        set_default(young_url, f"{setting} = '100ms'")

    async def outlast(database: Database) -> None:
        async with database.connection() as pooled, await pool.connect(young_url) as other:
            await asyncio.to_thread(wait_for_limit, young_url)
            await pooled.execute("SELECT 1")
            await other.execute("SELECT 1")

    with open_engine(young_url) as engine:
        engine.run(outlast)
    with connect(young_url) as worker, autocommit_connection(Settings(database_url=young_url)) as command:
        with psycopg.connect(young_url) as export:
            export.execute(jobs.queries["snapshot"])
            wait_for_limit(young_url)
            export.execute("SELECT 1")
        for connection in (worker, command):
            connection.execute("SELECT 1")
