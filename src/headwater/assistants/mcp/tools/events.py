"""Tools for events: list with credits, read, record, change and delete."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec.structs import asdict

from headwater.assistants.mcp.confirmation import CONFIRM, PREVIEW, find_preview, read_confirmation
from headwater.assistants.mcp.context import ToolContext
from headwater.assistants.mcp.pages import PAGING, filled, page_answer, paged
from headwater.assistants.mcp.periods import DATES, PERIODS, with_dates
from headwater.assistants.mcp.tool import (
    ID,
    Arguments,
    Tool,
    as_in,
    describe_arguments,
    make_bare_schema,
    make_page_schema,
    make_schema,
)
from headwater.attribution.trained_models.choice import TRAINED_MODEL, cite
from headwater.events import parameters
from headwater.events.answers import EventAnswer, ListedEvent
from headwater.events.fields import complete_fields
from headwater.events.filters import AMOUNT_MAX, AMOUNT_MIN, EVENT_NAMES_PARAMETER, QUERY_MODE
from headwater.events.models import ListEvents
from headwater.events.queries import fetch_event, list_events, lock_event, queries, sum_refunds
from headwater.events.trained_selection import load_listing
from headwater.events.updates import CHANGE, read_change
from headwater.forwarding.deliveries.changes import change_event, remove_event
from headwater.forwarding.deliveries.delivery_log import list_event_deliveries
from headwater.http.inputs.parameters import JsonInput
from headwater.http.json_decoder import encode_exact
from headwater.http.openapi import NUMBER_OR_NULL, TEXT, object_schema
from headwater.intake.inbox.accepted_rows import NewRow
from headwater.intake.inbox.inbox import Request
from headwater.intake.ingest.endpoints import TRACKING
from headwater.intake.ingest.payload import EVENT_FORM
from headwater.intake.ingest.schemas import INGEST_SCHEMAS
from headwater.people.contacts import filters
from headwater.people.identity.senders import Sender
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.currencies import AMOUNT_FIELDS

_EVENT_ID = {"event_id": {**ID, "description": "The event's id, from list_events."}}
_PERIOD = object_schema({"start_date": TEXT, "end_date": TEXT})
_UNKNOWN = "Find the event's id with list_events."


async def _list_events(context: ToolContext, arguments: Arguments) -> Any:
    current_time = datetime.now(UTC)
    space = await context.load_space()
    dated_arguments = with_dates(paged(_with_fields(arguments)), space, current_time, DEFAULT_PERIOD)
    query = JsonInput(dated_arguments)
    cursors = parameters.cursors(query, context.services.signing_key, context.space_id)
    listing = _with_amounts(parameters.read_list_events(query, space, cursors, current_time))
    async with context.transaction(heavy=listing.by_amount) as connection:
        await connection.execute(queries["snapshot"])
        listing, trained_model = await load_listing(connection, space.id, listing)
        page = await list_events(connection, space.id, listing)
    period = {date.name: dated_arguments[date.name] for date in DATES.parameters}
    cited = {} if trained_model is None else {TRAINED_MODEL.name: asdict(cite(trained_model))}
    return {**page_answer(page, cursors), "period": period, **cited}


def _with_fields(arguments: Arguments) -> Arguments:
    """Return arguments with the most useful fields as the default."""
    if arguments.get(parameters.FIELDS_PARAMETER.name) is not None:
        return arguments
    credited = arguments.get(parameters.SOURCES_PARAMETER.name) is not None
    fields = [*USUAL_FIELDS, *(USUAL_FIELDS_OF_TOUCHES if credited else ())]
    return {**arguments, parameters.FIELDS_PARAMETER.name: fields}


def _with_amounts(listing: ListEvents) -> ListEvents:
    """Return the list with each row's currency, regardless of the selected fields."""
    selection = listing.selection
    fields = complete_fields((*selection.fields, *AMOUNT_FIELDS), credited=selection.attribution is not None)
    return replace(listing, selection=replace(selection, fields=fields))


async def _get_event(context: ToolContext, arguments: Arguments) -> Any:
    async with context.transaction() as connection:
        event = await fetch_event(connection, context.space_id, arguments["event_id"])
    return msgspec.json.decode(event)


async def _track_event(context: ToolContext, arguments: Arguments) -> Any:
    event = EVENT_FORM.accept(encode_exact(arguments), time.time())
    row = NewRow("event", msgspec.json.encode(event), Sender.ASSISTANT)
    limit = context.limit(TRACKING)
    request = Request(context.space_id, limit, 1, [row])
    await context.inbox.put(request)
    return {"message": "The event is queued.", "receipt_id": str(request.receipts[0])}


async def _update_amount(context: ToolContext, arguments: Arguments) -> Any:
    change = read_change({"amount": arguments["amount"]})
    event_id = arguments["event_id"]
    async with context.transaction() as connection:
        await lock_event(connection, context.space_id, event_id)
        before = await fetch_event(connection, context.space_id, event_id)
        await change_event(connection, context.space_id, event_id, change)
        await context.note(
            connection, "update_event_amount", AuditChange("event", event_id, fields=["amount"])
        )
        count, amount = await sum_refunds(connection, context.space_id, event_id)
        after = msgspec.json.decode(await fetch_event(connection, context.space_id, event_id))
    refunds = {"count": count, "amount": float(amount)}
    return {
        "message": "Event updated." if not count else _REFUNDED,
        "amount_before": msgspec.json.decode(before)["amount"],
        **{name: after[name] for name in ("amount", *AMOUNT_FIELDS)},
        "refunds_of_its_order": refunds,
    }


async def _delete_event(context: ToolContext, arguments: Arguments) -> Any:
    confirmation = read_confirmation(arguments)
    event_id, tool_name = arguments["event_id"], "delete_event"
    async with context.transaction() as connection:
        await lock_event(connection, context.space_id, event_id)
        event = msgspec.json.decode(await fetch_event(connection, context.space_id, event_id))
        deliveries = await list_event_deliveries(connection, context.space_id, event_id)
        would_go = {"event": filled(event), "deliveries": _count_by_status(deliveries)}
        if (preview := find_preview(context, tool_name, would_go, confirmation)) is not None:
            return preview
        await remove_event(connection, context.space_id, event_id)
        await context.note(connection, tool_name, AuditChange("event", event_id))
    return {"message": "Event deleted."}


def _count_by_status(deliveries: list[str]) -> dict[str, int]:
    return Counter(msgspec.json.decode(line)["status"] for line in deliveries)


DEFAULT_PERIOD = "last 30 days"
USUAL_FIELDS = ("event_name", "amount", "profile_id", "order_id")
USUAL_FIELDS_OF_TOUCHES = ("source", "campaign_id", "campaign_name")
_REFUNDED = (
    "Event updated. Its order has refunds, which are events of their own with negative amounts: "
    "revenue counts them besides the new amount."
)
_FIELDS = replace(
    parameters.FIELDS_PARAMETER,
    kind=parameters.FIELDS_PARAMETER.kind.documented(type="string"),
    description=(
        "What a row shows besides id, time and currency; "
        f"{', '.join(USUAL_FIELDS)} if left out. "
        "Also: configured_name, company_id, is_upsell, order_name, event_url, heard_about_us, "
        "self_reported_source; with sources: source, touchpoint_id, and …_id and …_name of "
        "campaign, adset, ad, account."
    ),
)
_LISTED = (
    describe_arguments(*PERIODS, parameters.ORDER_BY, parameters.SOURCES_PARAMETER)
    | as_in(
        "query_report",
        describe_arguments(
            AMOUNT_MIN,
            AMOUNT_MAX,
            EVENT_NAMES_PARAMETER,
            parameters.MODEL,
            parameters.WINDOW,
            QUERY_MODE,
            TRAINED_MODEL,
        )
        | filters.ARGUMENT,
    )
    | describe_arguments(_FIELDS, *PAGING)
)

TOOLS = (
    Tool(
        name="list_events",
        title="List events",
        description=(
            f"Single events (purchases, sign-ups, …) of a period ({DEFAULT_PERIOD} if left out), "
            "newest or largest first; refunds are purchases with negative amounts. For totals use "
            "query_report."
        ),
        arguments=_LISTED,
        answer=make_page_schema(make_schema(ListedEvent), period=_PERIOD),
        call=_list_events,
    ),
    Tool(
        name="get_event",
        title="Get an event",
        description="One event by its id. Where it came from: explain_attribution.",
        arguments=_EVENT_ID,
        required=("event_id",),
        answer=make_bare_schema(EventAnswer),
        call=_get_event,
        hint=_UNKNOWN,
    ),
    Tool(
        name="track_event",
        title="Record an event",
        description=(
            "Record something that happened, now or in the past. It needs an e-mail, a trk_token, "
            "or a fingerprint with an ip. Give an idempotency_key, so that recording it twice "
            "counts once."
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
            "Correct an event's amount, or clear it with null. Not for refunds: they are "
            "purchases with a negative amount and would be deducted twice; the answer lists "
            "the order's refunds. Google and Microsoft ads get corrections."
        ),
        arguments=_EVENT_ID | CHANGE.schema["properties"],
        required=("event_id", "amount"),
        answer=object_schema(
            {
                "message": TEXT,
                "amount_before": NUMBER_OR_NULL,
                "amount": NUMBER_OR_NULL,
                "currency": TEXT,
                "amount_in_space_currency": NUMBER_OR_NULL,
                "refunds_of_its_order": object_schema(
                    {"count": {"type": "integer"}, "amount": {"type": "number"}}
                ),
            }
        ),
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
        description=(
            "Delete an event permanently, in two calls: the first shows it, the second confirms it."
        ),
        arguments=_EVENT_ID | describe_arguments(CONFIRM),
        required=("event_id",),
        answer=object_schema(PREVIEW, "would_go", "confirm"),
        call=_delete_event,
        writes=True,
        destructive=True,
        idempotent=True,
        hint=_UNKNOWN,
    ),
)
