"""SQL rules for tables that are distributed by Space over nodes (Citus). They are checked on every statement
without a cluster. Each fault here occurred on a cluster: some fail with an error, some silently.

    INSERT … RETURNING id            returns ids node by node: receipts go to the wrong requests
    SELECT … FROM spaces FOR UPDATE  locks the table on every node: one Space at a time
    nextval together with a table    is drawn on a node, from that node's own numbers
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from pglast import ast

from headwater.database.cluster.tables import DISTRIBUTED, FIRST_NODE, QUEUES, REFERENCE
from tests.house.test_house import SPANS_SPACES, statements
from tests.support.statement_trees import (
    Volatility,
    calls,
    changes,
    find_nodes,
    locked_tables,
    parse_statements,
    tables_in,
    writes,
)

LOCKS_EVERY_NODE: dict[str, str] = {
    "spaces/accounts/attempts.sql::tidy": "attempts to log in, now and then",
    "spaces/keys.sql::rotated": "keys are rotated rarely",
    "spaces/accounts/members.sql::lock": "members are changed rarely",
    "intake/webhooks/webhooks.sql::credentials": "so are the secrets of webhooks",
}
"""Statements that lock rows of a reference table, with the reason."""

COPIED: dict[str, str] = {"privacy/erasures.sql::request_again": "once, when a backup is restored"}
"""Statements that write rows of several Spaces from a subquery, with the reason."""

NUMBERED = frozenset((
    "ad_names", "alert_steps", "alerts", "channels", "chart_notes", "companies", "contacts",
    "custom_alert_rules", "deliveries", "delivery_attempts", "destinations", "erasures",
    "export_schedules", "exports",
    "trained_models", "import_jobs", "merges", "messages", "pending_paths", "rates", "saved_views",
    "scheduled_reports", "spend", "spend_connections", "watched_files",
    "webhook_deliveries",
))  # fmt: skip
"""Distributed tables whose rows PostgreSQL numbers, as `id` or `number`, if the statement doesn't."""


def recursion(statement_name: str, tree: Any, _: Volatility) -> bool:
    """1. A recursive query across Spaces on several nodes."""
    return (
        statement_name in SPANS_SPACES
        and uses_other_nodes(tree)
        and any(clause.recursive for clause in find_nodes(tree, ast.WithClause))
    )


def uses_other_nodes(tree: Any) -> bool:
    """Return whether a statement has tables that are not only on the first node."""
    return any(table.relname not in (*QUEUES, *FIRST_NODE) for table in tables_in(tree))


def generic_plan(_: str, tree: Any, __: Volatility) -> bool:
    """2. Generic plans, where the values may decide on the node."""
    words = {word.sval.partition(".")[0] for word in find_nodes(tree, ast.String)}
    return "force_generic_plan" in words and "citus" not in words


def no_columns(statement_name: str, tree: Any, _: Volatility) -> bool:
    """3. A subquery without columns in a query across nodes, after a change of a reference table in WITH, or
    of a queue together with their tables.
    """
    return any(
        statement_name in SPANS_SPACES
        or (uses_other_nodes(tree) and (changes_first(tree) or reads_queue(select)))
        for select in find_nodes(tree, ast.SelectStmt)
        if not (select.targetList or select.valuesLists or select.larg)
    )


def changes_first(tree: Any) -> bool:
    steps = [step.ctequery for step in find_nodes(tree, ast.CommonTableExpr)]
    return any(write.relation.relname in REFERENCE for write in writes(steps))


def reads_queue(select: Any) -> bool:
    return any(table.relname in QUEUES for table in find_nodes(select.fromClause, ast.RangeVar))


def volatile(_: str, tree: Any, volatility: Volatility) -> bool:
    """4. A volatile function in a change."""
    return any(calls(changes(write), volatility, "v") for write in writes(tree))


def stable_column_function(_: str, tree: Any, volatility: Volatility) -> bool:
    """5. A stable function of a column in a change. Adding an interval to a time is one."""
    return any(
        find_nodes(node, ast.ColumnRef)
        and (is_moved(node) or (isinstance(node, ast.FuncCall) and calls(node, volatility, "s")))
        for write in writes(tree)
        for node in find_nodes(changes(write), ast.A_Expr, ast.FuncCall)
    )


def is_moved(node: Any) -> bool:
    """Return whether an interval is added to a time. A parameter may be an interval, and columns of times
    have such names.
    """
    if not isinstance(node, ast.A_Expr) or node.name[-1].sval not in {"+", "-"}:
        return False
    operands = [node.lexpr, node.rexpr]
    if any(cast.typeName.names[-1].sval == "interval" for cast in find_nodes(operands, ast.TypeCast)):
        return True
    return any(isinstance(operand, ast.A_Const) for operand in operands) and any(map(is_time, operands))


def is_time(node: Any) -> bool:
    if isinstance(node, ast.FuncCall):
        return node.funcname[-1].sval in {"now", "to_timestamp"}
    return isinstance(node, ast.ColumnRef) and node.fields[-1].sval.endswith(("_at", "_until", "since"))


def unsure_function(_: str, tree: Any, volatility: Volatility) -> bool:
    """6. A function that isn't immutable in CASE, COALESCE, ON CONFLICT or RETURNING of a change."""
    return any(
        calls(write.returningClause, volatility, "sv")
        or any(
            calls(choice, volatility, "sv") or any(map(is_moved, find_nodes(choice, ast.A_Expr)))
            for choice in find_nodes(changes(write), ast.CaseExpr, ast.CoalesceExpr)
        )
        or (isinstance(write, ast.InsertStmt) and calls(changes(write), volatility, "sv"))
        for write in writes(tree)
    )


def returned_numbers(_: str, tree: Any, __: Volatility) -> bool:
    """7. Numbers of several rows that only RETURNING reports, in no order that assigns them to rows."""
    return any(
        is_many(write) and not returned_columns(write) & {column.name for column in write.cols or ()}
        for write in find_nodes(tree, ast.InsertStmt)
        if write.returningClause is not None and write.relation.relname not in QUEUES
    )


def is_many(write: Any) -> bool:
    source = write.selectStmt
    return len(source.valuesLists or ()) > 1 or source.fromClause is not None


def returned_columns(write: Any) -> set[str]:
    """Return the columns that an INSERT returns unchanged."""
    return {
        target.val.fields[-1].sval
        for target in write.returningClause.exprs
        if isinstance(target.val, ast.ColumnRef) and isinstance(target.val.fields[-1], ast.String)
    }


def reference_row_lock(statement_name: str, tree: Any, _: Volatility) -> bool:
    """8. A row lock in a reference table."""
    return statement_name not in LOCKS_EVERY_NODE and any(
        table in REFERENCE
        for select in find_nodes(tree, ast.SelectStmt)
        for clause in select.lockingClause or ()
        for table in locked_tables(select, clause)
    )


def number_drawn_on_node(_: str, tree: Any, __: Volatility) -> bool:
    """9. A number drawn together with a table, and not for a single inserted row."""
    draws = [
        call for call in find_nodes(tree, ast.FuncCall)
        if call.funcname[-1].sval in {"currval", "lastval", "nextval", "setval"}
    ]  # fmt: skip
    single = isinstance(tree, ast.InsertStmt) and not is_many(tree)
    return bool(draws) and not single and bool(tables_in(tree))


def copied_subquery(statement_name: str, tree: Any, _: Volatility) -> bool:
    """10. Rows of several Spaces inserted from a subquery, which is copied to every shard."""
    return statement_name in SPANS_SPACES and statement_name not in COPIED and any(
        write.relation.relname in DISTRIBUTED
        and not (write.selectStmt is not None and write.selectStmt.valuesLists)
        for write in find_nodes(tree, ast.InsertStmt)
    )  # fmt: skip


def limited_lateral(_: str, tree: Any, __: Volatility) -> bool:
    """11. An INSERT from a lateral subquery with OFFSET or LIMIT, which is only allowed in a CTE."""
    return any(
        lateral.lateral and (lateral.subquery.limitOffset or lateral.subquery.limitCount)
        for write in find_nodes(tree, ast.InsertStmt)
        if write.selectStmt is not None
        for lateral in find_nodes(
            [write.selectStmt.fromClause, write.selectStmt.targetList], ast.RangeSubselect
        )
    )


def compared_case(_: str, tree: Any, __: Volatility) -> bool:
    """12. CASE of a value in a change: nodes receive its comparisons without the compared value."""
    cases = find_nodes([changes(write) for write in writes(tree)], ast.CaseExpr)
    return any(case.arg is not None for case in cases)


def lock_timeout_in_query(_: str, tree: Any, __: Volatility) -> bool:
    """13. A lock timeout set by a query: nodes only receive settings made by a statement."""
    return any(
        call.funcname[-1].sval == "set_config"
        and any(word.sval == "lock_timeout" for word in find_nodes(call.args[0], ast.String))
        and any(local.boolval for local in find_nodes(call.args[2], ast.Boolean))
        for call in find_nodes(tree, ast.FuncCall)
    )


def numbering_insert(_: str, tree: Any, __: Volatility) -> bool:
    """14. Rows of a table inserted directly into one that numbers them: every shard is read."""
    return any(
        write.relation.relname in NUMBERED
        and not {column.name for column in write.cols or ()} & {"id", "number"}
        and any(table.relname in DISTRIBUTED for table in find_nodes(source, ast.RangeVar))
        and not find_nodes(source, ast.RangeFunction, ast.RangeSubselect)
        for write in find_nodes(tree, ast.InsertStmt)
        if (source := write.selectStmt and write.selectStmt.fromClause)
    )


def lookup_on_node(statement_name: str, tree: Any, _: Volatility) -> bool:
    """15. A value from a distributed table for each row of reference tables: Citus refuses it."""
    return statement_name in SPANS_SPACES and any(
        tables and all(table.relname in REFERENCE for table in tables)
        for select in find_nodes(tree, ast.SelectStmt)
        if any(table.relname in DISTRIBUTED for table in find_nodes(select.targetList, ast.RangeVar))
        and (tables := find_nodes(select.fromClause, ast.RangeVar))
    )


def unordered_choice(_: str, tree: Any, __: Volatility) -> bool:
    """16. A change of a reference table that selects some rows without an order: each node selects others."""
    return any(
        select.limitCount is not None and not select.sortClause
        for write in writes(tree)
        if write.relation.relname in REFERENCE
        for select in find_nodes(changes(write), ast.SelectStmt)
    )


RULES: tuple[Callable[[str, Any, Volatility], bool], ...] = (
    recursion, generic_plan, no_columns, volatile, stable_column_function, unsure_function, returned_numbers,
    reference_row_lock, number_drawn_on_node, copied_subquery, limited_lateral, compared_case,
    lock_timeout_in_query, numbering_insert, lookup_on_node, unordered_choice,
)  # fmt: skip

SINGLE: dict[str, str] = {"attribution/paths/builder.sql::spaces": "spaces_of_nodes is its other form"}
"""Statements that don't run in a cluster, with their replacements."""


OF_QUEUES: dict[str, str] = {"intake/inbox/queue.sql::hop": "from Space to Space along a queue"}
"""Parts of statements that are only about the first node's queues, with their purpose."""


def find_broken_rules(statement_name: str, sql: str, volatility: Volatility) -> list[str]:
    """Return the names of the rules that a statement breaks."""
    return [
        rule.__name__
        for rule in RULES
        if any(rule(statement_name, tree, volatility) for tree in parse_statements(sql))
    ]


@pytest.fixture(scope="module")
def volatility(database_url: str) -> Volatility:
    """The highest volatility for each name and number of arguments, without functions in SQL, which the
    planner inlines.
    """
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "SELECT p.proname || '/' || p.pronargs, max(p.provolatile) FROM pg_proc p"
            " JOIN pg_language l ON l.oid = p.prolang AND l.lanname <> 'sql' GROUP BY 1"
        )
        return dict(rows.fetchall())


def test_it_works(volatility: Volatility) -> None:
    """Every statement follows every rule."""
    broken_rules = {
        name: names
        for name, sql in statements()
        if name not in SINGLE and (names := find_broken_rules(name, sql, volatility))
    }
    assert broken_rules == {}


PLANTED = {
    "recursion": (
        "WITH RECURSIVE hop (space_id) AS ((SELECT min(e.space_id) FROM erasures e) UNION ALL"
        " SELECT (SELECT min(e.space_id) FROM erasures e WHERE e.space_id > hop.space_id) FROM hop"
        " WHERE hop.space_id IS NOT NULL) SELECT hop.space_id FROM hop"
    ),
    "generic_plan": "SELECT set_config('plan_cache_mode', 'force_generic_plan', false)",
    "no_columns": "SELECT EXISTS (SELECT FROM erasures e WHERE e.erased_at IS NULL)",
    "no_columns after a change": (
        "WITH seen AS (UPDATE sessions SET last_seen_at = now() WHERE id = 1)"
        " SELECT s.id FROM sessions s WHERE NOT EXISTS (SELECT FROM sso_password_users)"
    ),
    "volatile": "UPDATE erasures e SET erased_at = clock_timestamp() WHERE e.space_id = 1",
    "stable_column_function": (
        "UPDATE erasures e SET retry_at = now() + e.attempts * interval '1 second' WHERE e.space_id = 1"
    ),
    "unsure_function": "UPDATE deliveries d SET finished_at = coalesce(d.finished_at, now())",
    "unsure_function of a sum": (
        "UPDATE spend_connections c SET next_wide_pull_at = CASE WHEN %(is_wide)s"
        " THEN to_timestamp(%(now)s) + %(pause)s ELSE c.next_wide_pull_at END WHERE c.space_id = 1"
    ),
    "stable_column_function with a parameter": (
        "UPDATE failed_jobs f SET since = f.failed_at - %(forgotten)s WHERE f.space_id = 1"
    ),
    "returned_numbers": (
        "INSERT INTO erasures (space_id, contact_id, receipt_mark) VALUES {rows} RETURNING id"
    ),
    "reference_row_lock": "SELECT s.id FROM spaces s WHERE s.id = 1 FOR NO KEY UPDATE SKIP LOCKED",
    "number_drawn_on_node": (
        "INSERT INTO contact_identifiers (space_id, since) SELECT 1, nextval('receipt_ids')"
        " FROM json_to_recordset('[]') AS v (kind text), contacts"
    ),
    "copied_subquery": (
        "INSERT INTO duplicates (space_id, id) SELECT s, i"
        " FROM ROWS FROM (unnest(%(spaces)s::bigint[]), unnest(%(ids)s::bigint[])) AS r (s, i)"
    ),
    "limited_lateral": (
        "INSERT INTO pending_paths (space_id, event_id) SELECT 1, later.id"
        " FROM json_to_recordset('[]') AS t (contact_id bigint) CROSS JOIN LATERAL (SELECT e.id"
        " FROM events e WHERE e.space_id = 1 AND e.contact_id = t.contact_id OFFSET 0) later"
    ),
    "no_columns of a queue": (
        "SELECT (SELECT count(*) FROM (SELECT FROM rejected r WHERE r.space_id = e.space_id) r)"
        " FROM erasures e WHERE e.space_id = 1"
    ),
    "lock_timeout_in_query": "SELECT set_config('lock_timeout', %(patience)s, true)",
    "numbering_insert": (
        "INSERT INTO pending_paths (space_id, day, event_id) SELECT %(space_id)s,"
        " e.event_time::date, e.id FROM events e WHERE e.space_id = %(space_id)s"
    ),
    "lookup_on_node": (
        "SELECT s.id, ARRAY(SELECT c.name FROM channels c WHERE c.space_id = s.id) FROM spaces s"
    ),
    "unordered_choice": (
        "DELETE FROM attempts WHERE subject IN"
        " (SELECT subject FROM attempts WHERE expires_at < now() LIMIT 1000)"
    ),
    "compared_case": "UPDATE imports SET status = CASE status WHEN 'a' THEN 'b' END WHERE space_id = 1",
}
"""Each fault as it once occurred."""


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str, volatility: Volatility) -> None:
    spans = fault in {"recursion", "no_columns", "copied_subquery", "lookup_on_node"}
    name = "intake/inbox/queue.sql::newest" if spans else "events/events.sql::planted"
    assert find_broken_rules(name, PLANTED[fault], volatility) == [fault.partition(" ")[0]]


def test_every_rule_has_its_fault_planted() -> None:
    assert {rule.__name__ for rule in RULES} == {fault.partition(" ")[0] for fault in PLANTED}


def test_what_is_no_statement_writes_nothing() -> None:
    """A part of a statement isn't parsed, so it must not contain anything that the rules check."""
    parts = [
        (name, sql)
        for name, sql in statements()
        if name not in SINGLE and name not in OF_QUEUES and not parse_statements(sql)
    ]
    writing_words = re.compile(r"\b(INSERT|UPDATE|DELETE|nextval|RECURSIVE|FOR (NO KEY )?UPDATE)\b")
    assert [name for name, sql in parts if writing_words.search(sql)] == []
