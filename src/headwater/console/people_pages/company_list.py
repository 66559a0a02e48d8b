"""The companies of a Space, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.pages import render
from headwater.console.people_pages.contact import page_links
from headwater.console.people_pages.people_list import LONGEST, PER_PAGE
from headwater.console.report_pages import figures
from headwater.console.visitor import HOME
from headwater.console.visits import enter_space
from headwater.database.queries import Queries, fetch_all, make_cursor
from headwater.endpoints.services import services
from headwater.events.accepted import SALES_EVENTS
from headwater.http.inputs.pagination import Cursors
from headwater.http.inputs.parameters import Query
from headwater.http.inputs.timerange import EVER
from headwater.people.companies.queries import ListCompanies, list_companies
from headwater.reports.query import Measure

queries = Queries(__name__, "company_list.sql")

MOST_COUNTED = 1000
"""Maximum contacts and events counted for a company."""


class CompanySummary(Struct, frozen=True):
    """A company with counts up to MOST_COUNTED, and the revenue of the counted events."""

    id: int
    name: str
    domain: str | None
    external_id: str | None
    contacts: int
    orders: int
    events: int
    last_event_at: datetime | None
    revenue: Decimal | None
    """None if the sales have several currencies."""
    currencies: str


async def show_companies(request: Request) -> Response:
    inside = await enter_space(request)
    shared = services(request)
    space, query, path = inside.space, Query(request.scope["query_string"]), request.url.path
    cursors = Cursors(shared.signing_key, space.id, path, [])
    position = cursors.read_from(query)
    query.finish()
    async with shared.database.transaction() as connection:
        page = await list_companies(connection, space.id, ListCompanies(EVER, PER_PAGE, position))
        companies = await fetch_companies(
            connection, space.id, [msgspec.json.decode(line)["id"] for line in page.lines]
        )
    return render(
        request,
        "companies.html",
        companies=companies,
        links=page_links(page, path, cursors),
        figures=figures,
        revenue=Measure.REVENUE,
        longest=LONGEST,
        most=MOST_COUNTED,
        first=position is None,
    )


async def fetch_companies(
    connection: AsyncConnection, space_id: int, ids: Sequence[int]
) -> list[CompanySummary]:
    values = {"space_id": space_id, "ids": list(ids), "sales": [*SALES_EVENTS], "most": MOST_COUNTED}
    return await fetch_all(make_cursor(connection, CompanySummary), queries["rows"], values)


ROUTES = [Route(f"{HOME}/spaces/{{space_id}}/companies", show_companies, methods=["GET"])]
