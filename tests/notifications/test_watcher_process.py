"""The watcher process: it evaluates Spaces, and has a lower priority than the processes that accept, store
and answer.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import psycopg
import pytest

from headwater.alerts.notifications import watcher
from headwater.alerts.notifications.watcher import Watcher, WatcherDuty
from headwater.cli.service.watcher import NICENESS
from headwater.database.pool import Database
from tests.support.processes import environment
from tests.support.spaces import backdate_space
from tests.support.waiting import PATIENCE_SECONDS, wait_until

LOOKED_AT = "SELECT FROM alert_watches WHERE space_id = %s"


def test_it_works(database_url: str, connection: psycopg.Connection, space_id: int, tmp_path: Path) -> None:
    variables = environment(
        HEADWATER_DATABASE_URL=database_url, HEADWATER_SECRET_KEY="x" * 32,
        HEADWATER_DATA_DIR=str(tmp_path),
    )  # fmt: skip
    backdate_space(connection, space_id)
    process = subprocess.Popen([sys.executable, "-m", "headwater", "watcher"], env=variables)
    try:
        wait_until(lambda: connection.execute(LOOKED_AT, (space_id,)).fetchone() is not None)
        own_priority = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, process.pid) == min(own_priority + NICENESS, 19)
    finally:
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0


@pytest.mark.parametrize(("linger", "polls"), [(PATIENCE_SECONDS, 3), (-1.0, 1)])
def test_it_lingers_without_work(
    database_url: str, monkeypatch: pytest.MonkeyPatch, linger: float, polls: int
) -> None:
    """A process that ended at once would be started again and again."""
    monkeypatch.setattr(watcher, "PAUSE_SECONDS", 0)
    times: list[datetime] = []

    async def watch() -> None:
        stopping, database = asyncio.Event(), Database(database_url, 1)

        async def find(_: psycopg.AsyncConnection, current_time: datetime) -> Sequence[int]:
            times.append(current_time)
            if len(times) == 3:
                stopping.set()
            return []

        async def attend(_: int, __: datetime) -> None:
            """Never runs."""

        async with database:
            await Watcher(database, [WatcherDuty("tests", find, attend)], stopping, linger).run()

    asyncio.run(watch())
    assert len(times) == polls
