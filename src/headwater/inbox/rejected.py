"""What a Space sent that could not be processed, for its people to see: why, but not what."""

from __future__ import annotations

from psycopg import AsyncConnection

from headwater.database.queries import Queries
from headwater.http.pagination import Page, Position, page_of, to_key

queries = Queries(__name__, "rejected.sql")

_BEYOND_ALL = 2**63 - 1


async def list_rejected_events(
    connection: AsyncConnection, space_id: int, per_page: int, at: Position | None
) -> Page:
    """One page of the Space's rejected rows, the latest first. `at` only ever leads on."""
    before = at.key[0] if at is not None else _BEYOND_ALL
    bound = {"space_id": space_id, "limit": per_page + 1, "before": before}
    cursor = await connection.execute(queries["page"], bound)
    return page_of(await cursor.fetchall(), per_page, at, to_key)
