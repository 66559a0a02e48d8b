"""Migrations that are killed repeatedly: the next run continues where the killed one stopped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.database.migrator import migrate
from tests.support.factories import make_stage
from tests.support.kills import KILLS, Victim

LATER = {
    "0002_later": (
        "CREATE TABLE later (space_id bigint, id bigint);\n"
        "INSERT INTO later SELECT e.space_id, e.id FROM events e;"
    ),
    "0003_slower": (
        "INSERT INTO later SELECT 0, n FROM generate_series(1, 200000) n;\n"
        "CREATE UNIQUE INDEX later_once ON later (space_id, id);"
    ),
    "0004_colours.contract": (
        "-- Unused since 0.1.0: later.id.\nALTER TABLE later RENAME COLUMN id TO colour;"
    ),
}
MIGRATE = """
import sys
from pathlib import Path
from headwater.database import migrator

own = migrator.migrations()
files = sorted(Path(sys.argv[2]).iterdir())
later = [migrator.read_migration(file.stem, file.read_text()) for file in files]
migrator.migrations = lambda: [*own, *later]
migrator.migrate(sys.argv[1])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The additional migrations of a later version."""
    for name, sql in LATER.items():
        (tmp_path / f"{name}.sql").write_text(sql)
    return tmp_path


@pytest.fixture
def installed_url(database_url: str) -> Iterator[str]:
    """A database of this version, with events."""
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute("CREATE DATABASE installed")
        url = make_conninfo(database_url, dbname="installed")
        migrate(url)
        with psycopg.connect(url, autocommit=True) as connection:
            stage = make_stage(connection)
            for number in range(3):
                stage.event(stage.contact(email=f"{number}@example.com"))
        yield "installed"
        server.execute("DROP DATABASE IF EXISTS upgraded WITH (FORCE)")
        server.execute("DROP DATABASE installed WITH (FORCE)")


def copy(database_url: str, template: str) -> str:
    """Make a copy of the database for a migration."""
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute("DROP DATABASE IF EXISTS upgraded WITH (FORCE)")
        server.execute(f"CREATE DATABASE upgraded TEMPLATE {template}".encode())
    return make_conninfo(database_url, dbname="upgraded")


def state(url: str) -> tuple[list[str], int, int]:
    """Return the applied migrations, and the numbers of rows in the new table and in events."""
    with psycopg.connect(url) as connection:
        migration_rows = connection.execute("SELECT name FROM migrations ORDER BY name").fetchall()
        counts = connection.execute(
            "SELECT count(colour), (SELECT count(*) FROM events) FROM later"
        ).fetchone()
    assert counts is not None
    return [name for (name,) in migration_rows], *counts


def test_it_works(installed_url: str, database_url: str, folder: Path) -> None:
    copy_url = copy(database_url, installed_url)
    victim = Victim("-c", MIGRATE, copy_url, str(folder))
    while victim.killed < (KILLS or 2):
        if victim.strike():  # it was not killed in time: start over
            copy(database_url, installed_url)
    while not victim.strike():
        pass
    names = ["0001_schema", "0002_later", "0003_slower", "0004_colours"]
    assert state(copy_url) == (names, 200_003, 3)
