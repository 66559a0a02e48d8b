"""The schema changes of a migration, read from PostgreSQL's catalogue, and those that would break statements
of the previous version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

COLUMNS = """
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       a.atthasdef OR a.attidentity <> '' OR t.typdefault IS NOT NULL, a.attgenerated <> ''
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_type t ON t.oid = a.atttypid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
  AND a.attnum > 0 AND NOT a.attisdropped
"""
RULES = """
SELECT r.relname, c.conname, c.contype::text, pg_get_constraintdef(c.oid),
       ARRAY(SELECT a.attname FROM pg_attribute a
             WHERE a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey))::text[]
FROM pg_constraint c
JOIN pg_class r ON r.oid = c.conrelid
WHERE r.relnamespace = 'public'::regnamespace AND c.contype IN ('c', 'f', 'p', 'u', 'x')
UNION ALL
SELECT r.relname, i.relname, 'unique', pg_get_indexdef(x.indexrelid),
       ARRAY(SELECT a.attname FROM pg_attribute a
             WHERE a.attrelid = x.indrelid AND a.attnum = ANY(x.indkey::int2[]))::text[]
FROM pg_index x
JOIN pg_class i ON i.oid = x.indexrelid
JOIN pg_class r ON r.oid = x.indrelid
WHERE r.relnamespace = 'public'::regnamespace AND x.indisunique
UNION ALL
SELECT r.relname, t.tgname, 'trigger', pg_get_triggerdef(t.oid), '{}'
FROM pg_trigger t
JOIN pg_class r ON r.oid = t.tgrelid
WHERE r.relnamespace = 'public'::regnamespace AND NOT t.tgisinternal
"""
NAMES = """
SELECT 'function ' || p.oid::regprocedure || ' -> ' || pg_get_function_result(p.oid)
FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
UNION ALL
SELECT 'sequence ' || relname FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'S'
UNION ALL
SELECT 'value ' || t.typname || ' ' || e.enumlabel
FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid
WHERE t.typnamespace = 'public'::regnamespace
"""
FOUND_BY = ("p", "u", "x", "unique")
"""Kinds of rules that `ON CONFLICT` names."""


@dataclass(frozen=True)
class Column:
    """The properties of a column that statements rely on."""

    type: str
    not_null: bool
    has_default: bool
    is_generated: bool

    @property
    def can_be_left_out(self) -> bool:
        return self.has_default or self.is_generated or not self.not_null


@dataclass(frozen=True)
class Rule:
    """A constraint, a unique index or a trigger of a table."""

    kind: str
    definition: str
    columns: frozenset[str]


@dataclass(frozen=True)
class Schema:
    """A schema at one moment."""

    columns: dict[tuple[str, str], Column]
    rules: dict[tuple[str, str], Rule]
    names: frozenset[str]

    @property
    def tables(self) -> set[str]:
        return {table for table, _ in self.columns}


def read_schema(connection: psycopg.Connection[Any]) -> Schema:
    """Read the current schema."""
    return Schema(
        {(table, name): Column(*properties) for table, name, *properties in connection.execute(COLUMNS)},
        {
            (table, name): Rule(kind, text, frozenset(columns))
            for table, name, kind, text, columns in connection.execute(RULES)
        },
        frozenset(name for (name,) in connection.execute(NAMES)),
    )


def breaking(old_schema: Schema, new_schema: Schema) -> list[str]:
    """List the changes that could break statements that worked before."""
    return [
        *_column_changes(old_schema, new_schema),
        *_rule_changes(old_schema, new_schema),
        *_name_changes(old_schema, new_schema),
    ]


def _column_changes(old_schema: Schema, new_schema: Schema) -> Iterator[str]:
    for (table, name), was in old_schema.columns.items():
        now = new_schema.columns.get((table, name))
        if now is None:
            yield f"{table}.{name} is gone"
        elif now.type != was.type:
            yield f"{table}.{name} was {was.type} and is {now.type}"
        elif was.can_be_left_out and not now.can_be_left_out:
            yield f"{table}.{name} can no longer be left out"
        elif now.not_null and not was.not_null:
            yield f"{table}.{name} can no longer be null"
        elif now.is_generated and not was.is_generated:
            yield f"{table}.{name} can no longer be written"
    for (table, name), now in new_schema.columns.items():
        is_new = (table, name) not in old_schema.columns and table in old_schema.tables
        if is_new and not now.can_be_left_out:
            yield f"{table}.{name} is new and cannot be left out"


def _rule_changes(old_schema: Schema, new_schema: Schema) -> Iterator[str]:
    for (table, name), was in old_schema.rules.items():
        now = new_schema.rules.get((table, name))
        if now is None and was.kind in FOUND_BY and table in new_schema.tables:
            yield f"{table}: {name} is gone, by which ON CONFLICT finds rows"
        elif now is not None and now.definition != was.definition:
            yield f"{table}: {name} is another rule now"
    for (table, name), now in new_schema.rules.items():
        if table not in old_schema.tables or (table, name) in old_schema.rules:
            continue
        columns = {column for holder, column in old_schema.columns if holder == table}
        # The previous version leaves new columns empty, so its rows never conflict in them.
        is_for_old = now.columns <= columns if now.kind in FOUND_BY else now.columns & columns
        if not now.columns or is_for_old:
            yield f"{table}: {name} is a new rule for what was there before"


def _name_changes(old_schema: Schema, new_schema: Schema) -> Iterator[str]:
    for name in sorted(old_schema.names - new_schema.names):
        yield f"{name} is gone"
