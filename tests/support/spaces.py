"""Spaces inserted directly into the database, as `create_space` would."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg import Connection


def insert_space(connection: Connection[Any], **columns: Any) -> int:
    """Insert a Space with these columns and the row that locks it. Return its id."""
    columns = {"name": "Test", **columns}
    names = ", ".join(columns)
    holders = ", ".join(f"%({name})s" for name in columns)
    row = connection.execute(
        f"INSERT INTO spaces ({names}) VALUES ({holders}) RETURNING id", columns
    ).fetchone()
    assert row is not None
    connection.execute("INSERT INTO space_locks (space_id) VALUES (%s)", row)
    return row[0]


def backdate_space(connection: Connection[Any], space_id: int) -> None:
    """Make a Space an hour old, because new ones aren't checked for alerts yet."""
    made_at = datetime.now(UTC) - timedelta(hours=1)
    connection.execute("UPDATE spaces SET created_at = %s WHERE id = %s", (made_at, space_id))
