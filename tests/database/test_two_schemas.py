"""A database that another version has migrated, or is migrating while others use it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from headwater.base.failure import Failure
from headwater.database import migrator
from headwater.database.migrator import Migration, SchemaState, compare_schema, migrate
from tests.support.waiting import wait_until

LATER = Migration("9998_later", "CREATE TABLE later (id int)")
CONTRACTING = Migration("9999_less", "-- Unused since 9.0.0: later.\nDROP TABLE later", "9.0.0")


@pytest.fixture
def url(database_url: str) -> Iterator[str]:
    """A separate database of this version."""
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute("CREATE DATABASE of_two")
        conninfo = make_conninfo(database_url, dbname="of_two")
        migrate(conninfo)
        yield conninfo
        server.execute("DROP DATABASE of_two WITH (FORCE)")


def migrate_with(url: str, monkeypatch: pytest.MonkeyPatch, *migrations: Migration) -> list[str]:
    """Migrate as a version with additional migrations would."""
    all_migrations = [*migrator.migrations(), *migrations]
    with monkeypatch.context() as patch:
        patch.setattr(migrator, "migrations", lambda: all_migrations)
        return migrate(url)


def test_it_works(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """This version works on a newer version's schema, until a newer version removes something."""
    with psycopg.connect(url, autocommit=True) as connection:
        assert compare_schema(connection) == SchemaState((), ())
        assert migrate_with(url, monkeypatch, LATER) == [LATER.name]
        assert migrate(url) == []
        state = compare_schema(connection)
        assert (state, state.is_current) == (SchemaState((), (), (LATER.name,)), True)

        assert migrate_with(url, monkeypatch, LATER, CONTRACTING) == [CONTRACTING.name]
        state = compare_schema(connection)
        assert (state.unknown, state.is_current) == ((CONTRACTING.name,), False)
    with pytest.raises(Failure, match=r"removes something this version uses: run 9\.0\.0"):
        migrate(url)


def test_what_this_version_no_longer_used_may_be_taken_away(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unused_migration = CONTRACTING._replace(unused_since=migrator.__version__)
    migrate_with(url, monkeypatch, LATER, unused_migration)
    assert migrate(url) == []


def test_others_get_their_turn_while_it_waits_for_a_table(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long report keeps the migration waiting for a table. Later statements on the same table wait for the
    migration no longer than one of its attempts.
    """
    monkeypatch.setattr(migrator, "LOCK_SECONDS", 0.1)
    monkeypatch.setattr(migrator, "PAUSE_SECONDS", 0.01)
    wider = Migration("9998_wider", "ALTER TABLE spaces ADD COLUMN later int")
    waits = (
        "SELECT 1 FROM pg_locks WHERE relation = 'spaces'::regclass AND NOT granted"
        " AND mode = 'AccessExclusiveLock'"
    )
    with psycopg.connect(url) as report, psycopg.connect(url, autocommit=True) as reader:
        report.execute("SELECT FROM spaces")
        thread = threading.Thread(target=migrate_with, args=(url, monkeypatch, wider))
        thread.start()
        wait_until(lambda: reader.execute(waits).fetchone() is not None)
        reader.execute("SET statement_timeout = '10s'")
        reader.execute("SELECT FROM spaces")
        assert thread.is_alive()
        report.rollback()
        thread.join()
        assert reader.execute("SELECT later FROM spaces").fetchall() == []


def test_it_gives_up_with_a_reason(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrator, "LOCK_SECONDS", 0.01)
    monkeypatch.setattr(migrator, "PATIENCE_SECONDS", 0.0)
    wider = Migration("9998_wider", "ALTER TABLE spaces ADD COLUMN later int")
    with psycopg.connect(url) as report:
        report.execute("SELECT FROM spaces")
        with pytest.raises(Failure, match=r"9998_wider: a table .* was in use"):
            migrate_with(url, monkeypatch, wider)


@pytest.mark.parametrize("setting", ["role=other", "search_path=nowhere"])
def test_without_a_schema_for_tables_the_reason_is_the_owner(database_url: str, setting: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute("CREATE DATABASE of_another")
        server.execute("CREATE ROLE other")
        try:
            url = make_conninfo(database_url, dbname="of_another", options=f"-c {setting}")
            with pytest.raises(Failure, match="the owner of the database"):
                migrate(url)
        finally:
            server.execute("DROP DATABASE of_another WITH (FORCE)")
            server.execute("DROP ROLE other")
