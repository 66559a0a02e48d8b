"""Tools about failures: deliveries that ad platforms did not get, and rejected events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headwater.deliveries import parameters
from headwater.deliveries.delivery_log import list_deliveries
from headwater.deliveries.schemas import PAGE as DELIVERIES
from headwater.destinations.destinations import fetch_destination
from headwater.http.fields import whole_number
from headwater.http.openapi import TEXT, object_schema
from headwater.http.pagination import Cursors
from headwater.http.parameters import JsonInput, Parameter
from headwater.inbox.rejected import list_rejected_events
from headwater.inbox.rows import RejectReason
from headwater.mcp.context import ToolContext
from headwater.mcp.pages import PAGING, PER_PAGE, page_answer, paged
from headwater.mcp.tool import Arguments, Tool, arguments_of, list_of, rows_schema

_DESTINATION_ID = Parameter(
    name="destination_id", kind=whole_number(1, 10**18 - 1),
    description="Only what went, or should have gone, to this destination.",
)  # fmt: skip
_SOUGHT = (_DESTINATION_ID, parameters.EVENT_ID, parameters.STATUS, parameters.REASON)


async def _list_deliveries(context: ToolContext, arguments: Arguments) -> Any:
    query = JsonInput(paged(arguments))
    destination_id = _DESTINATION_ID.read(query)
    sought = replace(parameters.read_filter(query, 0), destination_id=destination_id)
    cursors = parameters.cursors(context.service.signing_key, context.space_id, sought)
    per_page, at = parameters.read_page(query, cursors)
    async with context.transaction() as connection:
        if destination_id is not None:
            await fetch_destination(connection, context.space_id, destination_id)
        page = await list_deliveries(connection, context.space_id, sought, per_page, at)
    return page_answer(page, cursors)


async def _list_rejected(context: ToolContext, arguments: Arguments) -> Any:
    query = JsonInput(paged(arguments))
    cursors = Cursors(context.service.signing_key, context.space_id, "/rejected", [])
    per_page, at = PER_PAGE.read(query) or 0, cursors.read_from(query)
    query.finish()
    async with context.transaction() as connection:
        page = await list_rejected_events(connection, context.space_id, per_page, at)
    return page_answer(page, cursors)


TOOLS = (
    Tool(
        name="list_deliveries",
        title="List deliveries",
        description=(
            "What became of events at the ad platforms, the latest first: delivered, failed, "
            "skipped and why, or still waiting. `error` says what a platform answered."
        ),
        arguments=arguments_of(*_SOUGHT, *PAGING),
        answer=list_of(rows_schema(DELIVERIES)),
        call=_list_deliveries,
        hint="Leave out destination_id; the rows of list_deliveries tell which there are.",
    ),
    Tool(
        name="list_rejected_events",
        title="List rejected events",
        description=(
            "What was accepted but could not be stored, the latest first, and why. What it held "
            "is not shown. An operator can replay it with `headwater queue replay`."
        ),
        arguments=arguments_of(*PAGING),
        answer=list_of(
            object_schema(
                {
                    "receipt_id": TEXT, "kind": TEXT,
                    "reason": {"enum": [str(reason) for reason in RejectReason]},
                    "detail": TEXT, "received_at": TEXT, "rejected_at": TEXT,
                }
            )
        ),
        call=_list_rejected,
    ),
)  # fmt: skip
