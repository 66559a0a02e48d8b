"""Row-level security: the second wall between Spaces, beneath the statements, which bind `space_id`.

Every table of Spaces' rows has a policy that shows only the rows of the session's Space. It applies to a role
without tables, which a session switches to together with the Space:

    session user    owns the tables: migrations, backups, and rows of no Space or of all
    <database>_space    the same session, confined: one Space's rows, and no others

A statement without its `space_id` then finds only rows of its Space, and a session that switches to the role
without a Space finds nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, NamedTuple

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg.sql import Identifier

from headwater.database.queries import Queries, fetch_one, fetch_row

queries = Queries(__name__, "row_security.sql")

_served: ContextVar[int | None] = ContextVar("served_space", default=None)


class SpaceRole(NamedTuple):
    """The role of confined sessions, from the view of a session."""

    name: str
    usable_name: str | None
    """Its name, if this session can switch to it and policies apply to it."""
    exists: bool


def served_space() -> int | None:
    """Return the Space of the current task; None before it is known, and for tasks without a Space."""
    return _served.get()


def serve_space(space_id: int | None) -> None:
    """Confine this task's future connections to a Space."""
    _served.set(space_id)


@contextmanager
def serving(space_id: int) -> Generator[None]:
    token = _served.set(space_id)
    try:
        yield
    finally:
        _served.reset(token)


def fetch_role(connection: Connection[Any]) -> SpaceRole:
    row = fetch_row(connection, queries["role"])
    return SpaceRole(*row)


def list_unprotected(connection: Connection[Any]) -> list[str]:
    """Return Spaces' tables without a policy."""
    return [table for table, _ in connection.execute(queries["unprotected"])]


def protect(connection: Connection[Any]) -> None:
    """Add missing policies of tables and rights of the role, after migrations. Needs the owner of the tables.

    Without the right to create a role, or to grant it to the session's user, the tables are ready and
    sessions are not confined: `headwater check` reports it, with the statements for a superuser.
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
    if role.usable_name is not None:
        _grant(connection, role.usable_name)


def _grant(connection: Connection[Any], role: str) -> None:
    with connection.transaction():
        for database, schema in connection.execute(queries["unentered"], {"role": role}).fetchall():
            names = {"database": Identifier(database), "schema": Identifier(schema)}
            connection.execute(queries["grant_entry"].format(role=Identifier(role), **names))
        for relation, statement in connection.execute(queries["ungranted"], {"role": role}).fetchall():
            names = {"table": Identifier(relation), "role": Identifier(role)}
            connection.execute(queries[statement].format(**names))


@contextmanager
def confined(connection: Connection[Any], space_id: int, role: str | None) -> Generator[None]:
    """Confine a session to a Space for the block, which begins and ends outside transactions; without a
    usable role the session stays unconfined.
    """
    if role is None:
        connection.commit()  # looking up the role may have begun a transaction
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
    """Confine an autocommit session until it is closed."""
    role = SpaceRole(*await fetch_one(connection, queries["role"])).usable_name
    if role is not None:
        values = {"space_id": space_id, "role": role, "local": False}
        await connection.execute(queries["confine"], values)
