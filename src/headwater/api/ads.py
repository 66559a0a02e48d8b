"""API endpoints of ad names. Each handler owns its transaction."""

from __future__ import annotations

from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation
from headwater.http.answers import Message
from headwater.http.inputs.pagination import PAGE_DOCUMENTATION, answer_page, read_page
from headwater.http.openapi import body
from headwater.http.rate_limits import RateLimit
from headwater.spaces.audit.entries import AuditChange
from headwater.spend.ads import inputs
from headwater.spend.ads.answers import AdNamePage
from headwater.spend.ads.catalogue import list_names, put_names


async def list_ads(call: Call) -> AdNamePage:
    """List the names of campaigns, ad sets, ads and accounts."""
    cursors = inputs.cursors(call.services.signing_key, call.space_id)
    per_page, position = read_page(call.query, cursors)
    async with call.services.database.connection() as connection:
        page = await list_names(connection, call.space_id, per_page, position)
    return answer_page(AdNamePage, page, per_page, call.page_link(cursors))


async def put_ads(call: Call) -> Message:
    """Set the names of campaigns, ad sets, ads and accounts by their ids."""
    names = inputs.read_names(await call.body())
    async with call.change() as connection:
        await put_names(connection, call.space_id, names)
        call.note(AuditChange("ad_names", after={"rows": len(names)}))
    return Message("1 ad is named." if len(names) == 1 else f"{len(names)} ads are named.")


OPERATIONS = (
    Operation(
        id="list_ads",
        method="GET",
        path="/ads",
        tag="Ads",
        summary="List the ad catalogue",
        scope="events:read",
        limit=RateLimit("list_ads", 30),
        parameters=PAGE_DOCUMENTATION,
        answer=AdNamePage,
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
        body=body(inputs.NAMES.schema),
        answer=Message,
        handler=put_ads,
    ),
)
