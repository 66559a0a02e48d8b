"""A service of the last release is reloaded with later versions while in use: one expands the schema, the
next contracts it. Every process is replaced, no request fails and nothing is lost. A version that can't serve
changes nothing.

HEADWATER_RELOADS makes the run longer. `bench/reload.py` does the same at 1,000 requests a second.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from headwater import __version__
from tests.crash.campaign import wait_for_progress
from tests.crash.journeys import shipments
from tests.crash.load import Load, Outcome, Sender
from tests.crash.processes import Process
from tests.crash.service import ROOT, Service
from tests.crash.verdict import judge
from tests.support.kills import KILLS
from tests.support.releases import former_source
from tests.support.waiting import wait_until

RELOADS = int(os.environ.get("HEADWATER_RELOADS", "2"))
CONNECTIONS = 4
EXPANDS = """
CREATE TABLE later_{number} (space_id bigint PRIMARY KEY);
ALTER TABLE spaces ADD COLUMN later_{number} int;
"""
CONTRACTS = """-- Unused since {before}: spaces.later_{number}, later_{number}.
ALTER TABLE spaces DROP COLUMN later_{number};
DROP TABLE later_{number};
"""
MINOR, _, PATCH = __version__.rpartition(".")


def next_version(number: int) -> str:
    """Return the version that is `number` patches after this one."""
    return f"{MINOR}.{int(PATCH) + number}"


class Installed:
    """A copy of the last release that later versions replace."""

    def __init__(self, folder: Path, release: Path) -> None:
        shutil.copytree(release, folder)
        self.folder = folder
        self._package = folder / "headwater"

    def change(self, name: str, text: str) -> str:
        """Replace a file and return its former text."""
        path = self._package / name
        before = path.read_text() if path.exists() else ""
        path.write_text(text)
        return before

    def become(self, number: int) -> str:
        """Install the current code as a later version, which removes what the previous one added. Return the
        version.
        """
        shutil.copytree(ROOT / "src", self.folder, dirs_exist_ok=True)
        version = next_version(number)
        self.change("__init__.py", f'"""Headwater."""\n\n__version__ = "{version}"\n')
        migration = f"database/migrations/{9000 + number}"
        self.change(f"{migration}_later.sql", EXPANDS.format(number=number))
        if number > 1:
            former = CONTRACTS.format(number=number - 1, before=next_version(number - 1))
            self.change(f"{migration}_less.contract.sql", former)
        return version


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    release = former_source(tmp_path_factory.mktemp("release"))
    return Installed(tmp_path_factory.mktemp("installed") / "src", release)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, installation: Installed) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("reload"), source=installation.folder)
    try:
        service.start()
        yield service
    finally:
        service.end()


def pids(service: Service) -> dict[str, list[int]]:
    """Return the pids by role."""
    postmaster = service.postmaster()
    assert postmaster is not None
    return {
        "supervisor": [service.pid],
        "postgresql": [postmaster.pid],
        "api": [process.pid for process in service.processes("api")],
        "worker": [process.pid for process in service.processes("worker")],
    }


def await_end(processes: list[Process]) -> None:
    wait_until(lambda: not any(process.is_alive for process in processes))


def test_it_works(service: Service, installation: Installed) -> None:
    account = service.open_account("Shop")
    load = Load(Sender(account, shipments(f"reload:{number}")) for number in range(CONNECTIONS))
    load.start()
    draw = random.Random("reload")
    for number in range(1, 1 + RELOADS):
        wait_for_progress(load, draw)
        before = pids(service)
        version = installation.become(number)
        answer = service.run_json("reload")
        assert answer == {"version": version, "reloads": number}
        after = pids(service)
        for role in ("supervisor", "postgresql"):
            assert after[role] == before[role]
        for role in ("api", "worker"):
            assert len(after[role]) == 1
            assert not set(after[role]) & set(before[role])
    wait_for_progress(load, draw)
    ledger = load.stop()
    assert ledger.keys(Outcome.UNKNOWN) == [], "requests that failed"
    service.drain()
    assert judge(service, ledger, "reload:").violations == {}
    assert service.times_logged("9001_later") == 1
    assert service.times_logged('"event": "reloaded"') == RELOADS


def test_a_version_that_cannot_serve_changes_nothing(service: Service, installation: Installed) -> None:
    before = pids(service)
    original = installation.change("supervisor.py", "from headwater import nothing_of_this_name\n")
    result = service.command("reload")
    installation.change("supervisor.py", original)
    assert result.returncode == 2
    assert "not reloaded: the version on disk cannot serve here; see the log" in result.stderr
    assert service.times_logged("nothing_of_this_name")
    assert pids(service) == before
    assert service.is_ready()


@pytest.mark.skipif(KILLS == 0, reason="a longer run: HEADWATER_KILLS=60")
def test_killed_while_it_reloads(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    """Whenever the supervisor is killed, nothing is missing at the next start."""
    account = service.open_account("Shop")
    load = Load([Sender(account, shipments("killed"), persistent=True)])
    load.start()
    draw = random.Random("killed")
    for _ in range(KILLS):
        family = service.family()
        service.signal(signal.SIGUSR2)
        with suppress(subprocess.TimeoutExpired):
            service.wait(draw.uniform(0.0, 6.0))
        service.kill_supervisor()
        await_end(family)
        service.start()
    service.await_whole()
    wait_for_progress(load, draw)
    ledger = load.stop()
    service.drain()
    assert judge(service, ledger, "killed/").violations == {}
    with capsys.disabled():
        acknowledged_count = len(ledger.keys(Outcome.OK))
        print(f"\n{KILLS} kills, {acknowledged_count} acknowledged")  # noqa: T201 # its figures


@pytest.mark.skipif(RELOADS <= 2, reason="a longer run: HEADWATER_RELOADS=3")
def test_what_does_not_start_at_first_follows_once_it_is_mended(
    service: Service, installation: Installed
) -> None:
    before = pids(service)
    original = installation.change("cli/service/api.py", "from headwater import nothing_of_that_name\n")
    assert service.command("reload").returncode == 2
    installation.change("cli/service/api.py", original)
    wait_until(lambda: not set(before["worker"]) & set(pids(service)["worker"]))
    service.await_whole()
    wait_until(lambda: service.times_logged('"event": "reloaded"') == RELOADS + 1)


def test_one_whose_processes_do_not_start_leaves_the_old_ones_at_work(
    service: Service, installation: Installed
) -> None:
    """When the service is stopped at that time, while processes of two versions run, all of them end."""
    before = pids(service)
    original = installation.change("cli/service/api.py", "from headwater import nothing_at_all\n")
    result = service.command("reload")
    assert result.returncode == 2
    assert "not reloaded: api 1 of the version on disk does not start" in result.stderr
    assert set(before["api"]) <= {process.pid for process in service.processes("api")}
    assert service.is_ready()
    family = service.family()
    assert service.stop() == 0
    assert not any(process.is_alive for process in family)
    installation.change("cli/service/api.py", original)


def test_nothing_to_reload(tmp_path: Path) -> None:
    nowhere = Service(tmp_path)
    result = nowhere.command("reload")
    assert result.returncode == 2
    assert re.search("no `headwater serve` that can be reloaded runs on", result.stderr)
