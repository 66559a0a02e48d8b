"""The service, its worker and its database are killed while programs send by the Python client, and a
program is killed as well: nothing is lost, nothing doubled. HEADWATER_SDK_EVENTS sets the number.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from headwater_client import Client, EventBuffer

from tests.crash.faults import inject
from tests.crash.service import Service
from tests.sdks.test_killed_sender import noted
from tests.support.campaigns import IS_LONG, campaign_size
from tests.support.processes import environment
from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS

EVENTS = campaign_size("HEADWATER_SDK_EVENTS", 600, 20_000)
FAULTS = ("kill api", "kill worker", "kill postgresql") * (4 if IS_LONG else 1)
FLUSH_SECONDS = 10 * PATIENCE_SECONDS

if not Path("/proc/self/stat").exists():
    pytest.skip("processes cannot be found here", allow_module_level=True)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path)
    try:
        service.install()
        service.start()
        yield service
    finally:
        service.end()


def test_python_outage(service: Service, tmp_path: Path) -> None:
    account = service.open_account("Shop")
    url = f"http://{account.host}:{account.port}"
    draw = random.Random("outage")
    file, notes = tmp_path / "events.db", tmp_path / "taken"
    variables = environment(URL=url, KEY=account.key, PYTHONPATH=str(ROOT / "sdks" / "python" / "src"))
    script = str(Path(__file__).with_name("sending.py"))

    def start_sender() -> subprocess.Popen[bytes]:
        first = max(noted(notes), default=-1) + 1
        arguments = [str(file), str(notes), str(first), str(EVENTS)]
        return subprocess.Popen([sys.executable, script, *arguments], env=variables)

    chunk = EVENTS // len(FAULTS)
    sender = start_sender()
    with (
        Client(url, account.key) as client,
        EventBuffer(client, batch=50, seconds=0.01, retry_seconds=0.2) as buffer,
    ):
        for index, fault in enumerate(FAULTS):
            for number in range(index * chunk, EVENTS if index + 1 == len(FAULTS) else (index + 1) * chunk):
                buffer.add({
                    "event_name": "purchase", "email": "anna@example.com", "order_id": f"memory-{number}",
                    "event_time": "2026-11-01T12:00:00Z",
                })  # fmt: skip
            inject(service, fault, draw)
            sender.kill()
            sender.wait()
            sender = start_sender()
        assert buffer.flush(FLUSH_SECONDS)
    assert sender.wait(FLUSH_SECONDS) == 0
    service.drain()
    with psycopg.connect(service.database_url) as connection:
        rows = connection.execute(
            "SELECT order_id FROM events WHERE space_id = %s", (account.space_id,)
        ).fetchall()
    expected = [f"{name}{number}" for name in ("", "memory-") for number in range(EVENTS)]
    assert sorted(order for (order,) in rows) == sorted(expected)
