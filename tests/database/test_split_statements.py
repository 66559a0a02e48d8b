"""Migrations are sent one statement at a time."""

from __future__ import annotations

from pglast import parse_sql

from headwater.database.migrator import migrations, split_statements


def test_it_works() -> None:
    sql = "-- One; two.\nSELECT 'a;b';\nDO $$ BEGIN; END $$;\n-- The end.\n"
    assert split_statements(sql) == ["-- One; two.\nSELECT 'a;b';", "\nDO $$ BEGIN; END $$;"]


def test_every_migration_is_split_as_postgresql_does() -> None:
    for migration in migrations():
        pieces = split_statements(migration.sql)
        assert [len(parse_sql(statement)) for statement in pieces] == [1] * len(parse_sql(migration.sql)), (
            migration.name
        )
