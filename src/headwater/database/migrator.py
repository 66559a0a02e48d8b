"""Migrates a database to the schema of this version: ordered SQL files, each applied once.

Every file runs in a transaction with its record in the ledger, so a killed migration leaves all of a file or
nothing. A connection's advisory lock lets one process migrate at a time.

A migration expands the schema: the previous version keeps working on it. One that removes something unused
contracts it. Its file ends in `.contract.sql`, and its first line names the version that stopped using it:
`-- Unused since 0.2.0: the column notes.colour.`
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from typing import Any, LiteralString, NamedTuple, cast

import psycopg
from psycopg.sql import SQL

from headwater import __version__
from headwater.base.failure import Failure
from headwater.database.row_security import protect
from headwater.database.suitability import explain_unsuitable

LOCK = 0x48454144  # "HEAD": one key for every Headwater process on the database
LOCK_SECONDS = 1.0
"""A migration waits this long for a table, blocking other statements on it."""
PAUSE_SECONDS = 2.0
"""Between two such waits, for the queued statements."""
PATIENCE_SECONDS = 600.0

_COMMENT = re.compile(r"--[^\n]*")
_WORDS = re.compile(r"\w")
_END = re.compile(r"\$(\w*)\$.*?\$\1\$|--[^\n]*|'(?:[^']|'')*'|(?P<end>;)", re.DOTALL)
"""The end of a statement, and constructs that may contain semicolons."""

_LEDGER = """
CREATE TABLE IF NOT EXISTS migrations (
    name text PRIMARY KEY,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    -- Of a migration that takes something away, the version since which nothing uses it: an older
    -- one must not run on the schema.
    unused_since text
)
"""
_CONTRACTS = ".contract"
_UNUSED_SINCE = re.compile(r"-- Unused since (\d+\.\d+\.\d+): \S")


TAKE_ALONG = (
    "export what it holds with the version that made it (`headwater export`), and import that into"
    " a new installation of this version (`headwater import`)"
)
"""Advice for a schema from before the first release, which no migration can upgrade."""


class Migration(NamedTuple):
    name: str
    sql: str
    unused_since: str | None = None
    """The version that stopped using what this migration removes."""


@dataclass(frozen=True)
class SchemaState:
    missing_names: tuple[str, ...]
    unknown: tuple[str, ...]
    """Newer migrations that remove something this version uses."""
    newer: tuple[str, ...] = ()
    """Newer migrations that this version can work with."""
    is_foreign: bool = False
    """True if the schema began with another first migration."""

    @property
    def is_current(self) -> bool:
        return not self.missing_names and not self.unknown and not self.is_foreign


def migrations() -> list[Migration]:
    folder = files("headwater.database").joinpath("migrations")
    return sorted(
        read_migration(entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    )


def read_migration(stem: str, sql: str) -> Migration:
    """Raises Failure for a contracting migration without a version."""
    if not stem.endswith(_CONTRACTS):
        return Migration(stem, sql)
    match = _UNUSED_SINCE.match(sql)
    if match is None:
        raise Failure(f"{stem}.sql has to begin with `-- Unused since VERSION: what`")
    return Migration(stem.removesuffix(_CONTRACTS), sql, match[1])


def migrate(url: str) -> list[str]:
    """Apply the missing migrations and return their names.

    Raises Failure if the database is unsuitable or began with another schema, if an applied file was
    edited, if a newer version's migration removed something in use, if a table stays in use for ten minutes,
    or if the user may not create tables.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        _refuse_unsuitable(connection, url)
        connection.execute("SET statement_timeout = 0")  # the operator may have limited Headwater's user
        connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        _make_ledger(connection)
        own_migrations = migrations()
        applied_migrations = _read_ledger(connection)
        if _is_foreign(applied_migrations):
            raise Failure(
                "the database was made by a version of Headwater from before the first release,"
                f" with another schema: {TAKE_ALONG}"
            )
        _refuse_drift(own_migrations, applied_migrations)
        missing_migrations = [
            migration for migration in own_migrations if migration.name not in applied_migrations
        ]
        connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{LOCK_SECONDS:.3f}s",))
        for migration in missing_migrations:
            _persist(migration.name, lambda migration=migration: _apply(connection, migration))
        _persist("row-level security", lambda: protect(connection))
        return [migration.name for migration in missing_migrations]


def _refuse_unsuitable(connection: psycopg.Connection, url: str) -> None:
    explanation = explain_unsuitable(connection, url)
    if explanation is not None:
        raise Failure(explanation)


def _make_ledger(connection: psycopg.Connection) -> None:
    try:
        connection.execute(_LEDGER)
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidSchemaName) as error:
        raise Failure(
            f"tables cannot be created ({error.diag.message_primary}): make Headwater's user the owner of"
            " the database, with a schema in its search_path"
        ) from None


def compare_schema(connection: psycopg.Connection[Any]) -> SchemaState:
    """Compare without changes."""
    own_names = {migration.name for migration in migrations()}
    try:
        applied_migrations = _read_ledger(connection)
    except psycopg.errors.UndefinedTable:
        applied_migrations = dict[str, _Applied]()
    if _is_foreign(applied_migrations):
        return SchemaState((), (), is_foreign=True)
    unknown_migrations = {name: entry for name, entry in applied_migrations.items() if name not in own_names}
    newer = {name for name, entry in unknown_migrations.items() if entry.leaves_what_is_used}
    return SchemaState(
        tuple(sorted(own_names - applied_migrations.keys())),
        tuple(sorted(unknown_migrations.keys() - newer)),
        tuple(sorted(newer)),
    )


class _Applied(NamedTuple):
    checksum: str
    unused_since: str | None

    @property
    def leaves_what_is_used(self) -> bool:
        """True if this version works after it, known or not."""
        return self.unused_since is None or _number(self.unused_since) <= _number(__version__)


def _read_ledger(connection: psycopg.Connection[Any]) -> dict[str, _Applied]:
    # A refused database may lack the last column.
    rows = connection.execute("SELECT name, checksum, to_jsonb(m) ->> 'unused_since' FROM migrations m")
    return {name: _Applied(checksum, unused_since) for name, checksum, unused_since in rows}


def schema_checksum() -> str:
    """Return the first migration's checksum: databases with another cannot be migrated."""
    return _checksum(migrations()[0].sql)


def _is_foreign(applied: dict[str, _Applied]) -> bool:
    first = applied.get(migrations()[0].name)
    return bool(applied) and (first is None or first.checksum != schema_checksum())


def _persist(name: str, step: Callable[[], None]) -> None:
    """Retry a step that changes tables in use. Later statements wait behind each attempt, so its wait is
    bounded.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            step()
        except psycopg.errors.LockNotAvailable:
            if time.monotonic() > deadline:
                raise Failure(
                    f"{name}: a table that it changes was in use for {PATIENCE_SECONDS:.0f} s,"
                    " by a backup or a long report; try again later"
                ) from None
            time.sleep(PAUSE_SECONDS)
        else:
            return


def _apply(connection: psycopg.Connection, migration: Migration) -> None:
    with connection.transaction():
        for statement in split_statements(migration.sql):
            connection.execute(SQL(cast("LiteralString", statement)))
        connection.execute(
            "INSERT INTO migrations (name, checksum, unused_since) VALUES (%s, %s, %s)",
            (migration.name, _checksum(migration.sql), migration.unused_since),
        )


def split_statements(sql: str) -> list[str]:
    """Split a migration into statements: a cluster's nodes accept only one at a time."""
    ends = [match.end() for match in _END.finditer(sql) if match["end"]]
    pieces = [sql[start:end] for start, end in pairwise([0, *ends, len(sql)])]
    return [statement for statement in pieces if _WORDS.search(_COMMENT.sub("", statement))]


def _refuse_drift(own_migrations: Sequence[Migration], applied: dict[str, _Applied]) -> None:
    checksums = {migration.name: _checksum(migration.sql) for migration in own_migrations}
    for name, entry in applied.items():
        if name not in checksums:
            if not entry.leaves_what_is_used:
                raise Failure(
                    f"the database has migration {name!r}, which removes something this version uses:"
                    f" run {entry.unused_since} or newer"
                )
        elif checksums[name] != entry.checksum:
            raise Failure(f"migration {name!r} was edited after it had been applied")


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _checksum(sql: str) -> str:
    return hashlib.sha256(sql.encode()).hexdigest()
