"""The journey of a contact: its conversions, the touchpoints before them, and its page views."""

from __future__ import annotations

from typing import NamedTuple

from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_one
from headwater.sources.catalogue import DIRECT_ID, PAID_IDS, SOURCES

queries = Queries(__name__, "journey.sql")


MOST_ITEMS = 10_000
"""The most items of an answer: a journey itself has no bound."""


class Journey(NamedTuple):
    """The latest part of a contact's journey, as JSON, most recent first."""

    items: list[str]
    left_out: int
    """The number of earlier items."""


async def fetch_journey(
    connection: AsyncConnection,
    space_id: int,
    contact_id: int,
    *,
    direct: bool,
    limit: int = MOST_ITEMS,
) -> Journey:
    """The latest conversions and touchpoints; direct touchpoints only if `direct`. Needs a
    transaction in which all statements see the same rows.
    """
    values = {
        "space_id": space_id, "contact_id": contact_id, "source_names": list(SOURCES),
        "paid": PAID_IDS, "direct": DIRECT_ID, "hidden": None if direct else DIRECT_ID,
        "limit": limit,
    }  # fmt: skip
    cursor = await connection.execute(queries["journey"], values)
    items = [line for (line,) in await cursor.fetchall()]
    if len(items) < limit:
        return Journey(items, 0)
    row = await fetch_one(connection, queries["journey_length"], values)
    return Journey(items, row[0] - len(items))


async def fetch_hits(connection: AsyncConnection, space_id: int, contact_id: int) -> list[str]:
    """The last 1,000 page views as JSON, most recent first."""
    values = {"space_id": space_id, "contact_id": contact_id, "source_names": list(SOURCES)}
    cursor = await connection.execute(queries["hits"], values)
    return [line for (line,) in await cursor.fetchall()]
