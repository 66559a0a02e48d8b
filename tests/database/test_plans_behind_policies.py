"""With a row policy, an index is searched only by conditions that can't leak data: comparisons of columns
with values or with other tables' columns. Conditions with a function of a column or a subquery are checked
row by row. This test finds every statement with that problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, LiteralString, cast

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from headwater.database.row_security import fetch_role, queries
from tests.house.test_house import SPANS_SPACES, statements
from tests.support.factories import Stage

PARAMETER = re.compile(r"%\((\w+)\)s")
AGE = re.compile(r"((?:now|clock_timestamp)\(\) [-+] )(%\(\w+\)s)")
"""The planner needs to know that a difference between times is an interval."""
NOT_PLANNED = (
    psycopg.errors.SyntaxError,
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.DatatypeMismatch,
)
"""Errors for parts of statements, for statements on temporary or cluster-only tables, and for a few
parameters whose type the planner can't infer.
"""
FIRST_WITH_STATISTICS = 180_000
LARGE = """
SELECT pg_restore_relation_stats('schemaname', current_schema()::text, 'relname', c.relname::text,
    'relpages', 1, 'reltuples', CASE pg_relation_size(c.oid) WHEN 0 THEN -1 ELSE 1e6 END::real)
FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'i')
"""
"""A million rows per page. For a table without a page, the planner assumes some by itself."""
COMPARISON = re.compile(r"\w+ [<>=]+ (?:ANY \()?[$\w]+")
"""Conditions that a policy allows. The planner may still choose not to search by them."""
Conditions = set[str]


def plannable() -> Iterator[tuple[str, str]]:
    """Yield the statements within a Space, with numbered parameters."""
    for name, sql in statements():
        if name in SPANS_SPACES or "{" in sql or "%(space_id)s" not in sql:
            continue
        names: dict[str, str] = {}
        text = PARAMETER.sub(
            lambda found, names=names: names.setdefault(found[1], f"${1 + len(names)}"),
            AGE.sub(r"\1\2::interval", sql),
        )
        yield name, text.replace("%%", "%").strip().rstrip(";")


@pytest.fixture
def planner(stage: Stage) -> Iterator[psycopg.Connection]:
    """A session whose planner treats every table as large, and uses indexes wherever it can."""
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "direct")
    stage.add_delivery(stage.destination(), stage.event(contact_id))
    connection = stage.connection
    if connection.info.server_version < FIRST_WITH_STATISTICS:
        pytest.skip("PostgreSQL takes statistics from 18 on")
    with connection.transaction(force_rollback=True):
        connection.execute(LARGE)
        for name in ("enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin"):
            connection.execute(SQL("SET LOCAL {} = off").format(Identifier(name)))
        yield connection


def conditions(planner: psycopg.Connection, sql: str) -> tuple[Conditions, Conditions]:
    """Return the conditions for index searches, and those that are checked row by row."""
    explain = SQL("EXPLAIN (GENERIC_PLAN, FORMAT JSON) {}").format(SQL(cast("LiteralString", sql)))
    row = planner.execute(explain, prepare=False).fetchone()
    assert row is not None
    index_conditions: Conditions = set()
    filter_conditions: Conditions = set()
    for statement in row[0]:  # empty where a rule does nothing instead
        gather(statement["Plan"], index_conditions, filter_conditions)
    return index_conditions, filter_conditions


def gather(node: dict[str, Any], index_conditions: Conditions, filter_conditions: Conditions) -> None:
    index_conditions |= parts(node.get("Index Cond", ""))
    filter_conditions |= parts(node.get("Filter", "")) | parts(node.get("Join Filter", ""))
    for child in node.get("Plans", []):
        gather(child, index_conditions, filter_conditions)


def parts(condition: str) -> Conditions:
    """Return a condition's parts, without table names and outer parentheses."""
    plain = re.sub(r"\b\w+\.", "", condition)
    return {condition_part.strip("()") for condition_part in plain.split(" AND ") if condition_part}


def find_lost_conditions(planner: psycopg.Connection, sql: str) -> Conditions:
    """Return the conditions that an index is searched by in an unconfined session but not in a confined
    one.
    """
    with planner.transaction(force_rollback=True):
        open_conditions, _ = conditions(planner, sql)
        role = fetch_role(planner).usable_name
        planner.execute(queries["confine"], {"space_id": 1, "role": role, "local": True})
        confined_conditions, filter_conditions = conditions(planner, sql)
    return {
        condition
        for condition in (open_conditions - confined_conditions) & filter_conditions
        if not COMPARISON.fullmatch(condition)
    }


def test_it_works(planner: psycopg.Connection) -> None:
    lost_conditions: dict[str, Conditions] = {}
    for name, sql in plannable():
        with suppress(*NOT_PLANNED):
            lost_conditions[name] = find_lost_conditions(planner, sql)
    assert len(lost_conditions) > 250
    assert {name: lost_parts for name, lost_parts in lost_conditions.items() if lost_parts} == {}


@pytest.mark.parametrize(
    "condition",
    [
        "e.event_time >= d.day::timestamp AT TIME ZONE 'UTC'",
        "e.id <= coalesce((SELECT max(s.id) FROM days s), 7)",
        "e.id = ANY(ARRAY(SELECT d.id UNION ALL SELECT 7))",
    ],
)
def test_a_condition_that_leaks_is_seen(planner: psycopg.Connection, condition: str) -> None:
    sql = (
        "WITH days AS MATERIALIZED (SELECT $2::date AS day, $3::bigint AS id)"
        f" SELECT e.currency FROM days d JOIN events e ON e.space_id = $1 AND {condition}"
    )
    assert find_lost_conditions(planner, sql)
