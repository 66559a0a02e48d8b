"""The service, its worker and its database are killed while programs send with the clients' buffers, and one
program is killed as well: nothing is lost or duplicated. HEADWATER_SDK_EVENTS sets the number of events of
each buffer.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from headwater_client import Client, EventBuffer

from tests.crash.faults import inject
from tests.crash.service import Service
from tests.sdks.test_killed_sender import read_notes
from tests.sdks.test_typescript_client import NODE
from tests.support.campaigns import IS_LONG, campaign_size
from tests.support.processes import environment
from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS

EVENTS = campaign_size("HEADWATER_SDK_EVENTS", 600, 20_000)
FAULTS = ("kill api", "kill worker", "kill postgresql") * (4 if IS_LONG else 1)
FLUSH_SECONDS = 10 * PATIENCE_SECONDS
Start = Callable[..., "subprocess.Popen[str]"]

if not Path("/proc/self/stat").exists():
    pytest.skip("processes cannot be found here", allow_module_level=True)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path).run_installed() as service:
        yield service


@pytest.fixture
def start() -> Iterator[Start]:
    """A function that starts programs, which are ended with the test."""
    programs: list[subprocess.Popen[str]] = []

    def start_program(*command: str | Path, **variables: str) -> subprocess.Popen[str]:
        program = subprocess.Popen(command, env=environment(**variables), stdin=subprocess.PIPE, text=True)
        programs.append(program)
        return program

    yield start_program
    for program in programs:
        program.kill()
        program.communicate()


def test_it_works(service: Service, start: Start, tmp_path: Path) -> None:
    """With Python in memory, with Python in a file, and with TypeScript in memory."""
    account = service.open_account("Shop")
    url = f"http://{account.host}:{account.port}"
    draw = random.Random("outage")
    file, notes = tmp_path / "events.db", tmp_path / "taken"
    script = Path(__file__).with_name("sending.py")
    python = str(ROOT / "sdks" / "python" / "src")

    def start_sender() -> subprocess.Popen[str]:
        first = max(read_notes(notes), default=-1) + 1
        arguments = (file, notes, str(first), str(EVENTS))
        return start(sys.executable, script, *arguments, URL=url, KEY=account.key, PYTHONPATH=python)

    chunk = EVENTS // len(FAULTS)
    sender = start_sender()
    typescript = start(NODE, script.with_suffix(".mts"), ADDRESS=url, KEY=account.key)
    assert typescript.stdin is not None
    with (
        Client(url, account.key) as client,
        EventBuffer(client, batch=50, seconds=0.01, retry_seconds=0.2) as buffer,
    ):
        for index, fault in enumerate(FAULTS):
            last = EVENTS if index + 1 == len(FAULTS) else (index + 1) * chunk
            print(last, file=typescript.stdin, flush=True)
            for number in range(index * chunk, last):
                buffer.add({
                    "event_name": "purchase", "email": "anna@example.com", "order_id": f"memory-{number}",
                    "event_time": "2026-11-01T12:00:00Z",
                })  # fmt: skip
            inject(service, fault, draw)
            sender.kill()
            sender.wait()
            sender = start_sender()
        assert buffer.flush(FLUSH_SECONDS)
    typescript.stdin.close()
    assert typescript.wait(FLUSH_SECONDS) == 0
    assert sender.wait(FLUSH_SECONDS) == 0
    service.drain()
    with psycopg.connect(service.database_url) as connection:
        rows = connection.execute(
            "SELECT order_id FROM events WHERE space_id = %s", (account.space_id,)
        ).fetchall()
    senders = ("", "memory-", "typescript-")
    expected = [f"{name}{number}" for name in senders for number in range(EVENTS)]
    assert sorted(order for (order,) in rows) == sorted(expected)
