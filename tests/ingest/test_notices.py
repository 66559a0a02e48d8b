"""Workers are notified of accepted rows, so that a resting worker polls immediately."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest

from headwater.database.jobs import worker
from headwater.database.jobs.duties import Duty
from headwater.database.jobs.worker import Worker
from headwater.intake.inbox.accepted_rows import NewRow
from headwater.intake.inbox.inbox import Inbox, Request
from headwater.intake.inbox.notices import CHANNEL, LEAST_SECONDS, Notices
from headwater.intake.inbox.queue import wait_until_processed
from headwater.intake.ingest.endpoints import TRACKING
from headwater.intake.pipeline.duty import make_pipeline_duty
from headwater.people.identity.senders import Sender
from tests.support.waiting import PATIENCE_SECONDS, wait_until


@pytest.fixture
def accept(database_url: str, space_id: int) -> Callable[[], None]:
    """A function that accepts a row through a new inbox."""

    async def put() -> None:
        queue = Inbox(database_url, TRACKING)
        queue.start()
        await queue.put(
            Request(space_id=space_id, limit=100, cost=1, rows=[NewRow("event", b"{}", Sender.API_KEY)])
        )
        await queue.stop()

    return lambda: asyncio.run(put())


@pytest.fixture
def resting_worker(
    database_url: str, monkeypatch: pytest.MonkeyPatch, accept: Callable[[], None]
) -> Iterator[threading.Event]:
    """A worker that rests for longer than any test waits. The event is set while it rests."""
    for name in ("FIRST_REST_SECONDS", "LONGEST_REST_SECONDS"):
        monkeypatch.setattr(worker, name, 10 * PATIENCE_SECONDS)
    stop, rests = threading.Event(), threading.Event()
    wait = Worker._wait

    def note(self: Worker, connection: object) -> None:
        rests.set()
        wait(self, connection)  # type: ignore[arg-type]

    monkeypatch.setattr(Worker, "_wait", note)
    thread = threading.Thread(target=Worker(database_url, stop, [make_pipeline_duty()]).run)
    thread.start()
    yield rests
    stop.set()
    accept()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


def test_it_works(
    resting_worker: threading.Event, accept: Callable[[], None], connection: psycopg.Connection
) -> None:
    assert resting_worker.wait(PATIENCE_SECONDS)
    accept()
    assert wait_until_processed(connection, PATIENCE_SECONDS)


def test_what_comes_while_a_worker_works_ends_its_next_rest(
    database_url: str, accept: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notification isn't lost, although no worker rests when it arrives."""
    for name in ("FIRST_REST_SECONDS", "LONGEST_REST_SECONDS"):
        monkeypatch.setattr(worker, name, 10 * PATIENCE_SECONDS)
    stop, polls = threading.Event(), list[int]()

    def poll(_: object) -> list[int]:
        polls.append(len(polls))
        if len(polls) == 1:
            accept()
        else:
            stop.set()
        return []

    duty = Duty(poll, lambda _, __: False, channel=CHANNEL)
    thread = threading.Thread(target=Worker(database_url, stop, [duty]).run, daemon=True)
    thread.start()
    assert stop.wait(PATIENCE_SECONDS)
    accept()
    thread.join(PATIENCE_SECONDS)
    assert polls == [0, 1]


def test_notices_are_few(connection: psycopg.Connection, database_url: str) -> None:
    """Rows in quick succession cause one notification, because a woken worker polls again soon."""
    now = [100.0]

    async def send() -> None:
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as second_connection:
            sender = Notices(lambda: now[0])
            for pause in (0.0, LEAST_SECONDS / 2, LEAST_SECONDS, 0.0):
                now[0] += pause
                await sender.send(second_connection)

    connection.execute(f"LISTEN {CHANNEL}")
    asyncio.run(send())
    notices = list[object]()

    def have_arrived() -> bool:
        notices.extend(connection.notifies(timeout=0))
        return len(notices) == 2

    wait_until(have_arrived)
    assert list(connection.notifies(timeout=0)) == []
