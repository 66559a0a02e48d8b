"""The migration of a database to the schema of this version: ordered SQL files, each applied once.

Every file runs in a transaction of its own together with the row that records it, so a killed
migration leaves either all of a file or nothing. An advisory lock lets one process migrate at a
time; it is held by the connection, so a killed process never leaves it behind.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, LiteralString, cast

import psycopg
from psycopg.sql import SQL

from headwater.database.row_security import protect

LOCK = 0x48454144  # "HEAD": one key for every Headwater process on the database

_LEDGER = """
CREATE TABLE IF NOT EXISTS migrations (
    name text PRIMARY KEY,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""


class MigrationError(RuntimeError):
    """The database cannot be brought to this version's schema."""


@dataclass(frozen=True)
class SchemaState:
    """A database's schema beside this version's, by the names of migrations."""

    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    """Those of a newer version."""

    @property
    def is_current(self) -> bool:
        return not self.missing and not self.unknown


def migrations() -> list[tuple[str, str]]:
    """Return every migration of this version as (name, SQL), in the order of application."""
    folder = files("headwater.database").joinpath("migrations")
    return sorted(
        (entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    )


def migrate(url: str) -> list[str]:
    """Apply the missing migrations and return their names.

    Raises MigrationError when an applied file has since been edited, or when the database holds
    migrations this version does not know: older code must not write to a newer schema.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        connection.execute(_LEDGER)
        known = migrations()
        applied = dict(connection.execute("SELECT name, checksum FROM migrations").fetchall())
        _refuse_drift(dict(known), applied)
        missing = [(name, sql) for name, sql in known if name not in applied]
        for name, sql in missing:
            _apply(connection, name, sql)
        protect(connection)
        return [name for name, _ in missing]


def compare_schema(connection: psycopg.Connection[Any]) -> SchemaState:
    """Return what the database's schema lacks or has beyond this version's, changing nothing."""
    known = {name for name, _ in migrations()}
    try:
        applied = {name for (name,) in connection.execute("SELECT name FROM migrations")}
    except psycopg.errors.UndefinedTable:
        applied = set[str]()
    return SchemaState(tuple(sorted(known - applied)), tuple(sorted(applied - known)))


def _apply(connection: psycopg.Connection, name: str, sql: str) -> None:
    with connection.transaction():
        connection.execute(SQL(cast("LiteralString", sql)))
        connection.execute(
            "INSERT INTO migrations (name, checksum) VALUES (%s, %s)", (name, _checksum(sql))
        )


def _refuse_drift(known: dict[str, str], applied: dict[str, str]) -> None:
    for name, checksum in applied.items():
        if name not in known:
            raise MigrationError(f"the database has migration {name!r}, which this version lacks")
        if _checksum(known[name]) != checksum:
            raise MigrationError(f"migration {name!r} was edited after it had been applied")


def _checksum(sql: str) -> str:
    return hashlib.sha256(sql.encode()).hexdigest()
