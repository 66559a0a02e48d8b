"""The previous version works after every migration: a service is upgraded process by process, so both
versions work on the new schema for a while.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.base.failure import Failure
from headwater.database import migrator
from headwater.database.migrator import Migration, read_migration
from tests.support.releases import changelog_versions, released_versions
from tests.support.schema_changes import Schema, breaking, read_schema

FIRST = "0002"
"""Migrations from this number on follow the rule: the first one has no previous version."""
WIDER: dict[str, str] = {}
"""Migrations that change a rule about existing columns, with the reason why the previous version still
follows it and accepts the data that the new rule allows.
"""


@dataclass(frozen=True)
class History:
    """A database with all migrations applied in turn."""

    connection: psycopg.Connection
    faults: dict[str, list[str]]
    """The changes that would break the previous version, by migration."""


@pytest.fixture(scope="module")
def history(database_url: str) -> Iterator[History]:
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute("CREATE DATABASE expanding")
        with psycopg.connect(make_conninfo(database_url, dbname="expanding"), autocommit=True) as connection:
            connection.execute(migrator._LEDGER)
            yield History(connection, dict(apply_all(connection, migrator.migrations())))
        server.execute("DROP DATABASE expanding WITH (FORCE)")


def apply_all(
    connection: psycopg.Connection, migrations: Sequence[Migration]
) -> Iterator[tuple[str, list[str]]]:
    """Apply all migrations, and yield each one under the rule with its faults."""
    for migration in migrations:
        before = read_schema(connection) if migration.name >= FIRST else None
        with connection.transaction():
            connection.execute(migration.sql.encode())
        if before is not None and migration.unused_since is None and migration.name not in WIDER:
            yield migration.name, breaking(before, read_schema(connection))


def test_it_works(history: History) -> None:
    """Each migration keeps what the previous version uses, or states the version since which it is unused."""
    assert {name: faults for name, faults in history.faults.items() if faults} == {}


def may_remove(unused_since: str, released: Sequence[str], next_version: str) -> bool:
    """Return whether the coming version may remove something: no release of the previous minor version may
    use it.
    """
    minor, _, patch = unused_since.rpartition(".")
    return unused_since in released and patch == "0" and not next_version.startswith(f"{minor}.")


def test_what_is_taken_away_was_unused_in_a_minor_version_that_is_out() -> None:
    next_version, _ = changelog_versions()[0]
    for migration in migrator.migrations():
        since = migration.unused_since
        assert since is None or may_remove(since, released_versions(), next_version), migration.name


@pytest.mark.parametrize(
    ("unused_since", "next_version", "is_allowed"),
    [
        ("1.1.0", "1.2.0", True),
        ("1.0.0", "1.2.0", True),
        ("1.1.0", "1.1.2", False),  # a patch
        ("1.1.1", "1.2.0", False),  # 1.1.0 still used it
        ("1.2.0", "1.2.0", False),  # not released
    ],
)
def test_a_minor_version_may_remove_what_the_one_before_did_not_use(
    unused_since: str, next_version: str, *, is_allowed: bool
) -> None:
    assert may_remove(unused_since, ["1.1.1", "1.1.0", "1.0.0"], next_version) is is_allowed


@pytest.fixture
def connection(history: History) -> Iterator[psycopg.Connection]:
    """A connection to the current schema, in a transaction that is rolled back."""
    with history.connection.transaction(force_rollback=True):
        yield history.connection


@pytest.fixture
def schema(connection: psycopg.Connection) -> Schema:
    """The schema before the test's change."""
    return read_schema(connection)


def test_each_is_held_against_what_was_there_before_it(connection: psycopg.Connection) -> None:
    faults = apply_all(connection, [
        Migration("0002_colours", "ALTER TABLE sites ADD COLUMN colour text"),
        Migration("0003_fewer", "ALTER TABLE sites DROP COLUMN colour"),
        Migration("0004_less", "ALTER TABLE sites DROP COLUMN last_bot_at", "0.1.0"),
    ])  # fmt: skip
    assert dict(faults) == {"0002_colours": [], "0003_fewer": ["sites.colour is gone"]}


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("DROP TABLE rejected", "rejected.id is gone"),
        ("ALTER TABLE rejected RENAME TO refused", "rejected.id is gone"),
        ("ALTER TABLE sites DROP COLUMN last_bot_at", "sites.last_bot_at is gone"),
        ("ALTER TABLE sites RENAME last_bot_at TO bot_at", "sites.last_bot_at is gone"),
        ("ALTER TABLE sites ALTER last_bot_at TYPE date",
         "sites.last_bot_at was timestamp with time zone and is date"),
        ("ALTER TABLE sites ALTER last_bot_at SET NOT NULL",
         "sites.last_bot_at can no longer be left out"),
        ("ALTER TABLE spaces ALTER cost_rate SET DEFAULT 0, ALTER cost_rate SET NOT NULL",
         "spaces.cost_rate can no longer be null"),
        ("ALTER TABLE webhooks ALTER takes_tests DROP DEFAULT",
         "webhooks.takes_tests can no longer be left out"),
        ("ALTER TABLE sites ADD COLUMN colour text NOT NULL",
         "sites.colour is new and cannot be left out"),
        ("ALTER TABLE spaces ADD CONSTRAINT short CHECK (length(name) < 1000)",
         "spaces: short is a new rule for what was there before"),
        ("CREATE UNIQUE INDEX once ON rejected (space_id, id, reason)",
         "rejected: once is a new rule for what was there before"),
        ("DROP INDEX events_idempotency",
         "events: events_idempotency is gone, by which ON CONFLICT finds rows"),
        ("ALTER SEQUENCE contact_ids RENAME TO people_ids", "sequence contact_ids is gone"),
    ],
)  # fmt: skip
def test_what_the_version_before_does_not_survive(
    connection: psycopg.Connection, schema: Schema, statement: str, fault: str
) -> None:
    connection.execute(statement.encode())
    assert fault in breaking(schema, read_schema(connection))


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE colours (space_id bigint NOT NULL, name text NOT NULL UNIQUE)",
        "ALTER TABLE sites ADD COLUMN colour text",
        "ALTER TABLE sites ADD COLUMN shade int NOT NULL DEFAULT 0 CHECK (shade >= 0)",
        "ALTER TABLE sites ADD COLUMN twin bigint UNIQUE",
        "CREATE INDEX rejected_reason ON rejected (space_id, reason)",
        "DROP INDEX events_answers",
        "ALTER TABLE webhooks ALTER takes_tests DROP NOT NULL",
        "CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql RETURN 2 * n",
    ],
)
def test_compatible_changes_are_allowed(
    connection: psycopg.Connection, schema: Schema, statement: str
) -> None:
    connection.execute(statement.encode())
    assert breaking(schema, read_schema(connection)) == []


def test_one_that_contracts_has_to_say_since_when() -> None:
    first = "-- Unused since 0.2.0: sites.colour.\n"
    migration = read_migration("0099_colours.contract", first)
    assert migration == ("0099_colours", first, "0.2.0")
    with pytest.raises(Failure, match=r"0099_colours.contract.sql has to begin with"):
        read_migration("0099_colours.contract", "ALTER TABLE sites DROP COLUMN colour")
