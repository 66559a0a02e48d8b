"""A search, or the newest contacts."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.pages import render
from headwater.console.people_pages.contact import page_links
from headwater.console.people_pages.people_list import LONGEST, list_newest, search
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import conversion_title
from headwater.console.visitor import HOME
from headwater.console.visits import enter_space
from headwater.endpoints.services import services
from headwater.http.inputs.pagination import Cursors
from headwater.http.inputs.parameters import Query
from headwater.reports.query import Measure


async def show_people(request: Request) -> Response:
    inside = await enter_space(request)
    shared = services(request)
    space, query, path = inside.space, Query(request.scope["query_string"]), request.url.path
    text = (query.single("q") or "").strip()
    cursors = Cursors(shared.signing_key, space.id, path, [])
    position = None if text else cursors.read_from(query)
    query.finish()
    companies, order_events, links = [], [], {}
    async with shared.database.transaction() as connection:
        if text:
            result = await search(connection, space, text)
            people, companies, order_events = result.people, result.companies, result.order_events
        else:
            page, people = await list_newest(connection, space, position)
            links = page_links(page, path, cursors)
    return render(
        request,
        "people.html",
        q=text,
        people_rows=people,
        companies=companies,
        order_events=order_events,
        links=links,
        figures=figures,
        revenue=Measure.REVENUE,
        longest=LONGEST,
        first=position is None,
        event_title=partial(conversion_title, space),
    )


ROUTES = [Route(f"{HOME}/spaces/{{space_id}}/people", show_people, methods=["GET"])]
