"""API endpoints of deliveries. Each handler owns its transaction."""

from __future__ import annotations

from headwater.api.destinations import DESTINATION_ID
from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation, PathParameter
from headwater.forwarding.deliveries import delivery_log, parameters, schemas
from headwater.forwarding.deliveries.answers import (
    DeliveryDetail,
    DeliveryList,
    DeliveryPage,
    DeliveryPreview,
    ReplayResult,
)
from headwater.forwarding.deliveries.preview import load_preview
from headwater.forwarding.destinations.destinations import fetch_destination
from headwater.http.inputs.pagination import answer_page, read_page
from headwater.http.rate_limits import RateLimit
from headwater.spaces.audit.entries import AuditChange


async def list_deliveries(call: Call) -> DeliveryPage:
    """List deliveries of events to a destination, newest first."""
    destination_id = call.path_id("destination_id")
    delivery_filter = parameters.read_filter(call.query, destination_id)
    cursors = parameters.cursors(call.services.signing_key, call.space_id, delivery_filter)
    per_page, position = read_page(call.query, cursors)
    async with call.services.database.connection() as connection:
        await fetch_destination(connection, call.space_id, destination_id)
        page = await delivery_log.list_deliveries(
            connection, call.space_id, delivery_filter, per_page, position
        )
    return answer_page(DeliveryPage, page, per_page, call.page_link(cursors))


async def replay_deliveries(call: Call) -> ReplayResult:
    """Queue finished deliveries again, under the ids that the platform knows."""
    destination_id = call.path_id("destination_id")
    replay = parameters.read_replay(await call.body())
    async with call.change() as connection:
        result = await delivery_log.replay(connection, call.space_id, destination_id, replay)
        call.note(AuditChange("destination", destination_id, after={"replayed": result.queued}))
        return result


async def list_event_deliveries(call: Call) -> str:
    """List an event's deliveries to all destinations, even if the event is deleted."""
    event_id = call.path_id("event_id")
    async with call.services.database.connection() as connection:
        lines = await delivery_log.list_event_deliveries(connection, call.space_id, event_id)
    return f'{{"data":[{",".join(lines)}]}}'


async def get_delivery(call: Call) -> str:
    """Get a delivery with its attempts, requests and responses."""
    delivery_id = call.path_id("delivery_id")
    async with call.services.database.connection() as connection:
        return await delivery_log.fetch_delivery(connection, call.space_id, delivery_id)


async def preview_delivery(call: Call) -> DeliveryPreview:
    """Show what would be sent to a destination for one event, and what is missing. Nothing is sent."""
    destination_id = call.path_id("destination_id")
    event_id = parameters.PREVIEWED_ID.read(call.query)
    call.query.finish()
    async with call.services.database.connection() as connection:
        return await load_preview(connection, call.space_id, destination_id, event_id)


LISTING = RateLimit("list_deliveries", 60)
_ID = {"pattern": "^[0-9]{1,18}$"}

OPERATIONS = (
    Operation(
        id="list_deliveries",
        method="GET",
        path="/destinations/{destination_id}/deliveries",
        tag="Destinations",
        summary="List Deliveries",
        scope="destinations:read",
        limit=LISTING,
        path_parameters=[DESTINATION_ID],
        parameters=parameters.LIST_DOCUMENTATION,
        answer=DeliveryPage,
        errors=[404],
        handler=list_deliveries,
    ),
    Operation(
        id="replay_deliveries",
        method="POST",
        path="/destinations/{destination_id}/replay",
        tag="Destinations",
        summary="Replay Deliveries",
        scope="destinations:write",
        limit=RateLimit("replay_deliveries", 10),
        path_parameters=[DESTINATION_ID],
        body=schemas.BODY_OF_REPLAY,
        answer=ReplayResult,
        errors=[404],
        handler=replay_deliveries,
    ),
    Operation(
        id="preview_delivery",
        method="GET",
        path="/destinations/{destination_id}/preview",
        tag="Destinations",
        summary="Preview Delivery",
        scope="destinations:read",
        limit=RateLimit("preview_delivery", 60),
        path_parameters=[DESTINATION_ID],
        parameters=[parameters.PREVIEWED_ID.openapi()],
        answer=DeliveryPreview,
        errors=[404],
        handler=preview_delivery,
    ),
    Operation(
        id="list_event_deliveries",
        method="GET",
        path="/events/{event_id}/deliveries",
        tag="Destinations",
        summary="List an event's deliveries",
        scope="destinations:read",
        limit=LISTING,
        path_parameters=[PathParameter("event_id", "The event's id.", _ID)],
        answer=DeliveryList,
        errors=[404],
        handler=list_event_deliveries,
    ),
    Operation(
        id="get_delivery",
        method="GET",
        path="/deliveries/{delivery_id}",
        tag="Destinations",
        summary="Get Delivery",
        scope="destinations:read",
        limit=RateLimit("get_delivery", 120),
        path_parameters=[PathParameter("delivery_id", "The delivery's id.", _ID)],
        answer=DeliveryDetail,
        errors=[404],
        handler=get_delivery,
    ),
)
