"""The content of a cluster, comparable between two major versions: a digest of every table's rows, and each
sequence, role, policy, index, constraint, trigger, function and extension.
"""

from __future__ import annotations

from typing import Any

import psycopg
from msgspec import Struct
from psycopg.sql import SQL, Identifier

from headwater.base.failure import Failure
from headwater.database.queries import Queries, fetch_row
from headwater.operations.safety.database_facts import gather_database_facts
from headwater.operations.safety.database_rules import judge_database

FORM = "-c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres -c bytea_output=hex"
"""Formats of values, regardless of the configuration files."""
PASSING = {"clock_off", "clock_set_back", "old_backup", "postgresql_behind"}
"""Risks that depend on the time or on Headwater's version, not on the cluster."""
queries = Queries(__name__, "upgrades.sql")


class Content(Struct, frozen=True):
    tables: dict[str, str]
    objects: dict[str, str]
    configured: dict[str, str]
    """The settings of the configuration files, which an upgrade rewrites."""
    risks: frozenset[str]
    """The database risks found by `headwater check`."""


def read_content(url: str) -> Content:
    """Read the content of a running server. Raises psycopg.Error."""
    with psycopg.connect(url, autocommit=True, options=FORM) as connection:
        names = connection.execute(queries["tables"]).fetchall()
        objects = connection.execute(queries["objects"]).fetchall()
        return Content(
            {f"{schema}.{name}": _digest(connection, schema, name) for schema, name in names},
            {f"{kind} {name}": value for kind, name, value in objects},
            dict(connection.execute(queries["configured"]).fetchall()),
            _find_risks(connection),
        )


def require_same(before: Content, after: Content) -> None:
    """Raise Failure if an upgrade lost anything or made anything unsafe."""
    expected = {**before.tables, **before.objects}
    current_counts = {**after.tables, **after.objects}
    for name in sorted(expected.keys() | current_counts.keys()):
        if expected.get(name) != current_counts.get(name):
            raise Failure(
                f"the new cluster differs from the old one: {name} has"
                f" {current_counts.get(name, 'nothing')} instead of {expected.get(name, 'nothing')}"
            )
    if new_risks := sorted(after.risks - before.risks):
        raise Failure(f"the new cluster has a new risk: {new_risks[0]}")


def list_left(before: Content, after: Content) -> list[str]:
    """Return the settings of the old configuration files that the new ones lack."""
    return sorted(name for name, value in before.configured.items() if after.configured.get(name) != value)


def _find_risks(connection: psycopg.Connection[Any]) -> frozenset[str]:
    facts = gather_database_facts(connection, is_ours=True)
    return frozenset(risk.id for risk in judge_database(facts)) - PASSING


def _digest(connection: psycopg.Connection[Any], schema: str, name: str) -> str:
    table = SQL(".").join((Identifier(schema), Identifier(name)))
    return fetch_row(connection, queries["digest"].format(table=table))[0]
