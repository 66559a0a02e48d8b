"""The contents of a Space, as far as one needs to know them before a question: when its events
begin and end, which there are, and of how many contacts the country is known. Counts are bounded,
so that a large Space answers like a small one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from psycopg import AsyncConnection
from psycopg.rows import class_row

from headwater.database.queries import Queries, fetch_one

queries = Queries(__name__, "contents.sql")

COUNTED_EVENTS = 50_000
"""Events, the latest ones, that are counted by name."""
SAMPLED_CONTACTS = 5_000
"""Contacts, the latest ones, that are looked at."""


@dataclass(frozen=True)
class SpaceContents:
    """The contents of a Space, in figures."""

    first_event: datetime | None
    last_event: datetime | None
    event_counts: dict[str, int]
    """The latest COUNTED_EVENTS events by name, the most frequent first."""
    contacts: int
    """The number of contacts, or SAMPLED_CONTACTS."""
    with_country: int
    """The number of these that have a country."""
    has_spend: bool
    """True when anything that ads have cost is stored."""


async def fetch_contents(connection: AsyncConnection, space_id: int) -> SpaceContents:
    """Return the contents of a Space."""
    cursor = connection.cursor(row_factory=class_row(SpaceContents))
    values = {"space_id": space_id, "events": COUNTED_EVENTS, "contacts": SAMPLED_CONTACTS}
    return await fetch_one(cursor, queries["contents"], values)
