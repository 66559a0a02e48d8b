"""A new installation is on disk before it gets its final name, so that a power cut in its first seconds
leaves either nothing or all of it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.base.failure import Failure
from headwater.database.account import tie
from headwater.database.embedded import Embedded
from headwater.database.programs import MAJOR, program_path
from tests.support.durability import Disk


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_it_works(disk: Disk, tmp_path: Path) -> None:
    disk.sync(tmp_path)
    server = Embedded(tmp_path / "one" / "two")
    server.create()
    assert server.cluster in disk.renamed
    assert disk.unsynced == []
    assert "listen_addresses = ''" in (server.cluster / "postgresql.conf").read_text()
    assert disk.lost_paths(tmp_path) == []


def test_the_model_catches_what_is_not_synced(disk: Disk, tmp_path: Path) -> None:
    disk.sync(tmp_path)
    new_file = tmp_path / "file.new"
    new_file.write_text("content")
    assert disk.lost_paths(tmp_path) == [tmp_path, new_file]
    new_file.rename(tmp_path / "file")
    assert disk.unsynced == [new_file]


def test_the_cluster_of_another_major_version_is_left_as_it_is(tmp_path: Path) -> None:
    server = Embedded(tmp_path)
    server.cluster.mkdir()
    (server.cluster / "PG_VERSION").write_text("16\n")
    with pytest.raises(Failure, match=r"is of PostgreSQL 16, and this version brings 18: .*"):
        server.start()
    assert [path.name for path in server.cluster.iterdir()] == ["PG_VERSION"]


def test_the_version_that_is_expected_is_the_one_that_comes_along() -> None:
    result = subprocess.run(
        [program_path("postgres"), "--version"], capture_output=True, text=True, check=True
    )
    assert f" {MAJOR}." in result.stdout


def test_a_server_that_cannot_be_tied_starts_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For instance in a systemd unit, where a system call filter blocks setpriv."""
    program = tmp_path / "setpriv"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    assert (tie() != []) == (sys.platform == "linux" and shutil.which("setpriv") is not None)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert tie() == []
