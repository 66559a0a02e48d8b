"""Setup of the bundled server next to the remains of a killed setup."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from headwater.database.account import give_to_server, server_account
from headwater.database.embedded import Embedded
from tests.support.processes import environment
from tests.support.waiting import PATIENCE_SECONDS, wait_until


def test_it_works(tmp_path: Path) -> None:
    """The killed setup's initdb continues in its own directory without interfering."""
    server = Embedded(tmp_path / "data")
    server.root.mkdir(mode=0o711)
    remains = server.root / "postgresql.new-killed"
    remains.mkdir(mode=0o700)
    give_to_server(remains)
    command = [*server_account(), server.programs.path("initdb"), "-D", str(remains), "--auth=trust"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        server.create()
    assert (server.cluster / "PG_VERSION").is_file()
    server.start()
    server.stop()


def test_a_terminal_that_interrupts_the_first_start(tmp_path: Path) -> None:
    """Ctrl-C reaches every process of the terminal's group. The set-up ends first, and nothing fails."""
    command = [
        sys.executable,
        "-m",
        "headwater",
        "serve",
        "--port",
        "0",
        "--data-dir",
        str(tmp_path / "data"),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=environment(),
    ) as process:  # fmt: skip
        wait_until(lambda: any(tmp_path.glob("data/postgresql.new-*/*")))
        for _ in range(10):  # one of them while initdb runs, which may be quick
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.01)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert "initdb failed" not in errors
    assert process.returncode == 0, errors
