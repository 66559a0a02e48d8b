"""Inbox rows, in order of acceptance."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from psycopg import Connection
from psycopg.sql import Composed, Identifier

from headwater.database.queries import Queries, fetch_row
from headwater.intake.inbox.rows import InboxRow

queries = Queries(__name__, "queue.sql")

POLL_SECONDS = 0.02

FROM_THE_FIRST = {"after": 0}
"""From the first Space: ids are above 0."""

Version = tuple[int, str]
"""The id and the transaction that last wrote the row."""


@cache
def over_spaces(name: str, queue: str = "inbox") -> Composed:
    """Compose a query over Spaces with rows in a queue table."""
    return queries[name].format(waiting=queries["hop"].format(queue=Identifier(queue)))


def spaces_with_rows(connection: Connection[Any], queue: str) -> list[int]:
    query = over_spaces("spaces", queue)
    return [space_id for (space_id,) in connection.execute(query, FROM_THE_FIRST)]


def request_rows(
    connection: Connection[Any],
    space_id: int,
    limit: int,
    ids: Collection[int] | None = None,
    after_id: int = 0,
) -> Callable[[], list[InboxRow]]:
    """Request the oldest rows after `after_id`, or `ids`. Call the result to fetch them."""
    if ids is None:
        values = {"space_id": space_id, "after_id": after_id, "limit": limit}
        cursor = connection.execute(queries["read"], values)
    else:
        values = {"space_id": space_id, "ids": list(ids)}
        cursor = connection.execute(queries["read_these"], values)
    return lambda: list(map(InboxRow._make, cursor.fetchall()))


def request_versions(connection: Connection[Any], space_id: int, limit: int) -> Callable[[], list[Version]]:
    """Request the oldest rows' versions. Call the result to fetch them."""
    values = {"space_id": space_id, "limit": limit}
    return connection.execute(queries["versions"], values).fetchall


def delete_rows(connection: Connection[Any], space_id: int, ids: list[int]) -> None:
    connection.execute(queries["delete"], {"space_id": space_id, "ids": ids})


def find_next_waiting_spaces(connection: Connection[Any], after: int, limit: int) -> list[int]:
    """Return up to `limit` Spaces, in order after `after`."""
    values = {"after": after, "most": limit}
    query = over_spaces("next_spaces")
    return [space_id for (space_id,) in connection.execute(query, values)]


def find_last_waiting_space(connection: Connection[Any]) -> int:
    row = connection.execute(queries["last_space"]).fetchone()
    return row[0] if row else 0


def find_late_spaces(connection: Connection[Any], lateness: timedelta) -> dict[int, datetime]:
    """Return since when the oldest row of Spaces has waited longer than `lateness`."""
    values = FROM_THE_FIRST | {"late": lateness}
    return dict(connection.execute(over_spaces("late"), values).fetchall())


def wait_until_processed(connection: Connection[Any], timeout: float) -> bool:
    """Wait up to `timeout` seconds for all rows accepted so far. Return whether they are processed. Needs an
    autocommit connection.
    """
    (newest_id,) = fetch_row(connection, over_spaces("newest"), FROM_THE_FIRST)
    deadline = time.monotonic() + timeout
    any_up_to = over_spaces("any_up_to")
    while True:
        if connection.execute(any_up_to, FROM_THE_FIRST | {"id": newest_id}).fetchone() is None:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
