"""Tools about events: lists with credits, one event, recording, changing and deleting."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import msgspec

from headwater.contacts import filters
from headwater.deliveries.removal import remove_event
from headwater.events import parameters
from headwater.events.queries import fetch_event, list_events, queries
from headwater.events.schemas import BODY_OF_CHANGE, EVENT, PAGE
from headwater.events.updates import read_change, update_event
from headwater.http.json_decoder import refuse_bad_text
from headwater.http.openapi import object_schema
from headwater.http.parameters import JsonInput
from headwater.identity.senders import Sender
from headwater.inbox.inbox import Request
from headwater.ingest.endpoints import TRACKING
from headwater.ingest.payload import EVENT_FORM
from headwater.ingest.schemas import INGEST_SCHEMAS
from headwater.mcp.context import ToolContext
from headwater.mcp.pages import PAGING, page_answer, paged
from headwater.mcp.tool import (
    ID,
    Arguments,
    Tool,
    answer_of,
    arguments_of,
    list_of,
    required_of,
    rows_schema,
    schema_of,
)

_EVENT_ID = {"event_id": {**ID, "description": "The event's id, from list_events."}}
_DONE = object_schema({"message": {"type": "string"}})
_ENCODER = msgspec.json.Encoder(decimal_format="number")
_UNKNOWN = "Find the event's id with list_events."


async def _list_events(context: ToolContext, arguments: Arguments) -> Any:
    query = JsonInput(paged(arguments))
    cursors = parameters.cursors(query, context.service.signing_key, context.space_id)
    async with context.transaction() as connection:
        await connection.execute(queries["snapshot"])
        space = await context.space(connection)
        listing = parameters.read_list_events(query, space, cursors, datetime.now(UTC))
        page = await list_events(connection, space.id, listing)
    return page_answer(page, cursors)


async def _get_event(context: ToolContext, arguments: Arguments) -> Any:
    async with context.transaction() as connection:
        event = await fetch_event(connection, context.space_id, arguments["event_id"])
    return msgspec.json.decode(event)


async def _track_event(context: ToolContext, arguments: Arguments) -> Any:
    refuse_bad_text(arguments)
    row = msgspec.json.encode(EVENT_FORM.accept(_ENCODER.encode(arguments), time.time()))
    limit = context.limit(TRACKING)
    request = Request(context.space_id, limit, 1, [row], sender=Sender.ASSISTANT)
    await context.service.inbox.put(request)
    return {"message": "The event is queued.", "receipt_id": str(request.receipts[0])}


async def _update_amount(context: ToolContext, arguments: Arguments) -> Any:
    change = read_change({"amount": arguments["amount"]})
    async with context.transaction() as connection:
        await update_event(connection, context.space_id, arguments["event_id"], change)
    return {"message": "Event updated."}


async def _delete_event(context: ToolContext, arguments: Arguments) -> Any:
    async with context.transaction() as connection:
        await fetch_event(connection, context.space_id, arguments["event_id"])
        await remove_event(connection, context.space_id, arguments["event_id"])
    return {"message": "Event deleted."}


_LISTED = (*parameters.TIME.parameters, *parameters.SELECTION, *PAGING)

TOOLS = (
    Tool(
        name="list_events",
        title="List events",
        description=(
            "Single events (purchases, sign-ups, leads, …) of a time range, newest first. With "
            "`sources`, an attribution model and a window: one row for each touchpoint that gets "
            "credit, `amount` being the credit. For totals by channel, campaign, day or country "
            "use query_report instead; it is one call and adds up everything."
        ),
        arguments=arguments_of(*_LISTED) | filters.ARGUMENT,
        required=required_of(*_LISTED),
        answer=list_of(rows_schema(PAGE)),
        call=_list_events,
    ),
    Tool(
        name="get_event",
        title="Get an event",
        description="One event by its id. To see where it came from, use explain_attribution.",
        arguments=_EVENT_ID,
        required=("event_id",),
        answer=answer_of(EVENT),
        call=_get_event,
        hint=_UNKNOWN,
    ),
    Tool(
        name="track_event",
        title="Record an event",
        description=(
            "Record something that happened, now or in the past. It needs an e-mail, a trk_token, "
            "or a fingerprint with an ip. Give an idempotency_key, so that recording it twice "
            "counts once. It is stored within seconds."
        ),
        arguments=INGEST_SCHEMAS["TrackPayload"]["properties"],
        required=("event_name",),
        answer=object_schema({"message": {"type": "string"}, "receipt_id": {"type": "string"}}),
        call=_track_event,
        writes=True,
    ),
    Tool(
        name="update_event_amount",
        title="Change an event's amount",
        description=(
            "Set an event's amount, as after a partial refund, or clear it with null. What was "
            "forwarded to ad platforms before is not changed there."
        ),
        arguments=_EVENT_ID | schema_of(BODY_OF_CHANGE)["properties"],
        required=("event_id", "amount"),
        answer=_DONE,
        call=_update_amount,
        writes=True,
        destructive=True,
        clears=True,
        idempotent=True,
        hint=_UNKNOWN,
    ),
    Tool(
        name="delete_event",
        title="Delete an event",
        description="Delete an event for good. Ask the person first: it cannot be undone.",
        arguments=_EVENT_ID,
        required=("event_id",),
        answer=_DONE,
        call=_delete_event,
        writes=True,
        destructive=True,
        idempotent=True,
        hint=_UNKNOWN,
    ),
)
