"""The queue of waiting rows, in the order in which they were accepted: reading them, deleting those
that are processed, and waiting until all are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any

from psycopg import Connection
from psycopg.sql import Composed, Identifier

from headwater.database.queries import Queries
from headwater.inbox.rows import InboxRow

queries = Queries(__name__, "queue.sql")

POLL_SECONDS = 0.02


def spaces_with_rows(queue: str) -> Composed:
    """Return the query for the Spaces with rows in a queue, a table."""
    return queries["spaces"].format(queue=Identifier(queue))


_WAITING_SPACES = spaces_with_rows("inbox")


def request_rows(
    connection: Connection[Any], space_id: int, limit: int, ids: Collection[int] | None = None
) -> Callable[[], list[InboxRow]]:
    """Request the Space's oldest rows, or those of `ids`; calling the result fetches them."""
    if ids is None:
        cursor = connection.execute(queries["read"], {"space_id": space_id, "limit": limit})
    else:
        values = {"space_id": space_id, "ids": list(ids)}
        cursor = connection.execute(queries["read_these"], values)
    return lambda: list(map(InboxRow._make, cursor.fetchall()))


def delete_rows(connection: Connection[Any], space_id: int, ids: list[int]) -> None:
    """Delete rows from the inbox."""
    connection.execute(queries["delete"], {"space_id": space_id, "ids": ids})


def waiting_ids(connection: Connection[Any], space_id: int, limit: int) -> list[int]:
    """Return the ids of the Space's oldest waiting rows."""
    values = {"space_id": space_id, "limit": limit}
    return [row[0] for row in connection.execute(queries["waiting_ids"], values)]


def waiting_spaces(connection: Connection[Any]) -> list[int]:
    """Return every Space with waiting rows."""
    return [row[0] for row in connection.execute(_WAITING_SPACES)]


def wait_until_processed(
    connection: Connection[Any],
    timeout: float,
    wait: Callable[[float], object] = time.sleep,
) -> bool:
    """Wait until everything accepted before this call is processed, for `timeout` seconds at
    most. Returns whether it is. The connection must be in autocommit.
    """
    row = connection.execute(queries["newest"]).fetchone()
    if row is None or row[0] is None:
        return True
    deadline = time.monotonic() + timeout
    while True:
        if connection.execute(queries["any_up_to"], {"id": row[0]}).fetchone() is None:
            return True
        if time.monotonic() >= deadline:
            return False
        wait(POLL_SECONDS)
