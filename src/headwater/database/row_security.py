"""Row-level security: the second wall between Spaces, beneath the statements, which bind `space_id`.

Every table of Spaces' rows has a policy that shows the rows of one Space: the Space to which the
session is confined. It applies to a role without tables, to which a session switches together with
the Space:

    session user    owns the tables: migrations, backups, and rows of no Space or of all
    <database>_space    the same session, confined: one Space's rows, and no others

A statement without its `space_id` then finds only rows of the Space that it serves, and a session that
switches to the role without a Space finds nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, NamedTuple

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg.sql import Identifier

from headwater.database.queries import Queries, fetch_one

queries = Queries(__name__, "row_security.sql")

_served: ContextVar[int | None] = ContextVar("served_space", default=None)


class SpaceRole(NamedTuple):
    """The role of confined sessions, as a session sees it."""

    name: str
    usable: str | None
    """Its name, if this session can take it on and policies hold for it."""
    exists: bool


def served_space() -> int | None:
    """Return the Space of the current task; None before it is known, and for tasks without a Space."""
    return _served.get()


def serve_space(space_id: int | None) -> None:
    """Confine the connections that this task takes from now on to a Space."""
    _served.set(space_id)


@contextmanager
def serving(space_id: int) -> Generator[None]:
    """Confine the connections that are taken in the block to a Space."""
    token = _served.set(space_id)
    try:
        yield
    finally:
        _served.reset(token)


def fetch_role(connection: Connection[Any]) -> SpaceRole:
    """Return the role of confined sessions."""
    row = connection.execute(queries["role"]).fetchone()
    assert row is not None
    return SpaceRole(*row)


def list_unprotected(connection: Connection[Any]) -> list[str]:
    """Return the tables of Spaces' rows that have no policy."""
    return [table for table, _ in connection.execute(queries["unprotected"])]


def protect(connection: Connection[Any]) -> None:
    """Give every table its policy and the role its rights, where they lack them: after migrations,
    so that no new table can be without. Needs the owner of the tables.

    Without the right to make a role, or to give the session's user one, the tables are ready and
    sessions are not confined: `headwater check` says so, with what a superuser has to run.
    """
    with connection.transaction():
        for table, column in connection.execute(queries["unprotected"]).fetchall():
            names = {"table": Identifier(table), "column": Identifier(column)}
            for step in ("enable_policies", "drop_policy", "create_policy"):
                connection.execute(queries[step].format(**names))
    role = fetch_role(connection)
    if not role.exists:
        with suppress(psycopg.errors.InsufficientPrivilege), connection.transaction():
            connection.execute(queries["create_role"].format(role=Identifier(role.name)))
    role = fetch_role(connection)
    if role.usable is not None:
        _grant(connection, role.usable)


def _grant(connection: Connection[Any], role: str) -> None:
    with connection.transaction():
        for database, schema in connection.execute(queries["unentered"], {"role": role}).fetchall():
            names = {"database": Identifier(database), "schema": Identifier(schema)}
            connection.execute(queries["grant_entry"].format(role=Identifier(role), **names))
        for relation, is_sequence in connection.execute(queries["ungranted"], {"role": role}).fetchall():
            statement = queries["grant_sequence" if is_sequence else "grant_table"]
            connection.execute(statement.format(table=Identifier(relation), role=Identifier(role)))


@contextmanager
def confined(connection: Connection[Any], space_id: int, role: str | None) -> Generator[None]:
    """Confine a session to a Space for the block, which begins and ends outside transactions;
    without a usable role the session stays as it is.
    """
    if role is None:
        connection.commit()  # as looking the role up may have begun a transaction
        yield
        return
    values = {"space_id": space_id, "role": role, "local": False}
    connection.execute(queries["confine"], values)
    connection.commit()
    try:
        yield
    finally:
        if not connection.closed:
            connection.rollback()
            connection.execute(queries["release"])
            connection.commit()


async def confine_session(connection: AsyncConnection, space_id: int) -> None:
    """Confine a session in autocommit to a Space until its connection is closed."""
    role = SpaceRole(*await fetch_one(connection, queries["role"])).usable
    if role is not None:
        values = {"space_id": space_id, "role": role, "local": False}
        await connection.execute(queries["confine"], values)
