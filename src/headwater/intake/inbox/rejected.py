"""Store, list and replay rows that can't be processed. Lists omit payloads: they may hold personal data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection, Connection

from headwater.database.bulk_values import rows
from headwater.database.queries import Queries, fetch_all, make_cursor
from headwater.http.inputs.pagination import Page, Position, make_page, to_key
from headwater.intake.inbox.queue import spaces_with_rows
from headwater.intake.inbox.rows import Rejection

queries = Queries(__name__, "rejected.sql")

_BEYOND_ALL = 2**63 - 1
MAX_REPLAYED = 10_000
"""Per request, to bound its time."""


@dataclass(frozen=True, slots=True)
class RejectedItem:
    """A rejected row without its payload."""

    space_id: int
    id: int
    kind: str
    reason: str
    """A RejectReason."""
    detail: str
    received_at: datetime
    rejected_at: datetime


def reject_rows(connection: Connection[Any], space_id: int, rejections: Collection[Rejection]) -> None:
    """Store rows; the caller deletes them from the inbox."""
    if rejections:
        values = {"space_id": space_id, "rejections": rows(rejections)}
        connection.execute(queries["reject"], values)


def list_rejected(connection: Connection[Any], limit: int = 1000) -> list[RejectedItem]:
    """Return the oldest `limit` rows of every Space."""
    items: list[RejectedItem] = []
    for space_id in spaces_with_rows(connection, "rejected"):
        cursor = make_cursor(connection, RejectedItem)
        cursor.execute(queries["list"], {"space_id": space_id, "limit": limit})
        items += cursor.fetchall()
    return items


async def list_rejected_events(
    connection: AsyncConnection, space_id: int, per_page: int, position: Position | None
) -> Page:
    """Return the newest first."""
    before = position.key[0] if position is not None else _BEYOND_ALL
    bound = {"space_id": space_id, "limit": per_page + 1, "before": before}
    return make_page(await fetch_all(connection, queries["page"], bound), per_page, position, to_key)


async def replay_rejected_events(connection: AsyncConnection, space_id: int) -> int:
    """Requeue the oldest MAX_REPLAYED rejected rows; return their number."""
    values = {"space_id": space_id, "ids": None, "limit": MAX_REPLAYED}
    return (await connection.execute(queries["put_back"], values)).rowcount


def replay_rejected(
    connection: Connection[Any], space_id: int | None = None, ids: list[int] | None = None
) -> int:
    """Requeue rows under their ids. Return their number."""
    spaces = [space_id] if space_id is not None else spaces_with_rows(connection, "rejected")
    count = 0
    for rejected_space_id in spaces:
        values = {"space_id": rejected_space_id, "ids": ids, "limit": None}
        count += connection.execute(queries["put_back"], values).rowcount
    return count
