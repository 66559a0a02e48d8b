"""Statements parsed by PostgreSQL's own grammar, for the rules of a cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pglast import ast, parse_sql
from pglast.parser import ParseError

Volatility = Mapping[str, str]
"""The volatility of every function of the database, by name and number of arguments: i, s or v."""

PARAMETER = re.compile(r"%\(\w+\)s")
COMPOSED = re.compile(r"\{(\w*)\}")
FILLINGS: tuple[dict[str, str], ...] = (
    {"order": "ASC", "types": "a text"},
    {"rows": "(1), (2)", "columns": "a = 1", "cleared": "a = 1", "query": "a"},
    {"rows": "SELECT 1 FROM a", "order": "ASC", "joins": "", "money": "", "direction": ""},
)
"""Substitutes for composed parts, tried in turn. A name replaces all other parts."""


@cache
def parse_statements(sql: str) -> tuple[Any, ...]:
    """Return the statements in a piece of SQL. Return none for a fragment. Parameters become strings."""
    text = PARAMETER.sub("'bound'", sql).strip().rstrip(";")
    for filling in FILLINGS:
        parts = COMPOSED.split(text)
        filled_parts = [
            filling.get(text_part, "composed") if position % 2 else text_part
            for position, text_part in enumerate(parts)
        ]
        try:
            return tuple(raw.stmt for raw in parse_sql("".join(filled_parts)))
        except ParseError:
            continue
    return ()


def nodes(tree: Any) -> Iterator[Any]:
    """Yield a tree's nodes, outer ones first."""
    if isinstance(tree, (tuple, list)):
        for item in tree:
            yield from nodes(item)
    elif isinstance(tree, ast.Node):
        yield tree
        for name in tree:
            yield from nodes(getattr(tree, name))


def find_nodes(tree: Any, *kinds: type) -> list[Any]:
    return [node for node in nodes(tree) if isinstance(node, kinds)]


def calls(tree: Any, volatility: Volatility, kinds: str) -> bool:
    """Return whether a tree calls a function of one of these volatilities."""
    return any(
        volatility.get(f"{call.funcname[-1].sval}/{len(call.args or ())}", "i") in kinds
        for call in find_nodes(tree, ast.FuncCall)
    )


def writes(tree: Any) -> list[Any]:
    return find_nodes(tree, ast.InsertStmt, ast.UpdateStmt, ast.DeleteStmt)


def changes(write: Any) -> list[Any]:
    """Return the parts of a write that a node evaluates for each row."""
    if isinstance(write, ast.InsertStmt):
        conflict = write.onConflictClause
        return [conflict.targetList, conflict.whereClause] if conflict is not None else []
    if isinstance(write, ast.UpdateStmt):
        return [write.targetList, write.whereClause]
    return [write.whereClause]


def tables_in(tree: Any) -> list[Any]:
    cte_names = {cte.ctename for cte in find_nodes(tree, ast.CommonTableExpr)}
    return [table for table in find_nodes(tree, ast.RangeVar) if table.relname not in cte_names]


def locked_tables(select: Any, clause: Any) -> set[str]:
    """Return the tables whose rows a query locks: those that it names, or all."""
    names = {table.relname for table in clause.lockedRels or ()}
    return {
        table.relname
        for table in find_nodes(select.fromClause, ast.RangeVar)
        if not names or (table.alias.aliasname if table.alias else table.relname) in names
    }
