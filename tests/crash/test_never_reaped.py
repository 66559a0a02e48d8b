"""Everything is killed at the same time where dead orphans are never reaped, as in a container whose first
process is a shell script. PostgreSQL's first process stays a zombie, and the next start must not mistake it
for a running server.

HEADWATER_CRASH_ROUNDS makes the run longer.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crash.campaign import wait_for_progress
from tests.crash.journeys import shipments
from tests.crash.load import Load, Outcome, Sender, resend
from tests.crash.processes import Process, send_all
from tests.crash.service import Service
from tests.crash.verdict import judge
from tests.support.campaigns import campaign_size
from tests.support.waiting import wait_until

ROUNDS = campaign_size("HEADWATER_CRASH_ROUNDS", 1, 2)
PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture(autouse=True)
def orphans() -> Iterator[list[Process]]:
    """The dead orphans. They become children of this process, which reaps them only at the end."""
    dead: list[Process] = []
    adopt(adopts=True)
    yield dead
    adopt(adopts=False)
    for process in dead:
        with suppress(ChildProcessError):
            os.waitpid(process.pid, 0)


def adopt(*, adopts: bool) -> None:
    assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(adopts), 0, 0, 0) == 0


def is_zombie(process: Process) -> bool:
    with suppress(FileNotFoundError):
        return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return False


def test_it_works(service: Service, orphans: list[Process]) -> None:
    account = service.open_account("Shop")
    for number in range(ROUNDS):
        seed = f"never reaped {number}"
        account = replace(account, port=service.port)
        load = Load(Sender(account, shipments(f"{seed}:{number}")) for number in range(2))
        load.start()
        wait_for_progress(load, random.Random(seed))
        postmaster, family = service.postmaster(), service.family()
        assert postmaster is not None
        service.signal(signal.SIGSTOP)  # it would reap them
        send_all(family, signal.SIGKILL)
        service.kill_supervisor()
        orphans.extend(family)
        wait_until(lambda: not any(process.is_alive for process in orphans))
        ledger = load.stop()
        assert is_zombie(postmaster)
        service.start()
        ledger.absorb(resend(ledger))
        service.drain()
        assert judge(service, ledger, f"{seed}:").violations == {}
        assert ledger.keys(Outcome.OK)
