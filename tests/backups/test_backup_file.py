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
    where = ("--data-dir", installation.data_dir)
    made = run("backup", folder, "--verify", *where)
    assert made["verified"]
    (noted,) = run("backup", "list", *where)
    assert noted["name"] == Path(made["file"]).name
    assert noted["bytes"] == made["bytes"]
    assert noted["verified_at"] > noted["finished_at"] > noted["made_at"]
    manifest = json.loads(zipfile.ZipFile(made["file"]).read("manifest.json"))
    (secret,) = key_file(installation.data_dir).read_text().split()
    assert secret not in str(manifest)
    assert manifest["tables"]["contacts"] > 0
    assert "rate_limits" not in manifest["tables"]


def test_a_file_that_is_not_whole_is_refused(
    installation: Installation, folder: Path, run: Run, refused: Refused, tmp_path: Path
) -> None:
    where = ("--data-dir", installation.data_dir)
    whole = Path(run("backup", folder, *where)["file"]).read_bytes()
    file = folder / "harmed.zip"

    def harm(content: bytes) -> str:
        file.write_bytes(content)
        return refused("backup", "--verify", file, *where)

    assert "is truncated" in harm(whole[: len(whole) // 2])
    assert "is truncated" in harm(whole[:-1])
    assert "is not a Headwater backup" in harm(b"")
    assert "is damaged" in harm(whole[:2000] + bytes([whole[2000] ^ 1]) + whole[2001:])
    with zipfile.ZipFile(file, "w") as other:
        other.writestr("holiday.jpg", "sea")
    assert "holds no manifest" in refused("backup", "--verify", file, *where)
    with zipfile.ZipFile(file, "w") as other:
        other.writestr("manifest.json", '{"format": 2}')
    assert "another version" in refused("restore", file, "--data-dir", tmp_path / "new")
    assert "there is no file" in refused("restore", folder / "none", "--data-dir", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_rows_that_do_not_come_back_are_noticed(
    installation: Installation, folder: Path, run: Run, refused: Refused, tmp_path: Path
) -> None:
    made = Path(run("backup", folder, "--data-dir", installation.data_dir)["file"])
    lacking = folder / "lacking.zip"
    with zipfile.ZipFile(made) as whole, zipfile.ZipFile(lacking, "w") as other:
        manifest = json.loads(whole.read("manifest.json"))
        manifest["tables"]["contacts"] += 1
        other.writestr("database.sql.gz", whole.read("database.sql.gz"))
        other.writestr("manifest.json", json.dumps(manifest))
    reason = refused("restore", lacking, "--data-dir", tmp_path / "new")
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
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(),
        preexec_fn=limit,
    )  # fmt: skip
    assert ran.returncode == 2
    assert f"cannot write {folder / 'b.zip'}: File too large" in ran.stderr
    assert [path.name for path in folder.iterdir()] == ["erasures.journal"]


def test_nothing_is_overwritten(installation: Installation, folder: Path, run: Run, refused: Refused) -> None:
    file = folder / "b.zip"
    file.write_text("mine")
    where = ("--data-dir", installation.data_dir)
    assert "--force to replace it" in refused("backup", file, *where)
    assert file.read_text() == "mine"
    run("backup", file, "--force", *where)
    assert zipfile.is_zipfile(file)
    assert "there is no folder" in refused("backup", folder / "none" / "b.zip", *where)
    with create(folder / "busy.zip", overwrite=False), pytest.raises(BackupError, match="another"):
        create(folder / "busy.zip", overwrite=False).__enter__()


def test_older_ones_of_the_installation_are_removed(
    installation: Installation, folder: Path, run: Run, refused: Refused
) -> None:
    where = ("--data-dir", installation.data_dir)
    names = [folder / f"{name}.zip" for name in "abc"]
    for name in names:
        run("backup", name, *where)
    with zipfile.ZipFile(names[0]) as whole, zipfile.ZipFile(folder / "other.zip", "w") as other:
        manifest = json.loads(whole.read("manifest.json"))
        manifest["installation"]["id"] = "another"
        other.writestr("manifest.json", json.dumps(manifest))
    (folder / "mine.zip").write_text("mine")
    (folder / "headwater-killed.zip.partial").write_text("half")
    made = run("backup", folder, "--keep", "2", *where)
    assert sorted(made["removed"]) == ["a.zip", "b.zip"]
    assert {row["name"] for row in run("backup", "list", *where)} == {
        "c.zip", Path(made["file"]).name,
    }  # fmt: skip
    assert {path.name for path in folder.iterdir()} == {
        "c.zip", "other.zip", "mine.zip", "erasures.journal", Path(made["file"]).name,
    }  # fmt: skip
    assert "is no folder" in refused("backup", folder / "d.zip", "--keep", "2", *where)


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
    folder: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_DATABASE_URL", "postgresql://127.0.0.1:9/none")
    assert "cannot reach the database of HEADWATER_DATABASE_URL" in refused("backup", folder)
