"""The endpoints of stored events: parse, call, answer. Each owns its transaction."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from headwater.events import parameters
from headwater.events.queries import fetch_event, list_events, queries
from headwater.events.schemas import BODY_OF_CHANGE, CHANGED, DELETED, EVENT, PAGE
from headwater.events.updates import delete_event, read_change, update_event
from headwater.http.bodies import read_json
from headwater.http.ids import INTEGER_ID, TEXT_ID, parse_id
from headwater.http.openapi import problems
from headwater.http.pagination import PageLink, envelope
from headwater.http.parameters import Query
from headwater.spaces.access import Caller, requires
from headwater.spaces.spaces import fetch_space

router = APIRouter(tags=["Events"])

JSON = "application/json"

EventId = Annotated[str, Path(description="The event's id.", json_schema_extra=TEXT_ID)]
IntegerEventId = Annotated[
    str, Path(alias="event_id", description="The event's id.", json_schema_extra=INTEGER_ID)
]

Lister = Annotated[Caller, requires("events:read", "list_events")]
Getter = Annotated[Caller, requires("events:read", "get_event")]
Updater = Annotated[Caller, requires("events:write", "update_event")]
Deleter = Annotated[Caller, requires("events:write", "delete_event")]


@router.get(
    "/events",
    operation_id="list_events",
    summary="List Events",
    responses={200: PAGE, **problems(401, 403, 422, 429, 503)},
    openapi_extra={"parameters": parameters.DOCUMENTATION},
)
async def list_stored_events(request: Request, caller: Lister) -> Response:
    """List events of a time range, or with `sources` what they are credited to, newest first."""
    headwater = request.app.state.headwater
    query = Query(request.scope["query_string"])
    cursors = parameters.cursors(query, headwater.signing_key, caller.space_id)
    async with headwater.database.transaction() as connection:
        await connection.execute(queries["snapshot"])
        space = await fetch_space(connection, caller.space_id)
        asked = parameters.read_list_events(query, space, cursors, datetime.now(UTC))
        page = await list_events(connection, caller.space_id, asked)
    link = PageLink(headwater.base_url + request.scope["path"], query, cursors)
    return Response(envelope(page, asked.per_page, link), media_type=JSON)


@router.get(
    "/events/{event_id}",
    operation_id="get_event",
    summary="Get Event",
    responses={200: EVENT, **problems(401, 403, 404, 422, 429, 503)},
)
async def get_stored_event(request: Request, event_id: EventId, caller: Getter) -> Response:
    """Get one event."""
    number = parse_id("event_id", event_id)
    async with request.app.state.headwater.database.connection() as connection:
        event = await fetch_event(connection, caller.space_id, number)
    return Response(event, media_type=JSON)


@router.put(
    "/events/{event_id}",
    operation_id="update_event",
    summary="Update Event",
    responses={200: CHANGED, **problems(401, 403, 404, 413, 415, 422, 429, 503)},
    openapi_extra={"requestBody": BODY_OF_CHANGE},
)
async def update_stored_event(
    request: Request, event_id: IntegerEventId, caller: Updater
) -> Response:
    """Change or clear an event's amount."""
    number = parse_id("event_id", event_id)
    change = read_change(await read_json(request))
    async with request.app.state.headwater.database.transaction() as connection:
        await update_event(connection, caller.space_id, number, change)
    return Response(b'{"message":"Event updated."}', media_type=JSON)


@router.delete(
    "/events/{event_id}",
    operation_id="delete_event",
    summary="Delete Event",
    responses={200: DELETED, **problems(401, 403, 422, 429, 503)},
)
async def delete_stored_event(request: Request, event_id: EventId, caller: Deleter) -> Response:
    """Delete an event for good. An id that does not exist gets the same answer."""
    number = parse_id("event_id", event_id)
    async with request.app.state.headwater.database.transaction() as connection:
        await delete_event(connection, caller.space_id, number)
    return Response(b'{"status":200,"message":"Event deleted."}', media_type=JSON)
