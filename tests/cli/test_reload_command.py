"""`headwater reload` signals the running service. `tests/crash/test_reload.py` reloads a real one."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.base.succession import RELOAD, InheritedProcess
from headwater.cli import main
from headwater.database.data_directory import LOCK
from headwater.operations.supervision.record import ServiceRecord, write_record


def test_it_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """This service ends at the signal, so that the reload fails."""
    command = [sys.executable, "-c", "input()"]
    with (
        (tmp_path / LOCK).open("wb", buffering=0) as lock,
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as service,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        write_record(lock, ServiceRecord(service.pid, "1.0.0"))
        assert main(["reload", "--data-dir", str(tmp_path), "--timeout", "0.1"]) == 2
        service.communicate(b"\n")
        assert service.returncode == -RELOAD
    assert "not reloaded" in capsys.readouterr().err


def test_the_end_of_an_inherited_child_is_noticed() -> None:
    command = [sys.executable, "-c", "input(); exit(7)"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        inherited_process = InheritedProcess(child.pid)
        assert inherited_process.poll() is None
        assert child.stdin is not None
        child.stdin.write(b"\n")
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert inherited_process.poll() == 7
        assert inherited_process.poll() == 7
