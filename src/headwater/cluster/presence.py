"""The presence of a cluster, for the few places that need to know of it."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from psycopg import AsyncConnection, Connection

from headwater.database.queries import Queries, fetch_one

queries = Queries(__name__, "presence.sql")


_answers: WeakKeyDictionary[Connection[Any], bool] = WeakKeyDictionary()


def is_cluster(connection: Connection[Any]) -> bool:
    """Return whether the database is of a cluster: looked up once for a connection."""
    if connection not in _answers:
        _answers[connection] = connection.execute(queries["is_cluster"]).fetchall()[0][0]
    return _answers[connection]


async def leads_to_cluster(connection: AsyncConnection) -> bool:
    """Return the same for a connection of the API."""
    return (await fetch_one(connection, queries["is_cluster"]))[0]
