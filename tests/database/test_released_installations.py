"""Installations that released versions have made, brought to the schema of today: also by
migrations that are killed again and again.

A file of `tests/data/installations` is what `pg_dump` wrote of the sample data of that version's
own `headwater demo`; each release adds its own. As a migration that is out may not be edited, none
of them may become another one.
"""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.backups.programs import connected
from headwater.database.migrator import compare_schema, migrate
from headwater.database.programs import program_path
from tests.support.kills import KILLS, Victim
from tests.support.schema_changes import Schema, read_schema
from tests.support.sizes import ROOT

INSTALLATIONS = sorted((ROOT / "tests" / "data" / "installations").glob("*.sql.gz"))
COUNTED = ("spaces", "events", "contacts", "touchpoints", "api_keys", "users")
MIGRATE = "import sys; from headwater.database.migrator import migrate; migrate(sys.argv[1])"


def load(url: str, file: Path) -> None:
    command, variables = connected(program_path("psql"), url)
    subprocess.run(
        [*command, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"], env=variables,
        input=gzip.decompress(file.read_bytes()), stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip


@pytest.fixture(scope="module", params=INSTALLATIONS, ids=lambda file: file.name[:-7])
def installed(database_url: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a database to copy, as a version has left it."""
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute("CREATE DATABASE installed")
        load(make_conninfo(database_url, dbname="installed"), request.param)
        yield "installed"
        server.execute("DROP DATABASE installed WITH (FORCE)")


@pytest.fixture
def url(database_url: str, installed: str) -> Iterator[str]:
    """A copy of it."""
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE upgraded TEMPLATE {installed}".encode())
        yield make_conninfo(database_url, dbname="upgraded")
        server.execute("DROP DATABASE upgraded WITH (FORCE)")


@pytest.fixture(scope="module")
def schema_of_today(database_url: str) -> Schema:
    with psycopg.connect(database_url) as connection:
        return read_schema(connection)


def counts(url: str) -> dict[str, int]:
    found: dict[str, int] = {}
    with psycopg.connect(url) as connection:
        for table in COUNTED:
            (found[table],) = connection.execute(
                f"SELECT count(*) FROM {table}".encode()
            ).fetchone() or (0,)
    return found


def test_it_works(url: str, schema_of_today: Schema) -> None:
    before = counts(url)
    assert min(before.values()) > 0
    assert migrate(url)
    assert counts(url) == before
    with psycopg.connect(url) as connection:
        assert compare_schema(connection).is_current
        assert read_schema(connection) == schema_of_today
    assert migrate(url) == []


def test_killed_migrations_leave_what_the_next_one_goes_on_with(
    url: str, schema_of_today: Schema, database_url: str, installed: str
) -> None:
    before = counts(url)
    victim = Victim("-c", MIGRATE, url)
    while victim.killed < (KILLS or 3):
        if victim.strike():  # it came to its end: once more from the beginning
            with psycopg.connect(database_url, autocommit=True) as server:
                server.execute("DROP DATABASE upgraded WITH (FORCE)")
                server.execute(f"CREATE DATABASE upgraded TEMPLATE {installed}".encode())
    migrate(url)
    assert counts(url) == before
    with psycopg.connect(url) as connection:
        assert read_schema(connection) == schema_of_today
