"""The endpoints of the ad catalogue: parse, call, answer. Each handler owns its transaction."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from headwater.endpoints.calls import Call, json_response
from headwater.endpoints.operations import Operation
from headwater.http.inputs.pagination import envelope
from headwater.http.rate_limits import RateLimit
from headwater.spend.ads import inputs
from headwater.spend.ads.catalogue import list_names, put_names


async def list_ads(call: Call) -> Response:
    """List what the ids of campaigns, ad sets, ads and accounts are called."""
    cursors = inputs.cursors(call.services.signing_key, call.space_id)
    per_page, at = inputs.read_list(call.query, cursors)
    async with call.services.database.connection() as connection:
        page = await list_names(connection, call.space_id, per_page, at)
    return json_response(envelope(page, per_page, call.page_link(cursors)))


async def put_ads(call: Call) -> Response:
    """Name campaigns, ad sets, ads and accounts by their ids, or rename them."""
    names = inputs.read_names(await call.body())
    async with call.services.database.transaction() as connection:
        await put_names(connection, call.space_id, names)
    message = "1 ad is named." if len(names) == 1 else f"{len(names)} ads are named."
    return json_response(msgspec.json.encode({"message": message}))


OPERATIONS = (
    Operation(
        id="list_ads",
        method="GET",
        path="/ads",
        tag="Ads",
        summary="List the ad catalogue",
        scope="events:read",
        limit=RateLimit("list_ads", 30),
        parameters=inputs.DOCUMENTATION,
        answer=inputs.PAGE,
        handler=list_ads,
    ),
    Operation(
        id="put_ads",
        method="PUT",
        path="/ads",
        tag="Ads",
        summary="Name up to 1,000 ads",
        scope="events:write",
        limit=RateLimit("put_ads", 60),
        body=inputs.BODY,
        answer=inputs.STORED,
        handler=put_ads,
    ),
)
