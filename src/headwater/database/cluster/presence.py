"""Detection of a cluster."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from psycopg import Connection

from headwater.base.failure import Failure
from headwater.database.queries import Queries

queries = Queries(__name__, "presence.sql")

BOUND_WAITING = queries["bound_waiting"]
"""For sessions that serve many Spaces: a blocked Space must not delay the others. Long waits fail with
LockNotAvailable, and are retried later.
"""


_answers: WeakKeyDictionary[Connection[Any], bool] = WeakKeyDictionary()


def is_cluster(connection: Connection[Any]) -> bool:
    """Check each connection once."""
    if connection not in _answers:
        _answers[connection] = connection.execute(queries["is_cluster"]).fetchall()[0][0]
    return _answers[connection]


def is_first_node(connection: Connection[Any]) -> bool:
    return connection.execute(queries["is_first"]).fetchall()[0][0]


def require_first_node(connection: Connection[Any]) -> None:
    """Raise Failure on any node except the first. Other nodes have sequences of their own, so ids
    would not follow the order of acceptance.
    """
    if is_cluster(connection) and not is_first_node(connection):
        raise Failure(
            "HEADWATER_DATABASE_URL names a node of a cluster that is not its first: ids drawn there "
            "would be out of order. Use the first node"
        )
