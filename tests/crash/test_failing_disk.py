"""Full and failing disks below the tables, PostgreSQL's log and export files: refusals are clear, no
acknowledged event is lost, and the service recovers by itself once the disk works.

HEADWATER_CRASH_ROUNDS makes the run longer and adds rarer faults.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.crash.campaign import wait_for_progress
from tests.crash.journeys import shipments
from tests.crash.load import API, Account, Load, Outcome, Sender, resend
from tests.crash.service import Service
from tests.crash.test_outages import ANSWER_SECONDS, call
from tests.crash.verdict import judge
from tests.support.waiting import PATIENCE_SECONDS, wait_until

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "1"))
CONNECTIONS = 4
REFUSALS = 3
GZIP = b"\x1f\x8b"
SOURCE = Path(__file__).with_name("failing_disk.c")

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)


@dataclass(frozen=True)
class Fault:
    """The kind of failure, the affected files, and a statement that soon runs into it."""

    rule: str
    statement: str = "SELECT 1"
    is_cold: bool = False
    """Whether PostgreSQL must first drop its cached pages and read them again."""

    @property
    def name(self) -> str:
        return self.rule.replace("/", " ").strip()


TABLES_FULL = Fault("full /postgresql/base/")
LOG_BROKEN = Fault("broken /postgresql/pg_wal/")
TABLES_UNWRITABLE = Fault("unwritable /postgresql/base/", "CHECKPOINT")
RARER = (
    TABLES_UNWRITABLE,
    Fault("unreadable /postgresql/base/", is_cold=True),
    Fault("unwritable /postgresql/pg_wal/"),
    Fault("full /postgresql/pg_wal/", "SELECT pg_switch_wal()"),
    Fault("broken /postgresql/base/", "CHECKPOINT"),
    Fault("full /data/", "SELECT pg_switch_wal()"),  # all files at once
)
FAULTS = [TABLES_FULL, LOG_BROKEN, *(RARER if ROUNDS > 1 else ())]


class FailingDisk:
    """The rules that make calls on files fail."""

    def __init__(self, folder: Path) -> None:
        library, self._rules = folder / "failing_disk.so", folder / "rules"
        command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
        subprocess.run(command, check=True)
        self.variables = {"LD_PRELOAD": str(library), "FAILING_DISK": str(self._rules)}

    @contextmanager
    def fail_writes(self, rule: str) -> Iterator[None]:
        new_file = self._rules.with_suffix(".new")
        new_file.write_text(f"{rule}\n")
        new_file.rename(self._rules)
        try:
            yield
        finally:
            self._rules.unlink()


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> FailingDisk:
    return FailingDisk(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, disk: FailingDisk) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("failing"), variables=disk.variables).run_installed() as service:
        yield service


@dataclass(frozen=True)
class Asker:
    """A client with a key."""

    account: Account

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and return the JSON of the answer."""
        http = HTTPConnection(self.account.host, self.account.port, timeout=PATIENCE_SECONDS)
        headers = {"Authorization": f"Bearer {self.account.key}"}
        http.request(method, path, None if body is None else json.dumps(body), headers)
        data = http.getresponse().read()
        http.close()
        return data if data[:2] == GZIP else json.loads(data)


@pytest.fixture
def account(service: Service) -> Account:
    return service.open_account("Shop")


def assert_refuses_in_time(account: Account) -> None:
    """Check that the service soon answers 503. A few events may still fit into the free space of the
    tables.
    """
    refusals: list[str | None] = []
    while len(refusals) < REFUSALS:
        status, retry_after, seconds = call(account, "POST", "/events/track")
        assert status in (202, 503)
        assert seconds < ANSWER_SECONDS
        refusals += [retry_after] if status == 503 else []
    assert all(retry_after and int(retry_after) > 0 for retry_after in refusals)


@pytest.mark.parametrize("round_number", range(max(1, ROUNDS // 4)))
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_it_works(
    service: Service, account: Account, disk: FailingDisk, fault: Fault, round_number: int
) -> None:
    seed = f"{fault.name} {round_number}"
    load = Load(Sender(account, shipments(f"{seed}:{number}")) for number in range(CONNECTIONS))
    load.start()
    wait_for_progress(load, random.Random(seed))
    with disk.fail_writes(fault.rule):
        if fault.is_cold:
            service.postgresql()[-1].send(signal.SIGKILL)
        with suppress(psycopg.Error), psycopg.connect(service.database_url) as connection:
            connection.execute(fault.statement.encode())
        assert_refuses_in_time(account)
    service.await_whole()
    wait_until(lambda: call(account, "POST", "/events/track")[0] == 202)
    wait_for_progress(load, random.Random(seed))
    ledger = load.stop()
    ledger.absorb(resend(ledger))
    service.drain()
    assert judge(service, ledger, f"{seed}:").violations == {}
    assert ledger.keys(Outcome.UNKNOWN) == []


def test_an_export_waits_for_room(service: Service, account: Account, disk: FailingDisk) -> None:
    asker = Asker(account)
    asker.send("POST", f"{API}/events/track", {"event_name": "sign_up", "email": "a@firm.com"})
    service.drain()
    with disk.fail_writes("full /exports/"):
        span = {"start_date": "2020-01-01 00:00:00", "end_date": "2099-01-01 00:00:00"}
        path = f"{API}/contacts/exports"
        path += f"/{asker.send('POST', path, span)['export_id']}"
        wait_until(lambda: service.times_logged("No space left on device"))
        assert asker.send("GET", path)["status"] != "completed"
    wait_until(lambda: asker.send("GET", path)["status"] == "completed")
    link = urlsplit(asker.send("GET", path)["download_url"])
    (line,) = gzip.decompress(asker.send("GET", f"{link.path}?{link.query}")).splitlines()
    assert json.loads(line)["email"] == "a@firm.com"
