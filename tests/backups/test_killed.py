"""Backups and restores that are killed at any moment leave nothing that looks complete, and nothing that
blocks the next attempt.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from headwater.database.embedded import Embedded
from headwater.operations.backups.archive import open_archive
from tests.backups.conftest import Installation, all_rows
from tests.conftest import UNSAFE
from tests.support.kills import KILLS, Victim
from tests.support.processes import environment, headwater
from tests.support.waiting import PATIENCE_SECONDS, wait_until

Run = Callable[..., dict[str, Any]]


def test_it_works(installation: Installation, folder: Path, run: Run) -> None:
    """A backup gets its name once it is complete."""
    file = folder / "b.zip"
    data_options = ("--data-dir", str(installation.data_dir))
    victim = Victim("-m", "headwater", "backup", str(file), *data_options)
    while victim.killed < (KILLS or 2):
        victim.strike()
        if file.exists():
            with open_archive(file) as archive:
                assert sum(map(len, archive.chunks(lambda _: None))) > 0
            file.unlink()
    backup = run("backup", file, *data_options)
    assert backup["rows"] > 0


def test_a_killed_restore(installation: Installation, folder: Path, tmp_path: Path, run: Run) -> None:
    """Nothing starts on half of a restore. A second attempt succeeds."""
    file = folder / "b.zip"
    backup = run("backup", file, "--data-dir", installation.data_dir)
    new = tmp_path / "new"
    words = ("restore", str(file), "--without-erasures", "--data-dir", str(new))
    victim = Victim("-m", "headwater", *words)
    victim.seconds = 3.0
    while victim.killed < (KILLS or 1):
        victim.strike()
        if Embedded(new).cluster.exists():  # it was complete, or about to be
            assert_whole(new, backup["rows"])
            shutil.rmtree(new)
        elif (new / "postgresql.restoring").exists():
            result = headwater("serve", "--port", "0", "--data-dir", str(new))
            assert result.returncode == 2
            assert "`headwater restore` has not finished" in result.stderr
    if not Embedded(new).cluster.exists():
        assert run(*words)["rows"] == backup["rows"]
    assert_whole(new, backup["rows"])


def assert_whole(data_dir: Path, rows: int) -> None:
    """Check that its PostgreSQL starts and has the rows of every table."""
    server = Embedded(data_dir)
    try:
        with psycopg.connect(server.start(UNSAFE, tied=True)) as connection:
            assert sum(map(len, all_rows(connection).values())) >= rows
    finally:
        server.stop()


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary files, with a path short enough for sockets."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def test_a_killed_verification(
    installation: Installation, folder: Path, run: Run, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its copy of the database is removed by the next one; that of a running verification stays."""
    file = folder / "b.zip"
    data_options = ("--data-dir", str(installation.data_dir))
    run("backup", file, *data_options)
    command = [sys.executable, "-m", "headwater", "backup", str(file), "--verify", *data_options]

    def begin() -> tuple[subprocess.Popen[bytes], Path]:
        former_trials = set(temporary.glob("*/postgresql.log"))
        process = subprocess.Popen(command, env=environment(TMPDIR=str(temporary)))
        wait_until(lambda: set(temporary.glob("*/postgresql.log")) - former_trials)
        process.send_signal(signal.SIGSTOP)
        (log,) = set(temporary.glob("*/postgresql.log")) - former_trials
        return process, log.parent

    killed, _ = begin()
    frozen, trial = begin()
    try:
        servers = psutil.Process(killed.pid).children(recursive=True)
        killed.kill()
        killed.wait()
        psutil.wait_procs(servers, PATIENCE_SECONDS)
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        assert run("backup", file, "--verify", *data_options)["verified"]
        assert list(temporary.iterdir()) == [trial]
    finally:
        frozen.kill()
        frozen.wait()
