"""The database and Space that paths are of: what all that is remembered of them is known by."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_one

queries = Queries(__name__, "path_source.sql")


class PathSource(NamedTuple):
    """The database and Space that paths are of."""

    address: str
    database: int
    """Its number, which a database that takes its place does not have."""
    space_id: int


_databases = WeakKeyDictionary[AsyncConnection, tuple[str, int]]()
"""The address and number of each connection's database, which stay the same as long as it lives."""


async def fetch_source(connection: AsyncConnection, space_id: int) -> PathSource:
    """Return what a Space's paths are known by that a connection reads."""
    if connection not in _databases:
        (number,) = await fetch_one(connection, queries["database"])
        _databases[connection] = connection.info.dsn, number
    return PathSource(*_databases[connection], space_id)
