"""Backups of an external PostgreSQL, and restores into an empty external database."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from headwater.cli import main
from headwater.database import migrator
from headwater.database.embedded import Embedded
from headwater.operations.backups.dump import make_backup
from headwater.operations.backups.errors import BackupError
from headwater.privacy import erasure_job
from tests.backups.conftest import SECRET_KEY, Databases, Installation, all_rows, emails
from tests.conftest import UNSAFE
from tests.support.old_postgresql import OLDEST

Run = Callable[..., dict[str, Any]]
Refused = Callable[..., str]


def test_it_works(
    installation: Installation, databases: Databases, folder: Path, run: Run, refusal: Refused,
) -> None:  # fmt: skip
    run("backup", folder / "plain.zip")
    before = all_rows(installation.connection)
    file = folder / "with-key.zip"
    run("backup", file, "--with-secret-key")
    for path, holds in ((folder / "plain.zip", False), (file, True)):
        with zipfile.ZipFile(path) as archive:
            assert SECRET_KEY.encode() not in gzip.decompress(archive.read("database.sql.gz"))
            assert ("secret.key" in archive.namelist()) == holds
    databases.use(databases.empty)
    assert run("restore", file)["secret_key"] == "restored"
    after = databases.empty_rows()
    for row in (*before["installation"], *after["installation"]):
        assert row.pop("secret_key") == SECRET_KEY
    assert after == before
    assert "the database is not empty" in refusal("restore", file)


def test_nothing_starts_on_a_restore_that_failed(
    installation: Installation, databases: Databases, folder: Path, run: Run, refusal: Refused,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run("backup", folder / "b.zip")
    installation.erase(installation.bob)
    databases.use(databases.empty)

    def fail(*_: object) -> None:
        raise psycopg.OperationalError("the disk is full")

    monkeypatch.setattr("headwater.operations.backups.restoration.erase_all", fail)
    reason = refusal("restore", folder / "b.zip")
    assert "the disk is full. The restore is unfinished" in reason
    for command in (
        ["serve", "--port", "0"],
        ["api", "--port", "0"],
        ["worker"],
        ["forwarder"],
        ["exporter"],
    ):
        assert "has not finished on this database" in refusal(*command)
    assert "drop it first" in refusal("restore", folder / "b.zip")


@pytest.mark.parametrize("schema", ["app", "App"])
def test_tables_in_another_schema_are_restored_where_commands_look(
    databases: Databases, folder: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, schema: str
) -> None:
    with psycopg.connect(databases.empty, autocommit=True) as connection:
        connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(schema)))
    url = f"{databases.empty}&options=-csearch_path%3D%22{schema}%22"
    migrator.migrate(url)
    databases.use(url)
    result = run("backup", folder, "--verify")
    assert result["verified"]
    monkeypatch.delenv("HEADWATER_DATABASE_URL")
    restored = run("restore", result["file"], "--data-dir", tmp_path / "new")
    assert restored["rows"] == result["rows"]


def test_a_damaged_file_leaves_it_empty(
    databases: Databases, folder: Path, run: Run, refusal: Refused
) -> None:  # fmt: skip
    file = Path(run("backup", folder)["file"])
    content = file.read_bytes()
    middle = len(content) // 2
    file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    databases.use(databases.empty)
    assert "is damaged" in refusal("restore", file)
    assert databases.empty_rows() == {}


def test_an_erasure_that_fails_is_left_to_the_worker(
    installation: Installation, databases: Databases, folder: Path, run: Run,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """The operator learns of it by the exit code, the number, and the command that lists the erasures."""
    run("backup", folder / "b.zip")
    installation.erase(installation.bob)
    databases.use(databases.installed_url)
    run("backup", folder / "later.zip")  # which updates the journal

    def fail(*_: object) -> None:
        raise ValueError("a row that cannot be erased")

    monkeypatch.setattr(erasure_job, "scrub", fail)
    databases.use(databases.empty)
    assert main(["restore", str(folder / "b.zip"), "--json"]) == 1
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert (report["erased_again"], report["erasures_waiting"]) == (1, 1)
    assert "headwater contact erasures" in printed.err


def test_a_backup_that_fails_says_why(
    installation: Installation, databases: Databases, folder: Path, refusal: Refused
) -> None:
    """The database user can't access another program's table."""
    change = installation.connection.execute
    change("CREATE ROLE reader")
    change("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    change("GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO reader")
    change("CREATE SCHEMA other CREATE TABLE hidden (id int)")
    try:
        databases.use(f"{databases.installed_url}&options=-c%20role%3Dreader")
        reason = refusal("backup", folder / "b.zip")
    finally:
        change("DROP SCHEMA other CASCADE")
        change("DROP OWNED BY reader")
        change("DROP ROLE reader")
    assert "pg_dump failed" in reason
    assert "permission denied for schema other" in reason
    assert "reading" not in reason, "only errors"
    assert not list(folder.glob("*.zip*"))


def test_a_backup_that_fails_ends_pg_dump(installation: Installation, folder: Path) -> None:
    """pg_dump would wait forever for its output to be read."""
    change = installation.connection.execute
    change("CREATE TABLE long_texts AS SELECT repeat('x', 1000) FROM generate_series(1, 20000)")

    def fail(*_: object) -> None:
        raise OSError("no space is left")

    url = Embedded(installation.data_dir).url
    with pytest.raises(BackupError, match="no space is left"):
        make_backup(url, folder / "b.zip", None, fail, overwrite=False)
    change("DROP TABLE long_texts")
    assert list(folder.iterdir()) == []


def test_between_versions_of_postgresql(
    installation: Installation, folder: Path, tmp_path: Path, run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """From 18 to 16, the oldest supported version, and back."""
    run("backup", folder / "18.zip", "--with-secret-key", "--data-dir", installation.data_dir)
    server = Embedded(tmp_path / "oldest", OLDEST)
    url = server.start(UNSAFE, tied=True)
    try:
        monkeypatch.setenv("HEADWATER_DATABASE_URL", url)
        run("restore", folder / "18.zip")
        with psycopg.connect(url) as connection:
            assert connection.info.server_version // 10_000 == 16
            assert emails(connection, installation.bob) == ["bob@backup.example"]
        assert run("backup", folder / "16.zip", "--verify")["verified"]
        assert main(["migrate"]) == 0
    finally:
        server.stop()


def test_an_older_schema_is_migrated(
    databases: Databases, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("backup", folder / "b.zip")
    migration = migrator.read_migration("9999_later", "CREATE TABLE later (id int)")
    later_migrations = [*migrator.migrations(), migration]
    monkeypatch.setattr(migrator, "migrations", lambda: later_migrations)
    databases.use(databases.empty)
    assert run("restore", folder / "b.zip")["migrated"] == ["9999_later"]
    assert databases.empty_rows()["later"] == []
