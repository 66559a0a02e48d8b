"""The page of one delivery: what was sent of an event, as the log keeps it, and what the platform
answered.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.pages import render
from headwater.console.platform_pages import destination_state as standing
from headwater.console.platform_pages.wizard import base_of, enter_destination
from headwater.console.visitor import HOME, read_id
from headwater.endpoints.services import services
from headwater.forwarding.deliveries.delivery_log import FINISHED, REPLAYABLE, fetch_delivery
from headwater.forwarding.deliveries.reasons import REASONS, STATUSES
from headwater.http.errors import NotFound

_MOMENTS = ("due_at", "created_at", "finished_at")


async def show_delivery(request: Request) -> Response:
    """Show one delivery."""
    delivery_id = read_id(request, "delivery_id")
    async with services(request).database.connection() as connection:
        inside, row = await enter_destination(connection, request)
        delivery: dict[str, Any] = json.loads(await fetch_delivery(connection, inside.space.id, delivery_id))
    if delivery["destination_id"] != row.id:
        raise NotFound("Page")
    for name in _MOMENTS:
        delivery[name] = datetime.fromisoformat(delivery[name]) if delivery[name] else None
    for attempt in delivery["history"]:
        attempt["attempted_at"] = datetime.fromisoformat(attempt["attempted_at"])
    is_over = delivery["status"] in FINISHED
    replayable = is_over and (delivery["reason"] is None or delivery["reason"] in REPLAYABLE)
    return render(
        request,
        "delivery.html",
        row=row,
        delivery=delivery,
        base=base_of(inside),
        platform=standing.platform_of(row),
        statuses=STATUSES,
        skipped=REASONS,
        sent=_indented(delivery["request"]),
        answer=_laid_out(delivery["answer"]),
        is_replayable=replayable,
    )


def _laid_out(text: str | None) -> str | None:
    """Return an answer, of 4 KiB at most, on several lines if it is JSON; else as it is."""
    try:
        return None if text is None else _indented(json.loads(text))
    except (ValueError, RecursionError):  # no JSON, or nested to no purpose
        return text


def _indented(value: Any) -> str | None:
    """Return a value as it is read: JSON on several lines, text as it is."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False)


ROUTES = [
    Route(
        f"{HOME}/spaces/{{space_id}}/platforms/{{destination_id}}/deliveries/{{delivery_id}}",
        show_delivery,
        methods=["GET"],
    )
]
