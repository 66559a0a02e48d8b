"""Arrivals of the last half hour.

A script reloads the list while the page is visible. Without scripts there is a link, and an option to reload
automatically.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.live_pages.arrival_lines import describe
from headwater.console.live_pages.arrivals import (
    KINDS,
    MINUTES,
    MOST_ARRIVALS,
    ArrivalsFeed,
    ArrivalsSnapshot,
    Minute,
)
from headwater.console.pages import render
from headwater.console.visitor import HOME, admit, enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.inputs.parameters import Query
from headwater.spaces.models import Space

CHOICES = {
    "": "Everything",
    "visits": "Visits",
    "events": "Events",
    "touchpoints": "Touchpoints",
    "waiting": "Waiting",
    "problems": "Left out",
}
RELOAD_SECONDS = 15
BAR_HEIGHT = 72


async def show_live(request: Request) -> Response:
    visitor = await require_visitor(request)
    choice, reloads = _read_choices(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        snapshot = await _feed(request).fetch(connection, inside.space.id)
    response = render(
        request,
        "live.html",
        fetches=True,
        choices=CHOICES,
        reloads=reloads,
        reload_seconds=RELOAD_SECONDS,
        **_values(inside.space, snapshot, choice),
    )
    if reloads:
        response.headers["Refresh"] = str(RELOAD_SECONDS)
    return response


async def show_latest(request: Request) -> Response:
    """Show only the list, without loading the page frame; 304 if unchanged."""
    visitor = await require_visitor(request)
    choice, _ = _read_choices(request)
    async with services(request).database.connection() as connection:
        space, _ = await admit(connection, request, visitor)
        snapshot = await _feed(request).fetch(connection, space.id)
        headers = {"ETag": f'"{snapshot.tag}"'}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(None, 304, headers)
    # All viewers of the Space share one rendered list.
    key = (choice, space.timezone, space.currency)
    if key not in snapshot.rendered:
        rendered = render(request, "live_list.html", **_values(space, snapshot, choice))
        snapshot.rendered[key] = bytes(rendered.body)
    headers["Content-Type"] = "text/html; charset=utf-8"
    return Response(snapshot.rendered[key], 200, headers)


def _read_choices(request: Request) -> tuple[str, bool]:
    query = Query(request.scope["query_string"])
    kind = query.single("kind") or ""
    return (kind if kind in KINDS else "", query.single("reload") == "on")


def _feed(request: Request) -> ArrivalsFeed:
    state = request.app.state
    if not hasattr(state, "arrivals"):
        state.arrivals = ArrivalsFeed()
    return state.arrivals


def _values(space: Space, snapshot: ArrivalsSnapshot, choice: str) -> dict[str, Any]:
    base = f"{HOME}/spaces/{space.id}"
    highest = max((minute.total for minute in snapshot.minutes), default=0)
    return {
        "base": base,
        "page_path": f"{base}/live",
        "choice": choice,
        "snapshot": snapshot,
        "lines": [describe(arrival, space, base) for arrival in snapshot.of(choice)],
        "zone": space.timezone,
        "most": MOST_ARRIVALS,
        "window": MINUTES,
        "height": BAR_HEIGHT,
        "views": sum(minute.views for minute in snapshot.minutes),
        "events": sum(minute.events for minute in snapshot.minutes),
        "bars": [_heights(minute, highest) for minute in snapshot.minutes],
    }


def _heights(minute: Minute, highest: int) -> tuple[int, int]:
    """Return the heights of stacked bars: page views, then events."""
    if not highest:
        return 0, 0
    height = round(BAR_HEIGHT * minute.total / highest)
    views = round(BAR_HEIGHT * minute.views / highest)
    return views, height - views


_PATH = f"{HOME}/spaces/{{space_id}}/live"
ROUTES = [Route(_PATH, show_live, methods=["GET"]), Route(f"{_PATH}/latest", show_latest, methods=["GET"])]
