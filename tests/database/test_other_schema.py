"""A database or backup that started with a different first migration is refused with advice. One that started
with the same file is not.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.cli import main
from headwater.database import migrator
from headwater.database.migrator import SchemaState, compare_schema, migrate
from headwater.operations.supervision.preparation import prepare

Alter = Callable[[psycopg.Connection], object]
WAY_OUT = r"\(`headwater export`\).*\(`headwater import`\)$"


def edit_schema(connection: psycopg.Connection) -> None:
    """Make it a database of the same file before an edit."""
    connection.execute("UPDATE migrations SET checksum = md5('another file')")


def add_many_files(connection: psycopg.Connection) -> None:
    """Make it a database of the migrations before they became one file."""
    connection.execute("UPDATE migrations SET name = '0001_foundation', checksum = ''")
    connection.execute("INSERT INTO migrations (name, checksum) VALUES ('0002_attribution', '')")


def add_older_ledger(connection: psycopg.Connection) -> None:
    """Make it a database from before the ledger's last column."""
    add_many_files(connection)
    connection.execute("ALTER TABLE migrations DROP COLUMN unused_since")


OTHERS = pytest.mark.parametrize("alter", [edit_schema, add_many_files, add_older_ledger])


@pytest.fixture
def url(young_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database of this version, which commands find in their environment."""
    monkeypatch.setenv("HEADWATER_DATABASE_URL", young_url)
    return young_url


def make_other(url: str, alter: Alter) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        alter(connection)


@OTHERS
def test_it_works(url: str, alter: Alter) -> None:
    assert migrate(url) == []
    make_other(url, alter)
    with pytest.raises(Failure, match=WAY_OUT):
        migrate(url)
    with pytest.raises(Failure, match=WAY_OUT):
        prepare(Settings(), url)
    with psycopg.connect(url) as connection:
        assert compare_schema(connection) == SchemaState((), (), is_foreign=True)


def test_commands_refuse_it(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    make_other(url, edit_schema)
    assert main(["migrate"]) == 2
    assert "(`headwater export`)" in capsys.readouterr().err
    assert main(["check", "--json"]) == 1
    risks = [risk["id"] for risk in json.loads(capsys.readouterr().out)["risks"]]
    assert "schema_foreign" in risks
    assert "schema_behind" not in risks


@OTHERS
def test_its_backup_is_refused(
    url: str, alter: Alter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """It is refused before anything is read: the new database stays empty."""
    make_other(url, alter)
    backup = tmp_path / "backup.zip"
    assert main(["backup", str(backup)]) == 0
    monkeypatch.delenv("HEADWATER_DATABASE_URL")
    capsys.readouterr()
    assert main(["restore", str(backup), "--data-dir", str(tmp_path / "new")]) == 2
    assert "(`headwater export`)" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_later_migration_is_no_other_schema(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    later_migrations = [*migrator.migrations(), migrator.Migration("0002_later", "CREATE TABLE later ()")]
    with monkeypatch.context() as patch:
        patch.setattr(migrator, "migrations", lambda: later_migrations)
        with psycopg.connect(url) as connection:
            assert compare_schema(connection) == SchemaState(("0002_later",), ())
        assert migrate(url) == ["0002_later"]
    assert migrate(url) == []
