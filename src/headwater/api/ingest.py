"""API endpoints that accept events and touchpoints, and the one that reports their processing.

The first three carry the traffic. They are applications of their own, served before the routes.
"""

from __future__ import annotations

from starlette.types import ASGIApp

from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation, PathParameter
from headwater.http.inputs.path_parameters import TEXT_ID
from headwater.http.rate_limits import RateLimit
from headwater.intake.ingest import schemas
from headwater.intake.ingest.answers import Accepted, BatchAccepted, Receipt
from headwater.intake.ingest.endpoints import (
    EVENTS,
    SCOPE,
    TOUCHPOINTS,
    TRACKING,
    BatchEndpoint,
    Ingest,
    TrackEndpoint,
)
from headwater.intake.ingest.receipts import fetch_receipt
from headwater.intake.protocols.ignored import IgnoredNameList, list_ignored


async def get_receipt(call: Call) -> Receipt:
    """Get the state of an accepted event: queued, stored, duplicate or rejected."""
    receipt_id = call.path_id("receipt_id")
    async with call.services.database.connection() as connection:
        return await fetch_receipt(connection, call.space_id, receipt_id)


async def list_ignored_events(call: Call) -> IgnoredNameList:
    """List the messages of Segment's and RudderStack's libraries, and of GA4's Measurement Protocol, that
    became nothing, by name and reason, the latest first. At most 200 names are counted.
    """
    async with call.services.database.connection() as connection:
        return IgnoredNameList(await list_ignored(connection, call.space_id))


CREATE_EVENT = Operation(
    id="create_event",
    method="POST",
    path="/events/track",
    tag="Ingest",
    summary="Create Event",
    description="Accept one event. A header has the id of a receipt, which shows when the event is stored.",
    scope=SCOPE,
    limit=TRACKING,
    body=schemas.EVENT_BODY,
    status=202,
    answer=Accepted,
    headers=schemas.RECEIPT_HEADERS,
    links=schemas.RECEIPT_LINKS,
    handler=None,
)
CREATE_EVENTS = Operation(
    id="create_events",
    method="POST",
    path="/events/batch",
    tag="Ingest",
    summary="Create up to 1,000 events",
    description="Accept valid events although others are invalid; the answer lists the refused ones.",
    scope=SCOPE,
    limit=TRACKING,
    body=schemas.EVENTS_BODY,
    status=202,
    answer=BatchAccepted,
    handler=None,
)
CREATE_TOUCHPOINTS = Operation(
    id="create_touchpoints",
    method="POST",
    path="/touchpoints/batch",
    tag="Ingest",
    summary="Create up to 1,000 touchpoints",
    description="Accept valid touchpoints although others are invalid; the answer lists the refused ones.",
    scope=SCOPE,
    limit=TRACKING,
    body=schemas.TOUCHPOINTS_BODY,
    status=202,
    answer=BatchAccepted,
    handler=None,
)
GET_RECEIPT = Operation(
    id="get_receipt",
    method="GET",
    path="/receipts/{receipt_id}",
    tag="Ingest",
    summary="Get Receipt",
    scope=SCOPE,
    limit=RateLimit("receipts", 120),
    path_parameters=[PathParameter("receipt_id", "The receipt's id.", TEXT_ID)],
    answer=Receipt,
    errors=[404],
    handler=get_receipt,
)
LIST_IGNORED_EVENTS = Operation(
    id="list_ignored_events",
    method="GET",
    path="/ignored-events",
    tag="Ingest",
    summary="List ignored events",
    scope="events:read",
    limit=RateLimit("list_ignored_events", 30),
    answer=IgnoredNameList,
    handler=list_ignored_events,
)
OPERATIONS = (CREATE_EVENT, CREATE_EVENTS, CREATE_TOUCHPOINTS, GET_RECEIPT, LIST_IGNORED_EVENTS)


def ingest_endpoints(ingest: Ingest) -> dict[Operation, ASGIApp]:
    """Return the applications of operations without a handler."""
    return {
        CREATE_EVENT: TrackEndpoint(ingest),
        CREATE_EVENTS: BatchEndpoint(ingest, EVENTS),
        CREATE_TOUCHPOINTS: BatchEndpoint(ingest, TOUCHPOINTS),
    }
