"""The database and Space of some paths: part of the key of everything cached about them."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_one

queries = Queries(__name__, "path_source.sql")


class PathSource(NamedTuple):
    address: str
    database: int
    """The database's oid; a replacement has another one."""
    space_id: int


_databases = WeakKeyDictionary[AsyncConnection, tuple[str, int]]()
"""The address and oid of each connection's database, which don't change."""


async def fetch_source(connection: AsyncConnection, space_id: int) -> PathSource:
    if connection not in _databases:
        (number,) = await fetch_one(connection, queries["database"])
        _databases[connection] = connection.info.dsn, number
    return PathSource(*_databases[connection], space_id)
