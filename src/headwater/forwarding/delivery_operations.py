"""The endpoints of deliveries: parse, call, answer. Each owns its transaction."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import msgspec
from fastapi import APIRouter, Path, Request, Response

from headwater.forwarding import delivery_log, parameters, schemas
from headwater.forwarding.destinations import fetch_destination
from headwater.forwarding.operations import JSON, DestinationId
from headwater.http.bodies import read_json
from headwater.http.ids import parse_id
from headwater.http.openapi import problems
from headwater.http.pagination import PageLink, envelope
from headwater.http.parameters import Query
from headwater.spaces.access import Caller, requires

router = APIRouter(tags=["Destinations"])

_ID = {"pattern": "^[0-9]{1,18}$"}
EventId = Annotated[str, Path(description="The event's id.", json_schema_extra=_ID)]
DeliveryId = Annotated[str, Path(description="The delivery's id.", json_schema_extra=_ID)]

Lister = Annotated[Caller, requires("destinations:read", "list_deliveries")]
Getter = Annotated[Caller, requires("destinations:read", "get_delivery")]
Replayer = Annotated[Caller, requires("destinations:write", "replay_deliveries")]


@router.get(
    "/destinations/{destination_id}/deliveries",
    operation_id="list_deliveries",
    summary="List Deliveries",
    responses={200: schemas.PAGE, **problems(401, 403, 404, 422, 429, 503)},
    openapi_extra={"parameters": parameters.LIST_DOCUMENTATION},
)
async def list_deliveries(
    request: Request, destination_id: DestinationId, caller: Lister
) -> Response:
    """List what became of events at a destination, the latest first."""
    headwater = request.app.state.headwater
    query = Query(request.scope["query_string"])
    number = parse_id("destination_id", destination_id)
    sought = parameters.read_sought(query, number)
    cursors = parameters.cursors(headwater.signing_key, caller.space_id, sought)
    per_page, at = parameters.read_page(query, cursors)
    async with headwater.database.connection() as connection:
        await fetch_destination(connection, caller.space_id, number)
        page = await delivery_log.list_deliveries(connection, caller.space_id, sought, per_page, at)
    link = PageLink(headwater.base_url + request.scope["path"], query, cursors)
    return Response(envelope(page, per_page, link), media_type=JSON)


@router.post(
    "/destinations/{destination_id}/replay",
    operation_id="replay_deliveries",
    summary="Replay Deliveries",
    responses={200: schemas.REPLAYED, **problems(401, 403, 404, 413, 415, 422, 429, 503)},
    openapi_extra={"requestBody": schemas.BODY_OF_REPLAY},
)
async def replay_deliveries(
    request: Request, destination_id: DestinationId, caller: Replayer
) -> Response:
    """Queue finished deliveries once more, under the ids that the platform knows them by."""
    number = parse_id("destination_id", destination_id)
    again = parameters.read_again(await read_json(request))
    async with request.app.state.headwater.database.transaction() as connection:
        replayed = await delivery_log.replay(connection, caller.space_id, number, again)
    return Response(msgspec.json.encode(asdict(replayed)), media_type=JSON)


@router.get(
    "/events/{event_id}/deliveries",
    operation_id="list_event_deliveries",
    summary="List an event's deliveries",
    responses={200: schemas.OF_EVENT, **problems(401, 403, 404, 422, 429, 503)},
)
async def list_event_deliveries(request: Request, event_id: EventId, caller: Lister) -> Response:
    """List what became of one event at each destination; a deleted event's stay."""
    number = parse_id("event_id", event_id)
    async with request.app.state.headwater.database.connection() as connection:
        lines = await delivery_log.list_of_event(connection, caller.space_id, number)
    return Response(f'{{"data":[{",".join(lines)}]}}', media_type=JSON)


@router.get(
    "/deliveries/{delivery_id}",
    operation_id="get_delivery",
    summary="Get Delivery",
    responses={200: schemas.DELIVERY, **problems(401, 403, 404, 422, 429, 503)},
)
async def get_delivery(request: Request, delivery_id: DeliveryId, caller: Getter) -> Response:
    """Get one delivery with its attempts, what was sent and what was answered."""
    number = parse_id("delivery_id", delivery_id)
    async with request.app.state.headwater.database.connection() as connection:
        delivery = await delivery_log.fetch_delivery(connection, caller.space_id, number)
    return Response(delivery, media_type=JSON)
