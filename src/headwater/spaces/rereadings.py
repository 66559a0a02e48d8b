"""Pending rereads of stored answers after a change of a Space's phrases. intake/pipeline/answers.py runs
them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from psycopg import AsyncConnection, Connection

from headwater.database.queries import Queries

queries = Queries(__name__, "rereadings.sql")


class Rereading(NamedTuple):
    """The events with answers to read again: above one id, up to another."""

    after_id: int
    until_id: int


async def request_rereading(connection: AsyncConnection, space_id: int) -> None:
    """Have all stored answers of a Space read again after the commit. The caller holds the Space's lock."""
    await connection.execute(queries["request"], {"space_id": space_id})


def spaces_to_reread(connection: Connection[Any]) -> list[int]:
    return [space_id for (space_id,) in connection.execute(queries["spaces"])]


def fetch_rereading(connection: Connection[Any], space_id: int) -> Rereading | None:
    row = connection.execute(queries["fetch"], {"space_id": space_id}).fetchone()
    return Rereading(*row) if row is not None else None


def advance_rereading(connection: Connection[Any], space_id: int, after_id: int) -> None:
    """Record that the answers up to an event are done."""
    connection.execute(queries["advance"], {"space_id": space_id, "after_id": after_id})


def finish_rereading(connection: Connection[Any], space_id: int) -> None:
    connection.execute(queries["finish"], {"space_id": space_id})
