"""What a contact did: its conversions, the touchpoints that led to them, and its page views."""

from __future__ import annotations

from psycopg import AsyncConnection

from headwater.database.statements import Statements
from headwater.sources.catalogue import DIRECT_ID, PAID_IDS, SOURCES

SQL = Statements(__name__, "journey.sql")


async def fetch_journey(
    connection: AsyncConnection, space_id: int, contact_id: int, *, direct: bool
) -> list[str]:
    """Every conversion and touchpoint as JSON, most recent first; direct touchpoints only if
    `direct`.
    """
    values = {
        "space_id": space_id, "contact_id": contact_id, "source_names": list(SOURCES),
        "paid": PAID_IDS, "direct": DIRECT_ID, "hidden": None if direct else DIRECT_ID,
    }  # fmt: skip
    cursor = await connection.execute(SQL["journey"], values)
    return [line for (line,) in await cursor.fetchall()]


async def fetch_hits(connection: AsyncConnection, space_id: int, contact_id: int) -> list[str]:
    """The last 1,000 page views as JSON, most recent first."""
    values = {"space_id": space_id, "contact_id": contact_id, "source_names": list(SOURCES)}
    cursor = await connection.execute(SQL["hits"], values)
    return [line for (line,) in await cursor.fetchall()]
