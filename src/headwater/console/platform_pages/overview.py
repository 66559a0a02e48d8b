"""The page of all ad platforms of a Space: those that are connected, and those that can be."""

from __future__ import annotations

from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.pages import render
from headwater.console.platform_pages import destination_state as standing
from headwater.console.platform_pages.outcome_days import OUTCOMES, read_outcome_days
from headwater.console.visitor import HOME, enter, require_visitor
from headwater.endpoints.services import services
from headwater.forwarding.deliveries.delivery_counts import count_waiting
from headwater.forwarding.destinations.destinations import list_destinations
from headwater.forwarding.platforms.platform import DAY
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.sources.titles import title_of


async def show_platforms(request: Request) -> Response:
    """Show a card for each destination, and the platforms that one can connect."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        rows = await list_destinations(connection, inside.space.id, most_counted=0)
        ids = [row.id for row in rows]
        days = await read_outcome_days(connection, inside.space, ids)
        waiting = await count_waiting(connection, inside.space.id, ids)
    return render(
        request,
        "platforms.html",
        rows=rows,
        days=days,
        waiting=waiting,
        outcomes=OUTCOMES,
        standing=standing,
        platforms=PLATFORMS,
        day=DAY,
        title_of=title_of,
        moment=datetime.fromisoformat,
        base=f"{HOME}/spaces/{inside.space.id}/platforms",
    )


ROUTES = [Route(f"{HOME}/spaces/{{space_id}}/platforms", show_platforms, methods=["GET"])]
