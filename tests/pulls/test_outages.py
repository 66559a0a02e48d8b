"""Platforms that don't answer, or refuse for a long time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import date, timedelta

import pytest

from headwater.base.egress.client import Egress
from headwater.database.jobs import due_tasks
from headwater.database.pool import Database
from headwater.spend.connections import connections
from headwater.spend.connections.inputs import read_new
from headwater.spend.connections.puller import MOST_OF_PLATFORM
from headwater.spend.platforms import registry
from headwater.spend.platforms.meta import MetaSpend
from tests.pulls.books import AdPlace, Books, fill
from tests.pulls.meta.pretend import TOKEN, PretendMeta
from tests.pulls.staging import KEY, TODAY, Pulls
from tests.support.fake_platform import FakePlatform, Silence
from tests.support.waiting import wait_until

DESCRIBED = {"settings": {"ad_account_id": "1234567890"}, "secrets": {"access_token": TOKEN}}
SILENT = 3 * MOST_OF_PLATFORM


class Other(MetaSpend):
    """Another platform with the same API."""

    name = "other"


@pytest.fixture(autouse=True)
def _other_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.PLATFORMS, "other", Other())
    monkeypatch.setattr(due_tasks, "GRACE_SECONDS", 0.1)


def connect(pulls: Pulls, platform: str, number: int) -> list[int]:
    async def create(database: Database) -> list[int]:
        async with database.transaction() as connection:
            new = read_new({"platform": platform, **DESCRIBED})
            return [
                (await connections.create_connection(connection, pulls.stage.space_id, new, KEY)).id
                for _ in range(number)
            ]

    ids = pulls.run(create)
    for connection_id in ids:
        pulls.pull_at(connection_id, pulls.time)
    return ids


def puller(pulls: Pulls, has_ended: Callable[[], bool]) -> Callable[[Database], Awaitable[None]]:
    """Return a puller that runs until a condition is true."""

    async def run(database: Database) -> None:
        stop_event = asyncio.Event()
        async with Egress(["127.0.0.1"], seconds=60) as egress, asyncio.timeout(30):
            task = asyncio.create_task(pulls.puller(database, egress, stop_event).run())
            await asyncio.to_thread(wait_until, has_ended)
            stop_event.set()
            await task

    return run


def test_it_works(pulls: Pulls) -> None:
    """The connections waiting for the silent platform are due earlier, and more than a puller handles at a
    time.
    """
    with (
        FakePlatform(default=Silence()) as silent,
        FakePlatform(default=PretendMeta(fill(Books(), TODAY))) as responsive,
    ):
        pulls.urls = {"meta": silent.url, "other": responsive.url}
        connect(pulls, "meta", SILENT)
        (other_connection,) = connect(pulls, "other", 1)
        pulls.run(puller(pulls, lambda: count_pulls(pulls, other_connection) > 0))
        assert len(silent.requests) == MOST_OF_PLATFORM


def test_days_missed_while_a_token_was_refused(pulls: Pulls) -> None:
    """Spend of two months, and a correction of a day before them, arrive with the new token."""
    pretend = PretendMeta(fill(Books(), TODAY, days=3))
    with FakePlatform(default=pretend) as platform:
        pulls.urls["meta"] = platform.url
        (connection,) = connect(pulls, "meta", 1)
        pulls.pull()
        pretend.token = "another token"
        pulls.pull_later(connection, hours=6)
        assert pulls.state(connection).status == "held"
        fill(pretend.books, TODAY + timedelta(days=60), days=60)
        pretend.books.spend(TODAY - timedelta(days=1), AdPlace("13"), "5.00")
        pulls.change(connection, secrets={"access_token": pretend.token})
        pulls.pull_later(connection, days=60)
    assert pulls.total() == pretend.books.total(date.min, date.max)


def count_pulls(pulls: Pulls, connection_id: int) -> int:
    row = pulls.stage.connection.execute(
        "SELECT count(pulled_at) FROM spend_connections WHERE space_id = %s AND id = %s",
        (pulls.stage.space_id, connection_id),
    ).fetchone()
    assert row is not None
    return row[0]
