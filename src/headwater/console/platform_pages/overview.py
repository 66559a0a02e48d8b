"""Connected and available ad platforms."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from headwater.console.platform_pages import destination_state as standing
from headwater.console.platform_pages.outcome_days import OUTCOMES, read_outcome_days
from headwater.console.visits import PageVisit, SpacePages
from headwater.forwarding.deliveries.delivery_counts import count_waiting
from headwater.forwarding.destinations.destinations import list_destinations
from headwater.forwarding.platforms.platform import DAY
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.sources.titles import format_title

ROUTES = SpacePages("/platforms")


@ROUTES.page()
async def show_platforms(visit: PageVisit) -> Response:
    connection, space = visit.connection, visit.space
    rows = await list_destinations(connection, space.id, most_counted=0)
    ids = [row.id for row in rows]
    values: dict[str, Any] = {
        "rows": rows,
        "days": await read_outcome_days(connection, space, ids),
        "waiting": await count_waiting(connection, space.id, ids),
        "outcomes": OUTCOMES,
        "standing": standing,
        "platforms": PLATFORMS,
        "day": DAY,
        "format_title": format_title,
        "base": visit.path("/platforms"),
    }
    return visit.render("platforms.html", values)
