"""The work that a change of a Space's own phrases leaves to do: its stored answers are read anew.
intake/pipeline/answers.py does it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from psycopg import AsyncConnection, Connection

from headwater.database.queries import Queries

queries = Queries(__name__, "rereadings.sql")


class Rereading(NamedTuple):
    """The events whose answers are left to read: those above an id, up to another."""

    after_id: int
    until_id: int


async def request_rereading(connection: AsyncConnection, space_id: int) -> None:
    """Have all stored answers of a Space read anew, from the commit on. The caller holds the
    Space's lock.
    """
    await connection.execute(queries["request"], {"space_id": space_id})


def spaces_to_reread(connection: Connection[Any]) -> list[int]:
    """The Spaces where something is left to do."""
    return [space_id for (space_id,) in connection.execute(queries["spaces"])]


def fetch_rereading(connection: Connection[Any], space_id: int) -> Rereading | None:
    """The work that is left in a Space; None when nothing is."""
    row = connection.execute(queries["fetch"], {"space_id": space_id}).fetchone()
    return Rereading(*row) if row is not None else None


def advance_rereading(connection: Connection[Any], space_id: int, after_id: int) -> None:
    """Write down that the answers up to an event have been read."""
    connection.execute(queries["advance"], {"space_id": space_id, "after_id": after_id})


def finish_rereading(connection: Connection[Any], space_id: int) -> None:
    """Write down that nothing is left to do."""
    connection.execute(queries["finish"], {"space_id": space_id})
