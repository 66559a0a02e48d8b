"""API endpoints of the spend ledger. Each handler owns its transaction."""

from __future__ import annotations

from datetime import UTC, datetime

from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation
from headwater.http.answers import Message
from headwater.http.bodies import MAX_BATCH_BODY
from headwater.http.inputs.pagination import answer_page
from headwater.http.openapi import body
from headwater.http.rate_limits import RateLimit
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.networks import fetch_sources
from headwater.spaces.spaces import fetch_space
from headwater.spend import parameters
from headwater.spend.answers import SpendDeletion, SpendPage
from headwater.spend.inputs import BODY, read_spend
from headwater.spend.ledger import count_spend, delete_spend, list_spend, put_report, require_platform


async def list_ledger(call: Call) -> SpendPage:
    """List ad spend, latest days first."""
    cursors = parameters.cursors(call.query, call.services.signing_key, call.space_id)
    choice, per_page, position = parameters.read_list(call.query, cursors)
    async with call.services.database.connection() as connection:
        await require_platform(connection, await fetch_space(connection, call.space_id), choice)
        page = await list_spend(connection, call.space_id, choice, per_page, position)
    return answer_page(SpendPage, page, per_page, call.page_link(cursors))


async def put_ledger(call: Call) -> Message:
    """Store ad spend as reported by a platform. A row with an existing key replaces the old one."""
    body = await call.body(MAX_BATCH_BODY)
    async with call.change() as connection:
        sources = await fetch_sources(connection, call.space_id)
        report = read_spend(body, datetime.now(UTC), sources)
        await put_report(connection, call.space_id, report.rows, report.as_of)
        call.note(AuditChange("spend", after={"rows": len(report.rows)}))
    count = len(report.rows)
    return Message("1 row is stored." if count == 1 else f"{count} rows are stored.")


async def delete_ledger(call: Call) -> SpendDeletion:
    """Permanently delete rows by day; with `preview` they are only counted."""
    choice = parameters.read_choice(call.query, days_required=True)
    preview = parameters.PREVIEW.read(call.query)
    call.query.finish()
    async with call.change() as connection:
        await require_platform(connection, await fetch_space(connection, call.space_id), choice)
        if preview:
            return await count_spend(connection, call.space_id, choice)
        deletion = await delete_spend(connection, call.space_id, choice)
        call.note(AuditChange("spend", after={"rows": -deletion.rows}))
        return deletion


OPERATIONS = (
    Operation(
        id="list_spend",
        method="GET",
        path="/spend",
        tag="Spend",
        summary="List the spend ledger",
        scope="events:read",
        limit=RateLimit("list_spend", 30),
        parameters=parameters.LISTING,
        answer=SpendPage,
        handler=list_ledger,
    ),
    Operation(
        id="put_spend",
        method="PUT",
        path="/spend",
        tag="Spend",
        summary="Store up to 5,000 rows of spend",
        scope="spend:write",
        limit=RateLimit("put_spend", 60),
        body=body(BODY.schema),
        answer=Message,
        handler=put_ledger,
    ),
    Operation(
        id="delete_spend",
        method="DELETE",
        path="/spend",
        tag="Spend",
        summary="Delete spend of some days",
        scope="spend:write",
        limit=RateLimit("delete_spend", 30),
        parameters=parameters.DELETING,
        answer=SpendDeletion,
        handler=delete_ledger,
    ),
)
