"""Tables and their changes follow a cluster's rules: every table is classified, added columns have no
constraints, and the statement rules know the tables whose rows PostgreSQL numbers.
"""

from __future__ import annotations

import psycopg
from pglast import ast, parse_sql
from pglast.enums import ConstrType

from headwater.database.cluster.tables import DISTRIBUTED, FIRST_NODE, QUEUES, REFERENCE
from tests.house.test_house import SOURCE, tenant_tables
from tests.house.test_routing import NUMBERED
from tests.house.test_table_owners import tables as tables_of_schema
from tests.support.statement_trees import find_nodes


def constrained_columns(sql: str) -> list[str]:
    """Return the columns that a migration adds to tables together with constraints. A column that PostgreSQL
    computes doesn't count: a cluster adds it to the shards like a default.
    """
    plain = {
        ConstrType.CONSTR_NOTNULL,
        ConstrType.CONSTR_NULL,
        ConstrType.CONSTR_DEFAULT,
        ConstrType.CONSTR_GENERATED,
    }
    return [
        column.colname
        for change in find_nodes(parse_sql(sql), ast.AlterTableCmd)
        for column in find_nodes(change, ast.ColumnDef)
        if any(constraint.contype not in plain for constraint in column.constraints or ())
    ]


def test_migrations_add_columns_without_constraints() -> None:
    """In a cluster, a constraint is added to a table separately and by name."""
    statement = "ALTER TABLE webhooks ADD COLUMN language text NOT NULL DEFAULT 'a'"
    assert constrained_columns(statement) == []
    assert constrained_columns(f"{statement} CHECK (language <> '')") == ["language"]
    migrations = (SOURCE / "database" / "migrations").glob("*.sql")
    since = {path.name: path.read_text() for path in migrations if path.name > "0001_schema.sql"}
    assert {
        name: constraints for name, sql in since.items() if (constraints := constrained_columns(sql))
    } == {}


def test_tables_that_number_their_rows_are_known(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        columns = connection.execute(
            "SELECT c.table_name, c.column_name FROM information_schema.columns c"
            " WHERE c.table_name = ANY(%s) AND (c.is_identity = 'YES'"
            " OR c.column_default LIKE 'nextval%%')",
            (list(DISTRIBUTED),),
        ).fetchall()
    assert {table for table, _ in columns} == NUMBERED
    assert {column for _, column in columns} == {"id", "number"}


def test_every_table_has_its_place() -> None:
    ledger = {"migrations"}
    tables = [*DISTRIBUTED, *REFERENCE, *QUEUES, *FIRST_NODE]
    assert set(tables) == tables_of_schema() | ledger
    assert len(tables) == len(set(tables))
    assert set(DISTRIBUTED) <= tenant_tables()
