"""A job that fails for one Space because of a bug: the failure is recorded, and other Spaces are served."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import psycopg
import pytest

from headwater.alerts.notifications.watcher import Watcher, WatcherDuty
from headwater.database.jobs.duties import Duty
from headwater.database.jobs.worker import Worker
from headwater.database.pool import Database
from tests.support.accounts import Accounts

FAULTS = [
    ZeroDivisionError, OverflowError, ValueError, KeyError, psycopg.errors.NumericValueOutOfRange,
    psycopg.errors.CheckViolation,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _immediate_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed job is retried immediately."""
    for module in ("headwater.database.jobs.worker", "headwater.alerts.notifications.watcher"):
        monkeypatch.setattr(f"{module}.RETRY_SECONDS", 0.01)


def problems(connection: psycopg.Connection, space_id: int) -> list[tuple[str, str]]:
    rows = connection.execute("SELECT job, error FROM failed_jobs WHERE space_id = %s", (space_id,))
    return rows.fetchall()


@pytest.mark.parametrize("fault", FAULTS)
def test_it_works(
    database_url: str, connection: psycopg.Connection, make_space: Callable[..., int], fault: type[Exception]
) -> None:
    """The job runs in a worker."""
    ill, well = make_space(), make_space()
    stop, served_ids, problem_lists = threading.Event(), list[int](), list[list[tuple[str, str]]]()

    def attend(_: object, space_id: int) -> bool:
        served_ids.append(space_id)
        if space_id == ill and served_ids.count(ill) < 3:
            raise fault
        problem_lists.append(problems(connection, ill))
        if served_ids.count(ill) >= 3 and served_ids.count(well) >= 3:
            stop.set()
        return False

    Worker(database_url, stop, [Duty(lambda _: [ill, well], attend, name="exports")]).run()
    assert [("exports", fault.__name__)] in problem_lists
    assert (problems(connection, ill), problems(connection, well)) == ([], [])


@pytest.mark.parametrize("fault", FAULTS)
def test_the_watcher(
    database_url: str, connection: psycopg.Connection, make_space: Callable[..., int], fault: type[Exception]
) -> None:
    ill, well = make_space(), make_space()
    served_ids, faults = list[int](), iter([True, False])

    async def find(_: object, __: object) -> list[int]:
        return [ill, well]

    async def attend(space_id: int, _: datetime) -> None:
        if space_id == ill and next(faults):
            raise fault
        served_ids.append(space_id)

    async def run() -> list[tuple[str, str]]:
        async with Database(database_url, 2) as database:
            watcher = Watcher(database, [WatcherDuty("alerts", find, attend)], asyncio.Event())
            await watcher.work(datetime.now(UTC))
            failures = problems(connection, ill)
            while ill not in served_ids:
                await watcher.work(datetime.now(UTC))
            return failures

    failures = Accounts(database_url).run(lambda _: run())
    assert failures == [("alerts", fault.__name__)]
    assert served_ids.count(well) > served_ids.count(ill) == 1
    assert (problems(connection, ill), problems(connection, well)) == ([], [])
