"""The endpoints of a Space's own paid networks: parse, call, answer."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

from headwater.endpoints.calls import Call, json_response
from headwater.endpoints.operations import Operation, PathParameter
from headwater.http.openapi import TEXT, Schema, answer, body, object_schema
from headwater.http.rate_limits import RateLimit
from headwater.sources.networks import LONGEST_NAME
from headwater.spaces.networks import (
    NETWORK,
    describe_network,
    fetch_sources,
    put_network,
    read_network,
    remove_network,
)


async def list_own_networks(call: Call) -> Response:
    """List the paid networks that the Space has besides the listed sources, by name."""
    async with call.services.database.connection() as connection:
        sources = await fetch_sources(connection, call.space_id)
    networks = sorted(map(describe_network, sources.networks), key=lambda each: each["name"])
    return _answer({"data": networks})


async def put_own_network(call: Call) -> Response:
    """Add a paid network, or give one other spellings and another platform. What is stored is
    classified anew in the background.
    """
    wanted = read_network(await call.body())
    async with call.services.database.transaction() as connection:
        await put_network(connection, call.space_id, wanted)
    return _answer(msgspec.to_builtins(wanted))


async def delete_own_network(call: Call) -> Response:
    """Remove a paid network. What is stored is classified anew in the background."""
    name = call.path_text("name")
    async with call.services.database.transaction() as connection:
        await remove_network(connection, call.space_id, name)
    return _answer({"message": "Network removed."})


def _answer(content: Any) -> Response:
    return json_response(msgspec.json.encode(content))


_NETWORK: Schema = object_schema(
    {"name": TEXT, "spellings": {"type": "array", "items": TEXT}, "platform": TEXT}
)
OPERATIONS = (
    Operation(
        id="list_networks",
        method="GET",
        path="/sources/networks",
        tag="Sources",
        summary="List own paid networks",
        scope="events:read",
        limit=RateLimit("list_networks", 30),
        answer=answer("All of them.", object_schema({"data": {"type": "array", "items": _NETWORK}})),
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
        answer=answer("The network.", _NETWORK),
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
        path_parameters=[PathParameter("name", "The network's name.", {"maxLength": LONGEST_NAME})],
        answer=answer("What was done.", object_schema({"message": TEXT})),
        errors=[404],
        handler=delete_own_network,
    ),
)
