"""A delivery: the logged request and the platform's answer."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from headwater.console.platform_pages import destination_state as standing
from headwater.console.platform_pages.wizard import fetch_destination
from headwater.console.visits import PageVisit, SpacePages
from headwater.forwarding.deliveries.delivery_log import FINISHED, REPLAYABLE, fetch_delivery
from headwater.forwarding.deliveries.reasons import REASONS, STATUSES
from headwater.http.errors import NotFound

ROUTES = SpacePages("/platforms/{destination_id}/deliveries/{delivery_id}")


@ROUTES.page()
async def show_delivery(visit: PageVisit) -> Response:
    row = await fetch_destination(visit)
    line = await fetch_delivery(visit.connection, visit.space.id, visit.id("delivery_id"))
    delivery: dict[str, Any] = json.loads(line)
    if delivery["destination_id"] != row.id:
        raise NotFound("Page")
    is_over = delivery["status"] in FINISHED
    values: dict[str, Any] = {
        "row": row,
        "delivery": delivery,
        "base": visit.path("/platforms"),
        "platform": standing.find_platform(row),
        "statuses": STATUSES,
        "skipped": REASONS,
        "sent": _indented(delivery["request"]),
        "answer": _laid_out(delivery["answer"]),
        "is_replayable": is_over and (delivery["reason"] is None or delivery["reason"] in REPLAYABLE),
    }
    return visit.render("delivery.html", values)


def _laid_out(text: str | None) -> str | None:
    """Indent JSON of at most 4 KiB."""
    try:
        return None if text is None else _indented(json.loads(text))
    except (ValueError, RecursionError):  # not JSON, or nested absurdly deep
        return text


def _indented(value: Any) -> str | None:
    """Return JSON indented, text unchanged."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False)
