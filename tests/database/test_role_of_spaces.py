"""The role of confined sessions in an operator's own PostgreSQL, whose user is not a superuser."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from headwater.database.jobs.connection import connect
from headwater.database.migrator import migrate
from headwater.operations.safety.database_facts import gather_database_facts


class Operator:
    """An operator's own PostgreSQL: a database whose owner is not a superuser."""

    def __init__(self, database_url: str, connection: psycopg.Connection, rights: str) -> None:
        self.name = f"own_{secrets.token_hex(4)}"
        self.superuser = connection
        connection.execute(
            SQL("CREATE ROLE {} LOGIN PASSWORD 'p' " + rights).format(Identifier(self.name))  # type: ignore[operator]
        )
        connection.execute(SQL("CREATE DATABASE {0} OWNER {0}").format(Identifier(self.name)))
        parts = urlsplit(database_url)
        self.url = f"postgresql://{self.name}:p@/{self.name}?{parts.query}"

    def drop(self) -> None:
        name = Identifier(self.name)
        role = Identifier(f"{self.name}_space")
        self.superuser.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(name))
        self.superuser.execute(SQL("DROP ROLE IF EXISTS {}").format(role))
        self.superuser.execute(SQL("DROP ROLE {}").format(name))


@pytest.fixture
def operator(database_url: str, connection: psycopg.Connection) -> Iterator[Callable[[str], Operator]]:
    """A function that creates databases."""
    operators: list[Operator] = []

    def make(rights: str) -> Operator:
        operators.append(Operator(database_url, connection, rights))
        return operators[-1]

    yield make
    for owner in operators:
        owner.drop()


def is_confined(url: str) -> bool:
    """Return whether an application on the database keeps Spaces apart."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO spaces (name) VALUES ('a'), ('b')")
        ids = [number for (number,) in connection.execute("SELECT id FROM spaces ORDER BY id")]
        facts = gather_database_facts(connection, is_ours=False)
    with connect(url) as worker, worker.confined(ids[-1]):
        rows = worker.execute("SELECT id FROM spaces").fetchall()
    assert facts.confines == (rows == [(ids[-1],)])
    return facts.confines


def test_an_owner_who_may_make_roles(operator: Callable[[str], Operator]) -> None:
    owner = operator("CREATEROLE")
    migrate(owner.url)
    assert is_confined(owner.url)


def test_an_owner_who_may_not(operator: Callable[[str], Operator]) -> None:
    """The application works without row-level security. It uses row-level security once a superuser has run
    the documented statements.
    """
    owner = operator("NOCREATEROLE")
    migrate(owner.url)
    assert not is_confined(owner.url)
    owner.superuser.execute(SQL("CREATE ROLE {} NOLOGIN").format(Identifier(f"{owner.name}_space")))
    owner.superuser.execute(
        SQL("GRANT {} TO {}").format(Identifier(f"{owner.name}_space"), Identifier(owner.name))
    )
    assert migrate(owner.url) == []
    assert is_confined(owner.url)


def test_a_new_table_is_behind_it_with_the_next_migration(operator: Callable[[str], Operator]) -> None:
    owner = operator("CREATEROLE")
    migrate(owner.url)
    with psycopg.connect(owner.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE later (space_id bigint PRIMARY KEY, id serial)")
        connection.execute("INSERT INTO later (space_id) VALUES (1), (2)")
    migrate(owner.url)
    with connect(owner.url) as worker, worker.confined(2):
        assert worker.execute("SELECT space_id FROM later").fetchall() == [(2,)]
        worker.execute("UPDATE later SET id = DEFAULT")


def test_a_role_above_the_policies_is_not_taken_on(operator: Callable[[str], Operator]) -> None:
    owner = operator("CREATEROLE")
    migrate(owner.url)
    owner.superuser.execute(SQL("ALTER ROLE {} BYPASSRLS").format(Identifier(f"{owner.name}_space")))
    assert not is_confined(owner.url)
