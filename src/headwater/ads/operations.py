"""The endpoints of the ad catalogue: parse, call, answer. Each owns its transaction."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Request, Response

from headwater.ads import inputs
from headwater.ads.catalogue import list_names, put_names
from headwater.http.bodies import read_json
from headwater.http.openapi import problems
from headwater.http.pagination import PageLink, envelope
from headwater.http.parameters import Query
from headwater.spaces.access import Caller, requires

router = APIRouter(tags=["Ads"])

JSON = "application/json"

Lister = Annotated[Caller, requires("events:read", "list_ads")]
Putter = Annotated[Caller, requires("events:write", "put_ads")]


@router.get(
    "/ads",
    operation_id="list_ads",
    summary="List the ad catalogue",
    responses={200: inputs.PAGE, **problems(401, 403, 422, 429, 503)},
    openapi_extra={"parameters": inputs.DOCUMENTATION},
)
async def list_ads(request: Request, caller: Lister) -> Response:
    """List what the ids of campaigns, ad sets, ads and accounts are called."""
    headwater = request.app.state.headwater
    query = Query(request.scope["query_string"])
    cursors = inputs.cursors(headwater.signing_key, caller.space_id)
    per_page, at = inputs.read_list(query, cursors)
    async with headwater.database.connection() as connection:
        page = await list_names(connection, caller.space_id, per_page, at)
    link = PageLink(headwater.base_url + request.scope["path"], query, cursors)
    return Response(envelope(page, per_page, link), media_type=JSON)


@router.put(
    "/ads",
    operation_id="put_ads",
    summary="Name up to 1,000 ads",
    responses={200: inputs.STORED, **problems(401, 403, 413, 415, 422, 429, 503)},
    openapi_extra={"requestBody": inputs.BODY},
)
async def put_ads(request: Request, caller: Putter) -> Response:
    """Name campaigns, ad sets, ads and accounts by their ids, or rename them."""
    names = inputs.read_names(await read_json(request))
    async with request.app.state.headwater.database.transaction() as connection:
        await put_names(connection, caller.space_id, names)
    message = "1 ad is named." if len(names) == 1 else f"{len(names)} ads are named."
    return Response(msgspec.json.encode({"message": message}), media_type=JSON)
