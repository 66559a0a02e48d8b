from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_one
from headwater.http.inputs.pagination import Page, Position, from_key, make_page, sort_direction, to_key
from headwater.http.inputs.timerange import EVER
from headwater.people.contacts.models import ListJourney
from headwater.sources.catalogue import DIRECT_ID, PAID_IDS
from headwater.spaces.models import Space

queries = Queries(__name__, "journey.sql")

MAX_ITEMS = 10_000
"""Items in one response; a journey can be longer."""
MAX_HITS = 1000

_MAX_ID = 2**63 - 1


async def list_journey(
    connection: AsyncConnection, space: Space, contact_id: int, request: ListJourney
) -> Page:
    """Return a page of conversions and touchpoints as JSON, most recent first; the page bounds the cost."""
    values = {
        **_contact_values(space.id, contact_id, direct=request.direct),
        **_position_bounds(request.position),
        "source_names": list(space.sources.api_names),
        "paid": PAID_IDS,
        "direct": DIRECT_ID,
        "limit": request.per_page + 1,
    }
    statement = queries["journey"].format(order=sort_direction(request.position))
    # Not prepared: a plan that doesn't know the limit and the position may not stop early.
    cursor = await connection.execute(statement, values, prepare=False)
    return make_page(await cursor.fetchall(), request.per_page, request.position, to_key)


async def count_earlier(
    connection: AsyncConnection, space_id: int, contact_id: int, position: Position | None, *, direct: bool
) -> int:
    """Count journey items after a page whose `next` is `position`."""
    if position is None:
        return 0
    values = {**_contact_values(space_id, contact_id, direct=direct), **_position_bounds(position)}
    row = await fetch_one(connection, queries["count_earlier"], values)
    return row[0]


async def fetch_hits(connection: AsyncConnection, space: Space, contact_id: int) -> list[str]:
    values = {
        "space_id": space.id,
        "contact_id": contact_id,
        "source_names": list(space.sources.api_names),
        "most": MAX_HITS,
    }
    cursor = await connection.execute(queries["hits"], values)
    return [line for (line,) in await cursor.fetchall()]


def _contact_values(space_id: int, contact_id: int, *, direct: bool) -> dict[str, Any]:
    hidden_source_id = None if direct else DIRECT_ID
    return {"space_id": space_id, "contact_id": contact_id, "hidden": hidden_source_id}


def _position_bounds(position: Position | None) -> dict[str, Any]:
    """Return a page's bounds in the order (time, rank, id), with rank 1 for conversions and 0 for
    touchpoints. At the position's own time, a page has all items of a kind, none, or those past its id.
    """
    values: dict[str, Any] = {
        "after_time": EVER.start,
        "after_event": 0,
        "after_touch": 0,
        "before_time": EVER.end,
        "before_event": 0,
        "before_touch": 0,
    }
    if position is None:
        return values
    moment, rank, number = from_key(position.key[:1])[0], position.key[1], position.key[2]
    side = "after" if position.backward else "before"
    return values | {
        f"{side}_time": moment,
        f"{side}_event": number if rank else 0,
        f"{side}_touch": _MAX_ID if rank else number,
    }
