"""Backups and restores that are killed at any moment leave nothing that looks complete, and nothing that
blocks the next attempt.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from headwater.database.embedded import Embedded
from headwater.operations.backups.archive import open_archive
from tests.backups.conftest import Installation, all_rows
from tests.conftest import UNSAFE
from tests.support.kills import KILLS, Victim
from tests.support.processes import headwater

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
