"""API endpoints of destinations. Each handler owns its transaction."""

from __future__ import annotations

from functools import partial

from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation, PathParameter, changes_row
from headwater.forwarding.deliveries import changes
from headwater.forwarding.deliveries.held_amounts import HeldAmountList, sum_held_amounts
from headwater.forwarding.destinations import destinations, schemas
from headwater.forwarding.destinations.answers import (
    DestinationAnswer,
    DestinationList,
    PlatformList,
    describe_destination,
    describe_platform,
)
from headwater.forwarding.destinations.destination_check import DestinationCheck, check_destination
from headwater.forwarding.destinations.inputs import read_new
from headwater.forwarding.platforms import registry
from headwater.http.answers import Message
from headwater.http.rate_limits import RateLimit


async def list_platforms(_: Call) -> PlatformList:
    """List the ad platforms that can receive events, and their settings."""
    return PlatformList([describe_platform(platform) for platform in registry.PLATFORMS.values()])


async def list_destinations(call: Call) -> DestinationList:
    """List the Space's destinations, oldest first."""
    async with call.services.database.connection() as connection:
        rows = await destinations.list_destinations(connection, call.space_id)
    return DestinationList([describe_destination(row) for row in rows])


async def create_destination(call: Call) -> DestinationAnswer:
    """Start forwarding events to an ad platform account."""
    new = read_new(await call.body())
    async with call.change() as connection:
        destination = await destinations.create_destination(
            connection, call.space_id, new, call.services.sealing_key
        )
    return describe_destination(destination)


async def get_destination(call: Call) -> DestinationAnswer:
    """Get a destination."""
    destination_id = call.path_id("destination_id")
    async with call.services.database.connection() as connection:
        destination = await destinations.fetch_destination(connection, call.space_id, destination_id)
    return describe_destination(destination)


async def update_destination(call: Call) -> DestinationAnswer:
    """Change a destination. `settings` and `event_names` are replaced as a whole, secrets one by one."""
    destination_id = call.path_id("destination_id")
    body = await call.body()
    async with call.change() as connection:
        destination = await destinations.change_destination(
            connection, call.space_id, destination_id, body, call.services.sealing_key
        )
    return describe_destination(destination)


async def delete_destination(call: Call) -> Message:
    """Remove a destination and its secrets. Queued events are skipped."""
    destination_id = call.path_id("destination_id")
    async with call.change() as connection:
        await changes.remove_destination(connection, call.space_id, destination_id)
    return Message("Destination removed.")


async def test_destination(call: Call) -> DestinationCheck:
    """Send a test event in the platform's test mode, where it doesn't count."""
    destination_id = call.path_id("destination_id")
    shared = call.services
    check, _ = await check_destination(
        shared.database.transaction,
        shared.egress,
        (call.space_id, destination_id),
        shared.settings,
        shared.sealing_key,
    )
    return check


async def list_amounts(call: Call) -> HeldAmountList:
    """Compare the amounts that the platform has of the last 31 days' orders with their worth now."""
    destination_id = call.path_id("destination_id")
    async with call.services.database.connection() as connection:
        destination = await destinations.fetch_destination(connection, call.space_id, destination_id)
        amounts = await sum_held_amounts(connection, call.space_id, destination.id, destination.platform)
    return HeldAmountList(amounts)


DESTINATION_ID = PathParameter("destination_id", "The destination's id.", {"pattern": "^[0-9]{1,18}$"})
LISTING = RateLimit("list_destinations", 30)
CHANGING = RateLimit("change_destination", 60)
_change = partial(changes_row, DESTINATION_ID.name, describe=describe_destination)

OPERATIONS = (
    Operation(
        id="list_platforms",
        method="GET",
        path="/platforms",
        tag="Destinations",
        summary="List ad platforms",
        scope="destinations:read",
        limit=LISTING,
        answer=PlatformList,
        handler=list_platforms,
    ),
    Operation(
        id="list_destinations",
        method="GET",
        path="/destinations",
        tag="Destinations",
        summary="List Destinations",
        scope="destinations:read",
        limit=LISTING,
        answer=DestinationList,
        handler=list_destinations,
    ),
    Operation(
        id="create_destination",
        method="POST",
        path="/destinations",
        tag="Destinations",
        summary="Create Destination",
        scope="destinations:write",
        limit=CHANGING,
        body=schemas.describe_creation(),
        status=201,
        answer=DestinationAnswer,
        changes=("destination",),
        handler=create_destination,
    ),
    Operation(
        id="get_destination",
        method="GET",
        path="/destinations/{destination_id}",
        tag="Destinations",
        summary="Get Destination",
        scope="destinations:read",
        limit=RateLimit("get_destination", 60),
        path_parameters=[DESTINATION_ID],
        answer=DestinationAnswer,
        errors=[404],
        handler=get_destination,
    ),
    Operation(
        id="update_destination",
        method="PUT",
        path="/destinations/{destination_id}",
        tag="Destinations",
        summary="Update Destination",
        scope="destinations:write",
        limit=CHANGING,
        path_parameters=[DESTINATION_ID],
        body=schemas.BODY_OF_CHANGE,
        answer=DestinationAnswer,
        errors=[404],
        changes=("destination",),
        handler=update_destination,
    ),
    Operation(
        id="delete_destination",
        method="DELETE",
        path="/destinations/{destination_id}",
        tag="Destinations",
        summary="Remove Destination",
        scope="destinations:write",
        limit=CHANGING,
        path_parameters=[DESTINATION_ID],
        answer=Message,
        errors=[404],
        changes=("destination",),
        handler=delete_destination,
    ),
    Operation(
        id="pause_destination",
        method="POST",
        path="/destinations/{destination_id}/pause",
        tag="Destinations",
        summary="Pause Destination",
        description=("Stop sending. New events are skipped; queued deliveries wait."),
        scope="destinations:write",
        limit=CHANGING,
        path_parameters=[DESTINATION_ID],
        answer=DestinationAnswer,
        errors=[404],
        changes=("destination",),
        handler=_change(destinations.pause_destination),
    ),
    Operation(
        id="resume_destination",
        method="POST",
        path="/destinations/{destination_id}/resume",
        tag="Destinations",
        summary="Resume Destination",
        description=("Send again, whether people had paused it or the platform had refused its credentials."),
        scope="destinations:write",
        limit=CHANGING,
        path_parameters=[DESTINATION_ID],
        answer=DestinationAnswer,
        errors=[404],
        changes=("destination",),
        handler=_change(destinations.resume_destination),
    ),
    Operation(
        id="list_destination_amounts",
        method="GET",
        path="/destinations/{destination_id}/amounts",
        tag="Destinations",
        summary="Compare Amounts",
        scope="destinations:read",
        limit=RateLimit("list_destination_amounts", 30),
        path_parameters=[DESTINATION_ID],
        answer=HeldAmountList,
        errors=[404],
        handler=list_amounts,
    ),
    Operation(
        id="test_destination",
        method="POST",
        path="/destinations/{destination_id}/test",
        tag="Destinations",
        summary="Test Destination",
        scope="destinations:write",
        limit=RateLimit("test_destination", 10),
        path_parameters=[DESTINATION_ID],
        answer=DestinationCheck,
        errors=[404],
        handler=test_destination,
    ),
)
