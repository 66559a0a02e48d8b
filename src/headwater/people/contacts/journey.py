"""The journey of a contact: its conversions, the touchpoints before them, and its page views."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection
from psycopg.sql import SQL

from headwater.database.queries import Queries, fetch_one
from headwater.http.inputs.pagination import Page, Position, from_key, page_of, to_key
from headwater.http.inputs.timerange import EVER
from headwater.people.contacts.models import ListJourney
from headwater.sources.catalogue import DIRECT_ID, PAID_IDS
from headwater.spaces.models import Space

queries = Queries(__name__, "journey.sql")

MOST_ITEMS = 10_000
"""The most items of one answer: a journey itself has no bound."""
MOST_HITS = 1000
"""The page views of one answer."""

_NEWEST_FIRST, _OLDEST_FIRST = SQL("DESC"), SQL("ASC")
_BEYOND_ALL = 2**63 - 1


async def list_journey(
    connection: AsyncConnection, space: Space, contact_id: int, request: ListJourney
) -> Page:
    """One page of the conversions and touchpoints of a contact, as JSON, most recent first. What it
    reads and holds is bounded by the page, however long the journey is.
    """
    at = request.at
    backward = at is not None and at.backward
    values = {
        **_of_contact(space.id, contact_id, direct=request.direct),
        **_places(at),
        "source_names": list(space.sources.api_names),
        "paid": PAID_IDS,
        "direct": DIRECT_ID,
        "limit": request.per_page + 1,
    }
    statement = queries["journey"].format(order=_OLDEST_FIRST if backward else _NEWEST_FIRST)
    # Not prepared: a plan that does not know the limit and the place may not stop early.
    cursor = await connection.execute(statement, values, prepare=False)
    return page_of(await cursor.fetchall(), request.per_page, at, to_key)


async def count_earlier(
    connection: AsyncConnection, space_id: int, contact_id: int, place: Position | None, *, direct: bool
) -> int:
    """The number of items of a journey that come after a page whose `next` is `place`."""
    if place is None:
        return 0
    values = {**_of_contact(space_id, contact_id, direct=direct), **_places(place)}
    row = await fetch_one(connection, queries["count_earlier"], values)
    return row[0]


async def fetch_hits(connection: AsyncConnection, space: Space, contact_id: int) -> list[str]:
    """The last page views as JSON, most recent first."""
    values = {
        "space_id": space.id,
        "contact_id": contact_id,
        "source_names": list(space.sources.api_names),
        "most": MOST_HITS,
    }
    cursor = await connection.execute(queries["hits"], values)
    return [line for (line,) in await cursor.fetchall()]


def _of_contact(space_id: int, contact_id: int, *, direct: bool) -> dict[str, Any]:
    hidden = None if direct else DIRECT_ID
    return {"space_id": space_id, "contact_id": contact_id, "hidden": hidden}


def _places(at: Position | None) -> dict[str, Any]:
    """The bound values between which a page lies. Its order is that of (time, rank, id), with
    rank 1 for conversions and 0 for touchpoints: of the items at the place's own time, either all
    of a kind are beyond it or none, or those beyond its id.
    """
    values: dict[str, Any] = {
        "after_time": EVER.start,
        "after_event": 0,
        "after_touch": 0,
        "before_time": EVER.end,
        "before_event": 0,
        "before_touch": 0,
    }
    if at is None:
        return values
    moment, rank, number = from_key(at.key[:1])[0], at.key[1], at.key[2]
    side = "after" if at.backward else "before"
    return values | {
        f"{side}_time": moment,
        f"{side}_event": number if rank else 0,
        f"{side}_touch": _BEYOND_ALL if rank else number,
    }
