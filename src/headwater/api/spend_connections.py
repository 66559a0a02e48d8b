"""API endpoints of connections to ad accounts. Each handler owns its transaction."""

from __future__ import annotations

from functools import partial

from headwater.database.jobs.due_tasks import AccountKey
from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation, PathParameter, changes_row
from headwater.forwarding.destinations.destinations import lend_secrets
from headwater.http.answers import Message
from headwater.http.rate_limits import RateLimit
from headwater.spend.connections import connections
from headwater.spend.connections.answers import (
    SpendConnectionAnswer,
    SpendConnectionList,
    SpendPlatformList,
    describe_connection,
    describe_platform,
)
from headwater.spend.connections.check import SealedConnections, SpendConnectionCheck, check_connection
from headwater.spend.connections.inputs import (
    BODY_OF_CHANGE,
    describe_creation,
    read_destination_id,
    read_new,
)
from headwater.spend.platforms.origins import find_urls
from headwater.spend.platforms.registry import PLATFORMS


async def list_spend_platforms(_: Call) -> SpendPlatformList:
    """List the ad platforms whose spend can be pulled, and what a connection needs."""
    return SpendPlatformList([describe_platform(platform) for platform in PLATFORMS.values()])


async def list_connections(call: Call) -> SpendConnectionList:
    """List the Space's connections, oldest first."""
    async with call.services.database.connection() as connection:
        rows = await connections.list_connections(connection, call.space_id)
    return SpendConnectionList([describe_connection(row) for row in rows])


async def create_connection(call: Call) -> SpendConnectionAnswer:
    """Connect an ad account. Its spend is pulled immediately, then several times a day."""
    body = await call.body()
    destination_id = read_destination_id(body)
    key = call.services.sealing_key
    async with call.change() as connection:
        borrowed_secrets = {}
        if destination_id is not None:
            platform = body.get("platform")
            borrowed_secrets = await lend_secrets(connection, call.space_id, destination_id, platform, key)
        new = read_new(body, borrowed_secrets)
        row = await connections.create_connection(connection, call.space_id, new, key)
    return describe_connection(row)


async def get_connection(call: Call) -> SpendConnectionAnswer:
    """Get a connection with its latest pull."""
    connection_id = call.path_id("connection_id")
    async with call.services.database.connection() as connection:
        row = await connections.fetch_connection(connection, call.space_id, connection_id)
    return describe_connection(row)


async def update_connection(call: Call) -> SpendConnectionAnswer:
    """Change a connection. `settings` are replaced as a whole, secrets one by one. Either ends a hold."""
    row = AccountKey(call.space_id, call.path_id("connection_id"))
    body = await call.body()
    async with call.change() as connection:
        changed_row = await connections.change_connection(connection, row, body, call.services.sealing_key)
    return describe_connection(changed_row)


async def delete_connection(call: Call) -> Message:
    """Delete a connection and its secrets. Its spend stays in the ledger."""
    connection_id = call.path_id("connection_id")
    async with call.change() as connection:
        await connections.delete_connection(connection, call.space_id, connection_id)
    return Message("Connection deleted.")


async def check(call: Call) -> SpendConnectionCheck:
    """Ask the platform for the account and for its spend yesterday and today. Nothing is stored."""
    shared = call.services
    sealed_connections = SealedConnections(
        shared.database.transaction, find_urls(shared.settings), shared.sealing_key
    )
    row = AccountKey(call.space_id, call.path_id("connection_id"))
    return await check_connection(sealed_connections, shared.egress, row)


CONNECTION_ID = PathParameter("connection_id", "The connection's id.", {"pattern": "^[0-9]{1,18}$"})
LISTING = RateLimit("list_spend_connections", 30)
CHANGING = RateLimit("change_spend_connection", 60)
_change = partial(changes_row, CONNECTION_ID.name, describe=describe_connection)

OPERATIONS = (
    Operation(
        id="list_spend_platforms",
        method="GET",
        path="/spend/platforms",
        tag="Spend",
        summary="List ad platforms whose spend can be pulled",
        scope="destinations:read",
        limit=LISTING,
        answer=SpendPlatformList,
        handler=list_spend_platforms,
    ),
    Operation(
        id="list_spend_connections",
        method="GET",
        path="/spend/connections",
        tag="Spend",
        summary="List connections to ad accounts",
        scope="destinations:read",
        limit=LISTING,
        answer=SpendConnectionList,
        handler=list_connections,
    ),
    Operation(
        id="create_spend_connection",
        method="POST",
        path="/spend/connections",
        tag="Spend",
        summary="Connect an ad account",
        scope="destinations:write",
        limit=CHANGING,
        body=describe_creation(),
        status=201,
        answer=SpendConnectionAnswer,
        changes=("spend_connection",),
        handler=create_connection,
    ),
    Operation(
        id="get_spend_connection",
        method="GET",
        path="/spend/connections/{connection_id}",
        tag="Spend",
        summary="Get a connection to an ad account",
        scope="destinations:read",
        limit=RateLimit("get_spend_connection", 60),
        path_parameters=[CONNECTION_ID],
        answer=SpendConnectionAnswer,
        errors=[404],
        handler=get_connection,
    ),
    Operation(
        id="update_spend_connection",
        method="PUT",
        path="/spend/connections/{connection_id}",
        tag="Spend",
        summary="Change a connection to an ad account",
        scope="destinations:write",
        limit=CHANGING,
        path_parameters=[CONNECTION_ID],
        body=BODY_OF_CHANGE,
        answer=SpendConnectionAnswer,
        errors=[404],
        changes=("spend_connection",),
        handler=update_connection,
    ),
    Operation(
        id="delete_spend_connection",
        method="DELETE",
        path="/spend/connections/{connection_id}",
        tag="Spend",
        summary="Disconnect an ad account",
        scope="destinations:write",
        limit=CHANGING,
        path_parameters=[CONNECTION_ID],
        answer=Message,
        errors=[404],
        changes=("spend_connection",),
        handler=delete_connection,
    ),
    Operation(
        id="pause_spend_connection",
        method="POST",
        path="/spend/connections/{connection_id}/pause",
        tag="Spend",
        summary="Pause a connection to an ad account",
        description="Stop pulling. A running pull stores nothing more.",
        scope="destinations:write",
        limit=CHANGING,
        path_parameters=[CONNECTION_ID],
        answer=SpendConnectionAnswer,
        errors=[404],
        changes=("spend_connection",),
        handler=_change(connections.pause_connection),
    ),
    Operation(
        id="resume_spend_connection",
        method="POST",
        path="/spend/connections/{connection_id}/resume",
        tag="Spend",
        summary="Resume a connection to an ad account",
        description="Pull again, now, after a pause or a hold.",
        scope="destinations:write",
        limit=CHANGING,
        path_parameters=[CONNECTION_ID],
        answer=SpendConnectionAnswer,
        errors=[404],
        changes=("spend_connection",),
        handler=_change(connections.resume_connection),
    ),
    Operation(
        id="pull_spend_connection",
        method="POST",
        path="/spend/connections/{connection_id}/pull",
        tag="Spend",
        summary="Pull an ad account's spend now",
        description="Pull in the background, earlier than planned, if the connection is active.",
        scope="destinations:write",
        limit=RateLimit("pull_spend_connection", 10),
        path_parameters=[CONNECTION_ID],
        answer=SpendConnectionAnswer,
        errors=[404],
        handler=_change(connections.pull_connection),
    ),
    Operation(
        id="check_spend_connection",
        method="POST",
        path="/spend/connections/{connection_id}/check",
        tag="Spend",
        summary="Check a connection to an ad account",
        scope="destinations:write",
        limit=RateLimit("check_spend_connection", 10),
        path_parameters=[CONNECTION_ID],
        answer=SpendConnectionCheck,
        errors=[404],
        handler=check,
    ),
)
