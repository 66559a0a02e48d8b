"""Data received since a site test began, read from a limited number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection

from headwater.alerts.site_tests.models import Arrivals, ArrivedOrder, RepeatedOrder, SiteTest
from headwater.database.queries import Queries, fetch_all, fetch_one, make_cursor

queries = Queries(__name__, "site_tests.sql")

MOST_COUNTED = 10_000
"""The first page views and events to read."""
MOST_ORDERS = 200


async def read_arrivals(
    connection: AsyncConnection, space_id: int, origins: Sequence[str], test: SiteTest
) -> Arrivals:
    """Return data received from these origins since the test began."""
    values: dict[str, Any] = {
        "space_id": space_id,
        "receipt_mark": test.receipt_mark,
        "click_id": test.click_id,
        "patterns": [_pattern(origin) for origin in origins],
        "most": MOST_COUNTED,
        "most_orders": MOST_ORDERS,
    }
    clicked_views, other_views, clicked_contacts, other_contacts = await fetch_one(
        connection, queries["visitor"], values
    )
    is_lost = test.probe is not None and test.probe.lost_between is not None
    counts_all = is_lost and not clicked_views
    values["contacts"] = other_contacts if counts_all else clicked_contacts
    is_identified, has_token = await fetch_one(connection, queries["known"], values)
    (waiting_seconds,) = await fetch_one(connection, queries["waiting"], values)
    return Arrivals(
        page_views=other_views if counts_all else clicked_views,
        other_views=0 if counts_all else other_views,
        is_identified=is_identified,
        has_token=has_token,
        orders=await fetch_all(make_cursor(connection, ArrivedOrder), queries["orders"], values),
        repeated=await fetch_all(make_cursor(connection, RepeatedOrder), queries["repeated"], values),
        waiting_seconds=waiting_seconds,
    )


def _pattern(origin: str) -> str:
    """Return the LIKE pattern of an origin's page addresses; `*.` matches any host."""
    escaped = origin.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("://*.", "://%.") + "/%"
