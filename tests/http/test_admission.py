"""Request bodies are admitted by size, also in a process that receives more than it can hold."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from headwater.http.admission import BodyBudget, admit_body
from headwater.http.errors import Problem, Unavailable
from tests.conftest import API
from tests.support.processes import environment, is_ready
from tests.support.waiting import PATIENCE_SECONDS, wait_until

MEGABYTE = 1024 * 1024
SENDERS = 60
MOST_MEMORY = 400 * MEGABYTE
BATCH = b'{"events":[%s]}' % b",".join(
    [b'{"event_name":"purchase","email":"a@example.com","extra":"%s"}' % (b"x" * 7900)] * 1000
)
EVENT = {"event_name": "purchase", "email": "ada@example.com"}


def declare_length(size: int) -> list[tuple[bytes, bytes]]:
    return [(b"host", b"example.com"), (b"content-length", b"%d" % size)]


def test_a_declared_body_takes_its_bytes_until_the_request_is_over() -> None:
    budget = BodyBudget(size=10 * MEGABYTE, reserved=2 * MEGABYTE)
    with budget.request(declare_length(6 * MEGABYTE)) as share:
        admit_body(8 * MEGABYTE)
        share.hold(6 * MEGABYTE)  # the declared bytes arrive, and no more are reserved
        assert budget.held_bytes == 6 * MEGABYTE
        with budget.request(declare_length(3 * MEGABYTE)), pytest.raises(Unavailable):
            admit_body(8 * MEGABYTE)
        with budget.request(declare_length(1000)):  # small bodies have their own reserved bytes
            admit_body(8 * MEGABYTE)
    assert budget.held_bytes == 0


def test_one_that_declares_nothing_takes_what_arrives() -> None:
    budget = BodyBudget(size=1000, reserved=0)
    with budget.request([]) as share:
        admit_body(5000)
        share.hold(600)
        share.hold(1000)
        with pytest.raises(Unavailable):
            share.hold(1001)
        assert budget.held_bytes == 1000
    assert budget.held_bytes == 0


def test_one_declared_too_large_is_refused_before_it_is_read() -> None:
    budget = BodyBudget()
    with budget.request(declare_length(2 * MEGABYTE)), pytest.raises(Problem) as error_info:
        admit_body(MEGABYTE)
    assert (error_info.value.status, budget.held_bytes) == (413, 0)


def test_requests_at_a_time_have_shares_of_their_own() -> None:
    budget = BodyBudget(size=1000, reserved=0)

    async def hold(size: int) -> None:
        with budget.request(declare_length(size)):
            admit_body(5000)
            await asyncio.sleep(0)

    async def read_two() -> None:
        tasks = [asyncio.create_task(hold(400)) for _ in range(2)]
        await asyncio.sleep(0)
        assert budget.held_bytes == 800
        await asyncio.gather(*tasks)

    asyncio.run(read_two())
    assert budget.held_bytes == 0


@dataclass
class Campaign:
    """Many clients that send large batches at the same time, and the answers they get."""

    url: str
    key: str
    statuses: list[int] = field(default_factory=list[int])

    def send(self) -> None:
        """Send on one connection until a batch is accepted, at most three times."""
        headers = {"Authorization": f"Bearer {self.key}"}
        with httpx.Client(headers=headers, timeout=120) as client:
            for _ in range(3):
                answer = client.post(f"{self.url}{API}/events/batch", content=BATCH)
                self.statuses.append(answer.status_code)
                if answer.status_code == 202:
                    return
                assert answer.headers.get("retry-after")


@pytest.fixture
def process(database_url: str, tmp_path: Path) -> Iterator[tuple[str, psutil.Process]]:
    """The URL of the API's process, and the process."""
    variables = environment(
        HEADWATER_DATABASE_URL=database_url, HEADWATER_RATE_LIMIT_FACTOR="1000",
        HEADWATER_DATA_DIR=str(tmp_path), HEADWATER_LOG_LEVEL="error",
    )  # fmt: skip
    # Use our own socket, or the process would write its address to a file that other tests' commands read.
    bound = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{bound.getsockname()[1]}"
    command = [sys.executable, "-m", "headwater", "api", "--fd", str(bound.fileno())]
    with (
        bound,
        subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL, pass_fds=[bound.fileno()]) as api,
    ):
        wait_until(lambda: is_ready(url), 120)
        yield url, psutil.Process(api.pid)
        api.terminate()
        api.wait(PATIENCE_SECONDS)


def test_large_batches_of_many_are_bounded_in_memory_and_shut_nobody_out(
    process: tuple[str, psutil.Process],
    space_id: int,
    make_key: Callable[..., str],
    connection: psycopg.Connection,
) -> None:
    url, api = process
    campaign = Campaign(url, make_key(space_id))
    senders = [threading.Thread(target=campaign.send) for _ in range(SENDERS)]
    for sender in senders:
        sender.start()
    peak_memory, small = 0, 0
    headers = {"Authorization": f"Bearer {campaign.key}"}
    with httpx.Client(headers=headers, timeout=120) as client:
        while any(sender.is_alive() for sender in senders):
            small += client.post(f"{url}{API}/events/track", json=EVENT).status_code == 202
            peak_memory = max(peak_memory, api.memory_info().rss)
    assert peak_memory < MOST_MEMORY, f"{peak_memory // MEGABYTE} MB"
    assert len(campaign.statuses) >= SENDERS
    assert set(campaign.statuses) <= {202, 503}
    assert campaign.statuses.count(202) > 0
    assert small > 0
    connection.execute("DELETE FROM inbox WHERE space_id = %s", (space_id,))
