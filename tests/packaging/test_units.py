"""The systemd units, run on a temporary machine: namespaces, with systemd as the first process in them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.test_wheel import WHEEL
from tests.packaging.wheel import build, copy_sources, uv
from tests.support.processes import environment
from tests.support.sizes import ROOT
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(
    os.environ.get("HEADWATER_TEST_SYSTEMD") != "required",
    reason="starts a systemd, as root, on Debian 12; HEADWATER_TEST_SYSTEMD=required",
)
BOOT = Path(__file__).with_name("boot_systemd.sh")
UNITS = ROOT / "deploy" / "systemd"
NAMESPACES = ("--mount", "--pid", "--fork", "--cgroup", "--ipc", "--uts", "--net", "--kill-child")
SECONDS = 300


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The contents of /opt/headwater: the wheel, and Debian's Python, which every account may run."""
    folder = tmp_path_factory.mktemp("opt")
    build(copy_sources(folder / "source", 0o644, 1e9), folder / "built")
    environment_dir = folder / "programs"
    uv("venv", "--relocatable", "--python", "/usr/bin/python3", str(environment_dir))
    uv("pip", "install", "--python", str(environment_dir / "bin" / "python"), str(folder / "built" / WHEEL),
       "--constraint", str(ROOT / "requirements" / "base.txt"))  # fmt: skip
    return environment_dir


@pytest.fixture(scope="module")
def results(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The results of starting, backing up, reloading and stopping."""
    folder = tmp_path_factory.mktemp("machine")
    output = folder / "printed"
    command = ["unshare", *NAMESPACES, str(BOOT), str(folder), str(programs), str(UNITS)]
    machine = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL)

    def is_over() -> bool:
        assert machine.poll() is None, "systemd ended by itself"
        return output.exists() and "the end" in output.read_text()

    try:
        wait_until(is_over, SECONDS, "the end of try_units.sh")
        yield output.read_text().splitlines()
    finally:
        machine.kill()  # and, by --kill-child, everything that systemd has started
        machine.wait()


def test_it_works(results: list[str]) -> None:
    """It starts, keeps running through a reload, and stops in order."""
    assert {"started 200", "reloaded 200", "Result=success", "NRestarts=0"} <= {*results}, results


def test_it_is_confined(results: list[str]) -> None:
    assert {"account headwater", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} <= {*results}


def test_it_is_backed_up_and_keeps_the_journal_of_erasures(results: list[str]) -> None:
    """The journal is next to the backups, where a restore finds it. The service writes it, not the backup."""
    assert {"backup 1", "journal headwater"} <= {*results}, results
    assert [line for line in results if "Read-only file system" in line] == []
