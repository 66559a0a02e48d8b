"""Tools for data quality: destinations, deliveries to ad platforms, and rejected events."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from headwater.assistants.mcp.context import ToolContext
from headwater.assistants.mcp.pages import PAGING, filled, page_answer, paged
from headwater.assistants.mcp.periods import DATES, PERIODS, with_dates
from headwater.assistants.mcp.tool import (
    Arguments,
    Tool,
    as_in,
    describe_arguments,
    make_page_schema,
    make_schema,
)
from headwater.forwarding.deliveries import parameters
from headwater.forwarding.deliveries.answers import DeliveryAnswer
from headwater.forwarding.deliveries.delivery_log import DeliveryFilter, count_deliveries, list_deliveries
from headwater.forwarding.destinations.answers import describe_destination
from headwater.forwarding.destinations.destinations import fetch_destination, list_destinations
from headwater.forwarding.platforms import registry
from headwater.http.inputs.fields import one_of, whole_number
from headwater.http.inputs.pagination import Cursors, read_page
from headwater.http.inputs.parameters import Input, JsonInput, Parameter
from headwater.http.inputs.timerange import EVER
from headwater.http.openapi import TEXT, object_schema
from headwater.intake.inbox.rejected import list_rejected_events
from headwater.intake.inbox.rows import RejectReason
from headwater.spaces.models import Space

_DESTINATION_ID = Parameter(
    name="destination_id", kind=whole_number(1, 10**18 - 1), description="Only for this destination."
)
_PLATFORM = Parameter(
    name="platform", kind=one_of(tuple(registry.PLATFORMS)), description="Only for this platform."
)
_REASON = replace(
    parameters.REASON,
    kind=parameters.REASON.kind.documented(type="string"),
    description="Only deliveries with this reason.",
)
_SOUGHT = (_PLATFORM, _DESTINATION_ID, parameters.EVENT_ID, parameters.STATUS, _REASON)
MOST_COUNTED = 50_000


async def _list_deliveries(context: ToolContext, arguments: Arguments) -> Any:
    space = await context.load_space()
    query = JsonInput(with_dates(paged(arguments), space, datetime.now(UTC)))
    delivery_filter = _read_filter(query, space)
    cursors = parameters.cursors(context.services.signing_key, context.space_id, delivery_filter)
    per_page, position = read_page(query, cursors)
    async with context.transaction() as connection:
        if delivery_filter.destination_id is not None:
            await fetch_destination(connection, context.space_id, delivery_filter.destination_id)
        page = await list_deliveries(connection, context.space_id, delivery_filter, per_page, position)
        counts = await count_deliveries(connection, context.space_id, delivery_filter, MOST_COUNTED)
    return {**page_answer(page, cursors), "counts": counts}


def _read_filter(query: Input, space: Space) -> DeliveryFilter:
    time = DATES.read_time(query, space.zone, EVER)
    return replace(
        parameters.read_filter(query, 0),
        destination_id=_DESTINATION_ID.read(query),
        platform=_PLATFORM.read(query),
        **({} if time is EVER else {"start": time.start, "end": time.end}),
    )


async def _list_destinations(context: ToolContext, _: Arguments) -> Any:
    async with context.transaction() as connection:
        rows = await list_destinations(connection, context.space_id)
    descriptions = [msgspec.to_builtins(describe_destination(row)) for row in rows]
    return {"rows": [filled({name: row[name] for name in _LISTED}) for row in descriptions]}


_LISTED = (
    "id",
    "platform",
    "name",
    "status",
    "status_reason",
    "all_events",
    "mapping",
    "warnings",
    "deliveries",
    "created_at",
)
"""Members of a destination shown to assistants, without settings and secrets."""


async def _list_rejected(context: ToolContext, arguments: Arguments) -> Any:
    query = JsonInput(paged(arguments))
    cursors = Cursors(context.services.signing_key, context.space_id, "/rejected", [])
    per_page, position = read_page(query, cursors)
    async with context.transaction() as connection:
        page = await list_rejected_events(connection, context.space_id, per_page, position)
    return page_answer(page, cursors)


TOOLS = (
    Tool(
        name="list_deliveries",
        title="List deliveries",
        description=(
            "Deliveries to ad platforms, latest first, and their number by status (`counts`). The time is "
            "when the event was stored."
        ),
        arguments=describe_arguments(*_SOUGHT) | as_in("list_events", describe_arguments(*PERIODS, *PAGING)),
        answer=make_page_schema(
            make_schema(DeliveryAnswer),
            counts={"type": "object", "description": f"By status, of the latest {MOST_COUNTED} at most."},
        ),
        call=_list_deliveries,
        hint="Find the destination's id with list_destinations.",
    ),
    Tool(
        name="list_destinations",
        title="List destinations",
        description=(
            "The accounts of ad platforms that events are forwarded to: state, what each event is "
            "sent as, and deliveries by status."
        ),
        answer=object_schema({"rows": {"type": "array", "items": {"type": "object"}}}),
        call=_list_destinations,
    ),
    Tool(
        name="list_rejected_events",
        title="List rejected events",
        description=(
            "What was accepted but could not be stored, the latest first, and why. What it held "
            "is not shown. An operator can replay it with `headwater queue replay`."
        ),
        arguments=as_in("list_events", describe_arguments(*PAGING)),
        answer=make_page_schema(
            object_schema(
                {
                    "receipt_id": TEXT,
                    "kind": TEXT,
                    "reason": {"enum": [str(reason) for reason in RejectReason]},
                    "detail": TEXT,
                    "received_at": TEXT,
                    "rejected_at": TEXT,
                }
            )
        ),
        call=_list_rejected,
    ),
)
