"""API endpoints of a Space's paid networks."""

from __future__ import annotations

from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation, PathParameter
from headwater.http.answers import Message
from headwater.http.openapi import body
from headwater.http.rate_limits import RateLimit
from headwater.sources.networks import MAX_NAME_LENGTH
from headwater.spaces.networks import (
    NETWORK,
    Network,
    NetworkList,
    describe_network,
    fetch_sources,
    put_network,
    read_network,
    remove_network,
)


async def list_own_networks(call: Call) -> NetworkList:
    """List the Space's own paid networks, in addition to the listed sources, by name."""
    async with call.services.database.connection() as connection:
        sources = await fetch_sources(connection, call.space_id)
    return NetworkList(sorted(map(describe_network, sources.networks), key=lambda network: network.name))


async def put_own_network(call: Call) -> Network:
    """Add a paid network, or change its spellings and platform. Stored visits are reclassified in the
    background.
    """
    network = read_network(await call.body())
    async with call.change() as connection:
        await put_network(connection, call.space_id, network)
    return network


async def delete_own_network(call: Call) -> Message:
    """Remove a paid network. Stored visits are reclassified in the background."""
    name = call.path_text("name")
    async with call.change() as connection:
        await remove_network(connection, call.space_id, name)
    return Message("Network removed.")


OPERATIONS = (
    Operation(
        id="list_networks",
        method="GET",
        path="/sources/networks",
        tag="Sources",
        summary="List own paid networks",
        scope="events:read",
        limit=RateLimit("list_networks", 30),
        answer=NetworkList,
        handler=list_own_networks,
    ),
    Operation(
        id="put_network",
        method="PUT",
        path="/sources/networks",
        tag="Sources",
        summary="Add or change a paid network",
        scope="events:write",
        limit=RateLimit("change_networks", 60),
        body=body(NETWORK.schema),
        answer=Network,
        changes=("paid_network",),
        handler=put_own_network,
    ),
    Operation(
        id="delete_network",
        method="DELETE",
        path="/sources/networks/{name}",
        tag="Sources",
        summary="Remove a paid network",
        scope="events:write",
        limit=RateLimit("change_networks", 60),
        path_parameters=[PathParameter("name", "The network's name.", {"maxLength": MAX_NAME_LENGTH})],
        answer=Message,
        errors=[404],
        changes=("paid_network",),
        handler=delete_own_network,
    ),
)
