"""API endpoints of stored events. Each handler owns its transaction."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import UNSET

from headwater.attribution.trained_models.choice import cite
from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation, PathParameter
from headwater.events import parameters
from headwater.events.answers import EventAnswer, EventDeleted, EventPage
from headwater.events.queries import fetch_event, list_events, queries
from headwater.events.trained_selection import load_listing
from headwater.events.updates import CHANGE, read_change
from headwater.forwarding.deliveries.changes import change_event, remove_event
from headwater.http.answers import Message
from headwater.http.inputs.pagination import answer_page
from headwater.http.inputs.path_parameters import INTEGER_ID, TEXT_ID
from headwater.http.openapi import body
from headwater.http.rate_limits import RateLimit
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.spaces import fetch_space


async def list_stored_events(call: Call) -> EventPage:
    """List events in a time range, or with `sources` their credited sources, newest first."""
    cursors = parameters.cursors(call.query, call.services.signing_key, call.space_id)
    heavy = parameters.is_by_amount(call.query)
    async with call.services.database.transaction(heavy=heavy) as connection:
        await connection.execute(queries["snapshot"])
        space = await fetch_space(connection, call.space_id)
        listing = parameters.read_list_events(call.query, space, cursors, datetime.now(UTC))
        listing, trained_model = await load_listing(connection, call.space_id, listing)
        page = await list_events(connection, call.space_id, listing)
    cited = UNSET if trained_model is None else cite(trained_model)
    return answer_page(EventPage, page, listing.per_page, call.page_link(cursors), trained_model=cited)


async def get_stored_event(call: Call) -> str:
    """Get an event."""
    event_id = call.path_id("event_id")
    async with call.services.database.connection() as connection:
        return await fetch_event(connection, call.space_id, event_id)


async def update_stored_event(call: Call) -> Message:
    """Change or clear an event's amount."""
    event_id = call.path_id("event_id")
    change = read_change(await call.body())
    async with call.change() as connection:
        await change_event(connection, call.space_id, event_id, change)
        call.note(AuditChange("event", event_id, fields=["amount"]))
    return Message("Event updated.")


async def delete_stored_event(call: Call) -> EventDeleted:
    """Permanently delete an event. An unknown id gets the same answer."""
    event_id = call.path_id("event_id")
    async with call.change() as connection:
        await remove_event(connection, call.space_id, event_id)
        call.note(AuditChange("event", event_id))
    return EventDeleted(200, "Event deleted.")


EVENT_ID = PathParameter("event_id", "The event's id.", TEXT_ID)

OPERATIONS = (
    Operation(
        id="list_events",
        method="GET",
        path="/events",
        tag="Events",
        summary="List Events",
        scope="events:read",
        limit=RateLimit("list_events", 30),
        parameters=parameters.DOCUMENTATION,
        answer=EventPage,
        handler=list_stored_events,
    ),
    Operation(
        id="get_event",
        method="GET",
        path="/events/{event_id}",
        tag="Events",
        summary="Get Event",
        scope="events:read",
        limit=RateLimit("get_event", 30),
        path_parameters=[EVENT_ID],
        answer=EventAnswer,
        errors=[404],
        handler=get_stored_event,
    ),
    Operation(
        id="update_event",
        method="PUT",
        path="/events/{event_id}",
        tag="Events",
        summary="Update Event",
        scope="events:write",
        limit=RateLimit("update_event", 60),
        path_parameters=[PathParameter("event_id", "The event's id.", INTEGER_ID)],
        body=body(CHANGE.schema),
        answer=Message,
        errors=[404],
        handler=update_stored_event,
    ),
    Operation(
        id="delete_event",
        method="DELETE",
        path="/events/{event_id}",
        tag="Events",
        summary="Delete Event",
        scope="events:write",
        limit=RateLimit("delete_event", 60),
        path_parameters=[EVENT_ID],
        answer=EventDeleted,
        handler=delete_stored_event,
    ),
)
