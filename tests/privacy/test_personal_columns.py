"""Every column has a declaration of the personal data it can hold, and the database keeps no samples of
columns with personal data.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import psycopg
import pytest

from headwater.events import accepted as events
from headwater.events.accepted import AcceptedEvent
from headwater.events.browsing import accepted as browsing
from headwater.events.browsing.accepted import AcceptedHit, AcceptedPerson
from headwater.events.touchpoints import accepted as touchpoints
from headwater.events.touchpoints.accepted import AcceptedTouchpoint
from headwater.privacy.columns import COLUMNS, Column, PersonalData, list_personal_columns, read_columns

CAN_HOLD = {column for column, holds in COLUMNS.items() if holds is not PersonalData.NONE}

SAMPLED_COLUMNS = """
SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0
  AND NOT a.attisdropped AND a.attstattarget IS DISTINCT FROM 0
"""
# For an index on an expression: every column that the table's expressions could read.
SAMPLED_EXPRESSIONS = """
SELECT t.relname, a.attname
FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
JOIN pg_attribute e ON e.attrelid = i.indexrelid AND e.attstattarget IS DISTINCT FROM 0
  AND i.indkey[e.attnum - 1] = 0
JOIN pg_depend d ON d.objid = i.indexrelid AND d.classid = 'pg_class'::regclass
  AND d.refobjid = t.oid
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
WHERE t.relnamespace = 'public'::regnamespace AND i.indexprs IS NOT NULL
"""
EXTENDED_STATISTICS = """
SELECT t.relname, a.attname
FROM pg_statistic_ext s JOIN pg_class t ON t.oid = s.stxrelid
JOIN pg_depend d ON d.objid = s.oid AND d.classid = 'pg_statistic_ext'::regclass
  AND d.refobjid = t.oid
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
WHERE t.relnamespace = 'public'::regnamespace
"""


@pytest.fixture
def schema_connection(connection: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """A connection whose schema changes are rolled back."""
    with connection.transaction(force_rollback=True):
        yield connection


def schema(connection: psycopg.Connection) -> set[Column]:
    cursor = connection.execute(
        "SELECT c.table_name, c.column_name FROM information_schema.columns c"
        " JOIN information_schema.tables t USING (table_schema, table_name)"
        " WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'"
    )
    return set(cursor.fetchall())


def sampled_columns(connection: psycopg.Connection) -> set[Column]:
    """Return the columns that can hold personal data and have sampled statistics."""
    queries = (SAMPLED_COLUMNS, SAMPLED_EXPRESSIONS, EXTENDED_STATISTICS)
    columns = {row for query in queries for row in connection.execute(query).fetchall()}
    return columns & CAN_HOLD


def test_it_works(connection: psycopg.Connection) -> None:
    """The error names a column that isn't declared, or is declared but missing."""
    assert schema(connection) == set(COLUMNS)


def test_no_samples_are_kept(connection: psycopg.Connection) -> None:
    assert CAN_HOLD
    assert sampled_columns(connection) == set()


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ("ALTER TABLE contacts ALTER COLUMN email SET STATISTICS -1", ("contacts", "email")),
        ("CREATE INDEX ON contacts (space_id, lower(phone))", ("contacts", "phone")),
        ("CREATE STATISTICS s ON city, state FROM contacts", ("contacts", "city")),
    ],
)
def test_samples_would_be_noticed(schema_connection: psycopg.Connection, change: str, column: Column) -> None:
    schema_connection.execute(change)
    assert column in sampled_columns(schema_connection)


def test_an_undeclared_column_would_be_noticed(schema_connection: psycopg.Connection) -> None:
    schema_connection.execute("ALTER TABLE contacts ADD COLUMN shoe_size text")
    assert schema(schema_connection) - set(COLUMNS) == {("contacts", "shoe_size")}


def test_what_erasing_clears_is_what_is_declared() -> None:
    assert list_personal_columns("events") == ["ip", "user_agent", "cookies", "warnings", "heard_about_us"]
    assert len(list_personal_columns("contacts")) == 11 + 30


@pytest.mark.parametrize(
    "text", ["a: b", "[personal]\na b", "[private]\na: b", "[kept]\na: b\n[none]\na: c b"]
)
def test_a_declaration_that_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_columns(text)


@pytest.mark.parametrize(
    ("payload", "personal_members", "kept_members"),
    [
        (AcceptedEvent, events.PERSONAL_MEMBERS, events.KEPT_MEMBERS),
        (AcceptedTouchpoint, touchpoints.PERSONAL_MEMBERS, touchpoints.KEPT_MEMBERS),
        (AcceptedHit, browsing.PERSONAL_HIT_MEMBERS, browsing.KEPT_HIT_MEMBERS),
        (AcceptedPerson, browsing.PERSONAL_IDENTIFY_MEMBERS, browsing.KEPT_IDENTIFY_MEMBERS),
    ],
)
def test_every_member_of_a_payload_is_declared(
    payload: type, personal_members: frozenset[str], kept_members: frozenset[str]
) -> None:
    members = {field.name for field in msgspec.structs.fields(payload)}
    assert members == personal_members | kept_members
    assert not personal_members & kept_members
