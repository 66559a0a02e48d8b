"""Spaces: creating, changing and reading them."""

from __future__ import annotations

from psycopg import AsyncConnection
from psycopg.rows import class_row

from headwater.database.statements import Statements
from headwater.http.errors import NotFound
from headwater.spaces.models import Space

SQL = Statements(__name__, "spaces.sql")


async def fetch_space(connection: AsyncConnection, space_id: int) -> Space:
    """The Space with this id. Raises NotFound."""
    cursor = connection.cursor(row_factory=class_row(Space))
    await cursor.execute(SQL["fetch"], {"space_id": space_id})
    space = await cursor.fetchone()
    if space is None:
        raise NotFound("Space")
    return space
