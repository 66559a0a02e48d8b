"""A snapshot of a database: its row counts, and the name under which pg_dump reads it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

import psycopg
from psycopg import Connection, IsolationLevel
from psycopg.sql import Identifier

from headwater.database.installation import fetch_description
from headwater.database.queries import fetch_row
from headwater.operations.backups.records import queries

CONNECT_SECONDS = 10
NOT_DUMPED = "installation"
"""A table whose only row is in the manifest, because the dump must not contain the secret key."""


class Snapshot(NamedTuple):
    """The database as seen by one transaction, valid until that ends."""

    name: str
    taken_at: datetime
    server_version: str
    server_major: int
    migrations: list[str]
    schema: str
    installation: dict[str, Any]
    tables: dict[str, int]


@contextmanager
def take_snapshot(url: str) -> Generator[Snapshot]:
    """Yield a snapshot that other sessions can read until the block ends."""
    with psycopg.connect(url, connect_timeout=CONNECT_SECONDS) as connection:
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.execute(queries["endure"])
        row = fetch_row(connection, queries["snapshot"])
        major = connection.info.server_version // 10_000
        migrations = connection.execute(queries["migrations"]).fetchall()
        yield Snapshot(
            name=row[0],
            taken_at=row[1],
            server_version=row[2],
            server_major=major,
            migrations=[name for name, _ in migrations],
            schema=migrations[0][1],
            installation=fetch_description(connection),
            tables=count_rows(connection),
        )


def count_rows(connection: Connection[Any]) -> dict[str, int]:
    tables = [name for (name,) in connection.execute(queries["tables"]).fetchall()]
    counts: dict[str, int] = {}
    for table in tables:
        statement = queries["count"].format(table=Identifier(table))
        row = fetch_row(connection, statement)
        counts[table] = row[0]
    return counts
