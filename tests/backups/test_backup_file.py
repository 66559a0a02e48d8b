"""The file of a backup: complete or absent, verified, kept, and recorded."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headwater.operations.backups import programs
from headwater.operations.backups.archive import create
from headwater.operations.backups.errors import BackupError
from headwater.operations.backups.programs import connected, find_dump_program
from headwater.spaces.secret_key import key_file
from tests.backups.conftest import Installation
from tests.support.processes import environment

Run = Callable[..., dict[str, Any]]
Refused = Callable[..., str]


def test_it_works(installation: Installation, folder: Path, run: Run) -> None:
    data_options = ("--data-dir", installation.data_dir)
    backup = run("backup", folder, "--verify", *data_options)
    assert backup["verified"]
    (row,) = run("backup", "list", *data_options)
    assert row["name"] == Path(backup["file"]).name
    assert row["bytes"] == backup["bytes"]
    assert row["verified_at"] > row["finished_at"] > row["made_at"]
    manifest = json.loads(zipfile.ZipFile(backup["file"]).read("manifest.json"))
    (secret,) = key_file(installation.data_dir).read_text().split()
    assert secret not in str(manifest)
    assert manifest["tables"]["contacts"] > 0
    assert "rate_limits" not in manifest["tables"]


def test_a_file_that_is_not_whole_is_refused(
    installation: Installation, folder: Path, run: Run, refusal: Refused, tmp_path: Path
) -> None:
    data_options = ("--data-dir", installation.data_dir)
    content = Path(run("backup", folder, *data_options)["file"]).read_bytes()
    file = folder / "harmed.zip"

    def harm(content: bytes) -> str:
        file.write_bytes(content)
        return refusal("backup", "--verify", file, *data_options)

    assert "is truncated" in harm(content[: len(content) // 2])
    assert "is truncated" in harm(content[:-1])
    assert "is not a Headwater backup" in harm(b"")
    assert "is damaged" in harm(content[:2000] + bytes([content[2000] ^ 1]) + content[2001:])
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("holiday.jpg", "sea")
    assert "holds no manifest" in refusal("backup", "--verify", file, *data_options)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", '{"format": 2}')
    assert "another version" in refusal("restore", file, "--data-dir", tmp_path / "new")
    assert "there is no file" in refusal("restore", folder / "none", "--data-dir", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_rows_that_do_not_come_back_are_noticed(
    installation: Installation, folder: Path, run: Run, refusal: Refused, tmp_path: Path
) -> None:
    backup_file = Path(run("backup", folder, "--data-dir", installation.data_dir)["file"])
    changed_file = folder / "lacking.zip"
    with zipfile.ZipFile(backup_file) as source, zipfile.ZipFile(changed_file, "w") as target:
        manifest = json.loads(source.read("manifest.json"))
        manifest["tables"]["contacts"] += 1
        target.writestr("database.sql.gz", source.read("database.sql.gz"))
        target.writestr("manifest.json", json.dumps(manifest))
    reason = refusal("restore", changed_file, "--data-dir", tmp_path / "new")
    assert "was not restored completely: contacts has" in reason
    assert "Nothing was restored" in reason
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["serve.lock"]


def test_a_full_disk_leaves_nothing(installation: Installation, folder: Path) -> None:
    """A limit on file size simulates it: the file is cut off in the middle."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    command = [
        sys.executable, "-m", "headwater", "backup", str(folder / "b.zip"),
        "--data-dir", str(installation.data_dir),
    ]  # fmt: skip
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(),
        preexec_fn=limit,
    )  # fmt: skip
    assert result.returncode == 2
    assert f"cannot write {folder / 'b.zip'}: File too large" in result.stderr
    assert [path.name for path in folder.iterdir()] == ["erasures.journal"]


def test_nothing_is_overwritten(installation: Installation, folder: Path, run: Run, refusal: Refused) -> None:
    file = folder / "b.zip"
    file.write_text("mine")
    data_options = ("--data-dir", installation.data_dir)
    assert "--force to replace it" in refusal("backup", file, *data_options)
    assert file.read_text() == "mine"
    run("backup", file, "--force", *data_options)
    assert zipfile.is_zipfile(file)
    for missing in (folder / "none" / "b.zip", folder / "none"):
        assert "there is no folder" in refusal("backup", missing, *data_options)
    with create(folder / "busy.zip", overwrite=False), pytest.raises(BackupError, match="another"):
        create(folder / "busy.zip", overwrite=False).__enter__()


def test_older_ones_of_the_installation_are_removed(
    installation: Installation, folder: Path, run: Run, refusal: Refused
) -> None:
    data_options = ("--data-dir", installation.data_dir)
    names = [folder / f"{name}.zip" for name in "abc"]
    for name in names:
        run("backup", name, *data_options)
    with zipfile.ZipFile(names[0]) as source, zipfile.ZipFile(folder / "other.zip", "w") as target:
        manifest = json.loads(source.read("manifest.json"))
        manifest["installation"]["id"] = "another"
        target.writestr("manifest.json", json.dumps(manifest))
    (folder / "mine.zip").write_text("mine")
    (folder / "headwater-killed.zip.partial").write_text("half")
    backup = run("backup", folder, "--keep", "2", *data_options)
    assert sorted(backup["removed"]) == ["a.zip", "b.zip"]
    assert {row["name"] for row in run("backup", "list", *data_options)} == {
        "c.zip", Path(backup["file"]).name,
    }  # fmt: skip
    assert {path.name for path in folder.iterdir()} == {
        "c.zip", "other.zip", "mine.zip", "erasures.journal", Path(backup["file"]).name,
    }  # fmt: skip
    assert "is no folder" in refusal("backup", folder / "d.zip", "--keep", "2", *data_options)


def test_no_password_is_on_a_command_line() -> None:
    call = connected("pg_dump", "postgresql://me:secret@/db?host=%2Ftmp&sslmode=require")
    assert "secret" not in " ".join(call.arguments)
    assert call.environment["PGPASSWORD"] == "secret"
    assert call.arguments[-1] == "--dbname=user=me dbname=db host=/tmp sslmode=require"
    with pytest.raises(BackupError, match="sslpassword"):
        connected("pg_dump", "postgresql://me@/db?sslpassword=secret")


def test_a_program_that_fits_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_dump_program(16).major == 18
    newer = tmp_path / "pg_dump"
    newer.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 19.1 (Debian 19.1-1)'\n")
    newer.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert find_dump_program(19) == programs.Program(str(newer), "19.1")
    with pytest.raises(BackupError, match="install the client programs of PostgreSQL 20"):
        find_dump_program(20)


def test_a_database_that_is_away_is_reported(
    folder: Path, refusal: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", "postgresql://127.0.0.1:9/none")
    assert "cannot reach the database of HEADWATER_DATABASE_URL" in refusal("backup", folder)
