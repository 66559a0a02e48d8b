"""What would be sent to a destination for one order, field by field."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from starlette.responses import Response

from headwater.console.platform_pages.wizard import fetch_destination, known_platform
from headwater.console.visits import PageVisit, SpacePages
from headwater.events.queries import find_order
from headwater.forwarding.deliveries.preview import load_preview
from headwater.http.errors import Invalid, NotFound
from headwater.http.inputs.path_parameters import parse_id

ROUTES = SpacePages("/platforms/{destination_id}/preview")
LONGEST_NUMBER = 255


@ROUTES.page()
async def show_preview(visit: PageVisit) -> Response:
    row = await fetch_destination(visit)
    platform = known_platform(row)
    number = (visit.query.single("order") or "").strip()[:LONGEST_NUMBER]
    visit.query.finish()
    preview = None
    with suppress(NotFound):
        event_id = await _find_event(visit, number) if number else None
        preview = await load_preview(visit.connection, visit.space.id, row.id, event_id)
    values: dict[str, Any] = {
        "row": row,
        "platform": platform,
        "number": number,
        "preview": preview,
        "base": visit.path("/platforms"),
    }
    return visit.render("platform_preview.html", values, 404 if number and preview is None else 200)


async def _find_event(visit: PageVisit, number: str) -> int:
    """Return the first event of an order, else take the number for an event's id. Raises NotFound."""
    event_ids = await find_order(visit.connection, visit.space.id, number, 1)
    try:
        return event_ids[0] if event_ids else parse_id("order", number)
    except Invalid:
        raise NotFound("Event") from None
