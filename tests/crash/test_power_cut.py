"""A new installation whose machine loses power in its first seconds starts again by itself with everything
that it had acknowledged.

HEADWATER_CRASH_ROUNDS is the number of cuts. They alternate between a random time after the first
acknowledged event and a random time after the process start, ready or not. With more than one, a PostgreSQL
that doesn't wait for the disk proves that these cuts lose unflushed data.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.crash.disks import Disk, missing_ability
from tests.crash.journeys import shipments
from tests.crash.load import Account, Ledger, Load, Outcome, Sender, resend
from tests.crash.processes import descendants, send_all
from tests.crash.service import Service
from tests.crash.verdict import judge
from tests.support.waiting import wait_until

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "1"))
SECONDS_OF_EVENTS, SECONDS_OF_START = (2.0 if ROUNDS == 1 else 10.0), 20.0
"""The latest time of either kind of cut."""
CONNECTIONS = 2
ACKNOWLEDGED_IN_VAIN = 50

pytestmark = pytest.mark.skipif(missing_ability() is not None, reason=str(missing_ability()))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path)
    yield disk
    disk.remove()


class Sending(threading.Thread):
    """Creates an account as soon as the service is ready, and sends events until the cut."""

    def __init__(self, service: Service, seed: str) -> None:
        super().__init__(daemon=True)
        self.service, self.seed = service, seed
        self.load: Load | None = None

    def run(self) -> None:
        if not self.service.await_ready():
            return
        try:
            account = self.service.open_account("Shop")
        except (AssertionError, ValueError):  # the cut came first
            return
        load = Load(Sender(account, shipments(f"{self.seed}:{number}")) for number in range(CONNECTIONS))
        load.start()
        self.load = load

    def finish(self) -> Ledger:
        """Return the ledger with the acknowledged events."""
        self.join()
        return self.load.stop() if self.load else Ledger()


def wait_for_moment(sending: Sending, draw: random.Random, *, needs_events: bool) -> str:
    """Wait for the moment of the cut. Return a description of it."""
    if needs_events:
        wait_until(lambda: sending.load is not None and sending.load.acknowledged_count())
    seconds = draw.uniform(0, SECONDS_OF_EVENTS if needs_events else SECONDS_OF_START)
    threading.Event().wait(seconds)
    return f"{seconds:.1f} s after the {'first event' if needs_events else 'start'}"


def cut_power(service: Service, disk: Disk) -> None:
    """Freeze everything, keep the disk's contents, and end all processes."""
    service.signal(signal.SIGSTOP)  # first, or it would restart what is stopped
    family = service.family()
    while any(process not in family for process in descendants(service.pid)):
        family = service.family()
    send_all(family, signal.SIGSTOP)
    disk.lose_power()
    send_all(family, signal.SIGKILL)
    service.kill_supervisor()
    wait_until(lambda: not any(process.is_alive for process in family))  # then the disk can be unmounted


def send_everything_again(service: Service, ledger: Ledger) -> None:
    """Resend every event with the same key: stored ones are reported as duplicates and not stored again."""
    ledger.absorb(resend(ledger))
    service.drain()


@pytest.mark.parametrize("number", range(ROUNDS))
def test_it_works(disk: Disk, tmp_path: Path, number: int, capsys: pytest.CaptureFixture) -> None:
    seed = f"power cut {number}"
    service = Service(tmp_path)
    service.data_dir = disk.folder / "data"
    service.launch()
    try:
        sending = Sending(service, seed)
        sending.start()
        after = wait_for_moment(sending, random.Random(seed), needs_events=number % 2 == 0)
        cut_power(service, disk)
        ledger = sending.finish()
        disk.restore_power()
        service.start()
        service.drain()
        acknowledged_keys = ledger.keys(Outcome.OK)
        assert judge(service, ledger, f"{seed}:").violations == {}
        send_everything_again(service, ledger)
        assert judge(service, ledger, f"{seed}:").violations == {}
        check = service.open_account("After")
        assert_takes_events(check, f"{seed} after")
    finally:
        service.end()
    with capsys.disabled():
        print(f"\ncut {after}: {len(acknowledged_keys)} acknowledged, none lost")  # noqa: T201 # a long run is made for its figures


@pytest.mark.skipif(ROUNDS == 1, reason="a longer run: HEADWATER_CRASH_ROUNDS=2")
def test_catches_answers_before_the_disk_has_it(disk: Disk, tmp_path: Path) -> None:
    service = Service(tmp_path)
    service.data_dir = disk.folder / "data"
    service.start()
    try:
        with psycopg.connect(service.database_url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        load = Load([Sender(service.open_account("Shop"), shipments("control"))])
        load.start()
        wait_until(lambda: load.acknowledged_count() > ACKNOWLEDGED_IN_VAIN)
        cut_power(service, disk)
        ledger = load.stop()
        disk.restore_power()
        service.launch()
        assert not service.await_ready() or judge(service, ledger, "control:").lost
    finally:
        service.end()


def assert_takes_events(account: Account, seed: str) -> None:
    load = Load([Sender(account, shipments(seed))])
    load.start()
    wait_until(load.acknowledged_count)
    assert load.stop().surprises == []
