from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg.rows import class_row

from headwater.database.installation import fetch_stored_key
from headwater.database.migrator import SchemaState, compare_schema
from headwater.database.queries import Queries
from headwater.database.row_security import fetch_role, list_unprotected

Facts = TypeVar("Facts")

queries = Queries(__name__, "safety.sql")


@dataclass(frozen=True)
class ServerFacts:
    version: int
    """In the form of `server_version_num`: 180003 is 18.3."""
    version_name: str
    fsync: bool
    synchronous_commit: bool
    full_page_writes: bool
    checksums: bool
    keeps_quiet: bool
    """True if the server's log quotes no statements."""
    is_read_only: bool
    now: datetime
    checkpoint_at: datetime
    """The last checkpoint, by the database's clock."""
    is_remote: bool
    is_encrypted: bool
    is_superuser: bool


@dataclass(frozen=True)
class AccountFacts:
    has_accounts: bool
    is_open: bool
    """True while a link for the first account works."""


@dataclass(frozen=True)
class BackupFacts:
    age: timedelta
    verified: bool
    folder: str


@dataclass(frozen=True)
class DatabaseFacts:
    server: ServerFacts
    schema: SchemaState
    skew: timedelta
    """The lead of this machine's clock over the database's, to within half the query's duration."""
    confines: bool
    """True if row-level security can confine sessions to a Space."""
    open_tables: tuple[str, ...]
    """Tables of Spaces' rows without the policy that confines sessions."""
    is_ours: bool
    accounts: AccountFacts | None = None
    """None, like the next two, if the schema is not this version's."""
    backup: BackupFacts | None = None
    has_stored_key: bool = False

    @property
    def recorded_folder(self) -> Path | None:
        return Path(self.backup.folder) if self.backup else None


def gather_database_facts(connection: psycopg.Connection[Any], *, is_ours: bool) -> DatabaseFacts:
    started_at = time.monotonic()
    server = _fetch(connection, "server", ServerFacts)
    own_time = datetime.now(UTC) - timedelta(seconds=(time.monotonic() - started_at) / 2)
    schema = compare_schema(connection)
    confines = fetch_role(connection).usable_name is not None
    open_tables = tuple(list_unprotected(connection)) if schema.is_current else ()
    facts = DatabaseFacts(server, schema, own_time - server.now, confines, open_tables, is_ours)
    if not schema.is_current:
        return facts
    return replace(
        facts,
        accounts=_fetch(connection, "accounts", AccountFacts),
        backup=_fetch_optional(connection, "backup", BackupFacts),
        has_stored_key=fetch_stored_key(connection) is not None,
    )


def _fetch(connection: psycopg.Connection[Any], statement: str, kind: type[Facts]) -> Facts:
    row = _fetch_optional(connection, statement, kind)
    assert row is not None
    return row


def _fetch_optional(connection: psycopg.Connection[Any], statement: str, kind: type[Facts]) -> Facts | None:
    # Intervals have one binary form; their text follows the server's IntervalStyle.
    with connection.cursor(row_factory=class_row(kind), binary=True) as cursor:
        return cursor.execute(queries[statement]).fetchone()
