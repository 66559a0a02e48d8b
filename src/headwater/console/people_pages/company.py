"""A company's contacts and their activity."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from urllib.parse import urlencode

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.pages import render
from headwater.console.people_pages.contact import MOST_EVENTS, SalesTotals, fetch_totals, page_links
from headwater.console.people_pages.origin import SENDERS
from headwater.console.people_pages.people_list import PER_PAGE, PersonRow, fetch_people
from headwater.console.people_pages.timeline import Timeline, list_company_timeline
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import conversion_title
from headwater.console.visitor import HOME, read_id
from headwater.console.visits import enter_space
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.endpoints.services import services
from headwater.forwarding.deliveries.reasons import REASONS as SKIPPED
from headwater.forwarding.deliveries.reasons import STATUSES
from headwater.http.errors import require_found
from headwater.http.inputs.fields import whole_number
from headwater.http.inputs.pagination import Cursors, Position
from headwater.http.inputs.parameters import Parameter, Query
from headwater.people.contacts.queries import queries as contact_queries
from headwater.reports.query import Measure
from headwater.spaces.models import Space

queries = Queries(__name__, "company.sql")

CONTACTS_AFTER = Parameter(
    name="contacts_after",
    kind=whole_number(0, 10**18 - 1),
    default=0,
    description="The last contact on the previous page.",
)


class CompanyHead(Struct, frozen=True):
    id: int
    name: str
    domain: str | None
    external_id: str | None
    created_at: datetime


class CompanyContent(Struct, frozen=True):
    head: CompanyHead
    contacts: int
    """Up to MOST_EVENTS + 1."""
    totals: SalesTotals
    people: list[PersonRow]
    more_after: int | None
    timeline: Timeline


async def show_company(request: Request) -> Response:
    inside = await enter_space(request)
    shared = services(request)
    space, path = inside.space, request.url.path
    company_id = read_id(request, "company_id")
    query = Query(request.scope["query_string"])
    cursors = Cursors(shared.signing_key, space.id, path, [])
    position, after_id = cursors.read_from(query), CONTACTS_AFTER.read(query) or 0
    query.finish()
    async with shared.database.transaction() as connection:
        content = await _load(connection, space, company_id, position, after_id)
    return render(
        request,
        "company.html",
        page=content,
        head=content.head,
        figures=figures,
        revenue=Measure.REVENUE,
        most=MOST_EVENTS,
        statuses=STATUSES,
        skipped=SKIPPED,
        senders=SENDERS,
        at=position,
        after_id=after_id,
        links=page_links(content.timeline, path, cursors),
        more=f"{path}?{urlencode({CONTACTS_AFTER.name: content.more_after})}#contacts",
        event_title=partial(conversion_title, space),
    )


async def _load(
    connection: AsyncConnection, space: Space, company_id: int, position: Position | None, after_id: int
) -> CompanyContent:
    await connection.execute(contact_queries["snapshot"])
    values = {
        "space_id": space.id,
        "company_id": company_id,
        "after_id": after_id,
        "limit": PER_PAGE + 1,
        "most": MOST_EVENTS,
    }
    head = require_found(
        await fetch_optional(make_cursor(connection, CompanyHead), queries["company"], values), "Company"
    )
    (contacts,) = await fetch_one(connection, queries["count"], values)
    ids = [row[0] for row in await fetch_all(connection, queries["contacts"], values)]
    listed_ids = ids[:PER_PAGE]
    return CompanyContent(
        head,
        contacts,
        await fetch_totals(connection, space.id, "company_id", company_id),
        await fetch_people(connection, space.id, listed_ids),
        listed_ids[-1] if len(ids) > PER_PAGE else None,
        await list_company_timeline(connection, space, company_id, position),
    )


ROUTES = [Route(f"{HOME}/spaces/{{space_id}}/companies/{{company_id}}", show_company, methods=["GET"])]
