"""An overview of a Space's data: first and last event, events by name, contacts with a country. Counts are
bounded, so a large Space answers fast.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_one, make_cursor

queries = Queries(__name__, "contents.sql")

COUNTED_EVENTS = 50_000
"""The latest events are counted by name."""
SAMPLED_CONTACTS = 5_000


class SpaceContents(Struct, frozen=True):
    first_event: datetime | None
    last_event: datetime | None
    event_counts: dict[str, int]
    """The latest COUNTED_EVENTS events, most frequent first."""
    contacts: int
    """At most SAMPLED_CONTACTS."""
    with_country: int
    has_spend: bool


async def fetch_contents(connection: AsyncConnection, space_id: int) -> SpaceContents:
    values = {"space_id": space_id, "events": COUNTED_EVENTS, "contacts": SAMPLED_CONTACTS}
    return await fetch_one(make_cursor(connection, SpaceContents), queries["contents"], values)
