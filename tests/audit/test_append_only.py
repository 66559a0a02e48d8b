"""Entries are only added: a role that serves a Space can't change them, and old entries are deleted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import LiteralString

import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.database.row_security import confined, fetch_role
from headwater.spaces.audit.upkeep import BATCH, tidy

NOW = datetime(2026, 5, 13, 12, tzinfo=UTC)


def add(connection: psycopg.Connection, space_id: int, age: timedelta, count: int = 1) -> None:
    connection.execute(
        "INSERT INTO audit_entries (space_id, occurred_at, way, action, kind, subject_id, changes)"
        " SELECT %s, %s, 'api', 'a', 'event', n, '[]' FROM generate_series(1, %s) n",
        (space_id, NOW - age, count),
    )


def count(connection: psycopg.Connection, space_id: int) -> int:
    row = connection.execute("SELECT count(*) FROM audit_entries WHERE space_id = %s", (space_id,)).fetchone()
    assert row is not None
    return row[0]


def test_it_works(connection: psycopg.Connection, space_id: int) -> None:
    add(connection, space_id, timedelta(days=31))
    add(connection, space_id, timedelta(days=29))
    tidy(connection, Settings(audit_days=30), NOW)
    assert count(connection, space_id) == 1


def test_nothing_is_deleted_without_a_limit(connection: psycopg.Connection, space_id: int) -> None:
    add(connection, space_id, timedelta(days=9999))
    assert not tidy(connection, Settings(), NOW)
    assert count(connection, space_id) == 1


def test_old_entries_go_in_batches(connection: psycopg.Connection, space_id: int) -> None:
    add(connection, space_id, timedelta(days=31), BATCH + 1)
    settings = Settings(audit_days=30)
    while tidy(connection, settings, NOW):
        pass
    assert count(connection, space_id) == 0


def test_without_collectors_nothing_waits_for_them(connection: psycopg.Connection, space_id: int) -> None:
    connection.execute("INSERT INTO unsent_audit_entries (space_id, id) VALUES (%s, 1)", (space_id,))
    tidy(connection, Settings(audit_syslog="tcp://logs.example"), NOW)
    assert connection.execute("SELECT FROM unsent_audit_entries").rowcount > 0
    tidy(connection, Settings(), NOW)
    assert connection.execute("SELECT FROM unsent_audit_entries").rowcount == 0


@pytest.mark.parametrize("statement", ["DELETE FROM audit_entries", "UPDATE audit_entries SET action = 'x'"])
def test_what_serves_a_space_may_only_add(
    connection: psycopg.Connection, make_space: Callable[..., int], statement: LiteralString
) -> None:
    space_id, other_space_id = make_space(), make_space()
    role = fetch_role(connection).usable_name
    assert role is not None
    add(connection, space_id, timedelta())
    with confined(connection, space_id, role):
        add(connection, space_id, timedelta())
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            add(connection, other_space_id, timedelta())
    assert (count(connection, space_id), count(connection, other_space_id)) == (2, 0)
