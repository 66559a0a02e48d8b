"""API endpoints of a Space's exchange rates."""

from __future__ import annotations

from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation
from headwater.http.answers import Message
from headwater.http.inputs.pagination import PAGE_DOCUMENTATION, answer_page, read_page
from headwater.http.openapi import body
from headwater.http.rate_limits import RateLimit
from headwater.spaces.audit.entries import AuditChange
from headwater.spend.rates import inputs
from headwater.spend.rates.answers import RatePage
from headwater.spend.rates.store import list_rates, put_rates


async def list_own_rates(call: Call) -> RatePage:
    """List the Space's own exchange rates, latest days first."""
    cursors = inputs.cursors(call.services.signing_key, call.space_id)
    per_page, position = read_page(call.query, cursors)
    async with call.services.database.connection() as connection:
        page = await list_rates(connection, call.space_id, per_page, position)
    return answer_page(RatePage, page, per_page, call.page_link(cursors))


async def put_own_rates(call: Call) -> Message:
    """Store exchange rates for the Space, which take precedence over the operator's."""
    rates = inputs.read_rates(await call.body())
    async with call.change() as connection:
        await put_rates(connection, call.space_id, rates)
        call.note(AuditChange("rates", after={"rows": len(rates)}))
    return Message("1 rate is stored." if len(rates) == 1 else f"{len(rates)} rates are stored.")


OPERATIONS = (
    Operation(
        id="list_rates",
        method="GET",
        path="/rates",
        tag="Spend",
        summary="List exchange rates",
        scope="events:read",
        limit=RateLimit("list_rates", 30),
        parameters=PAGE_DOCUMENTATION,
        answer=RatePage,
        handler=list_own_rates,
    ),
    Operation(
        id="put_rates",
        method="PUT",
        path="/rates",
        tag="Spend",
        summary="Store up to 5,000 exchange rates",
        scope="events:write",
        limit=RateLimit("put_rates", 60),
        body=body(inputs.RATES.schema),
        answer=Message,
        handler=put_own_rates,
    ),
)
