"""Many links: a pasted or uploaded table, with its links also as CSV."""

from __future__ import annotations

import asyncio
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.forms import PostedForm, read_form_with_files
from headwater.console.link_pages.link_sheet import COLUMNS, MOST_ROWS, LinkSheet, read_sheet, write_sheet
from headwater.console.link_pages.links import choices
from headwater.console.pages import render
from headwater.console.visitor import HOME, enter, require_visitor
from headwater.console.visits import enter_space
from headwater.endpoints.services import services
from headwater.sources.links.links import LINKED, MAX_VALUE, LinkParts
from headwater.spaces.sites.source_rules import fetch_source_rules

FORM = "link sheet"
MAX_SHEET = 2 * 1024 * 1024
"""Maximum bytes of a posted table; percent-encoding triples a byte."""
MOST_LISTED = 200
"""Rows shown on the page; the CSV has all."""
EXAMPLE = """address,source,campaign,ad
https://shop.example/tents,facebook_ads,Summer,Blue tent
https://shop.example/boots,Email,Summer newsletter,
https://shop.example/maps,linkedin_organic,,"""


async def show_form(request: Request) -> Response:
    await enter_space(request)
    return _page(request, PostedForm(()), None)


async def make_links(request: Request) -> Response:
    """Show links, or send them as CSV. Stores nothing."""
    visitor = await require_visitor(request)
    form = await read_form_with_files(request, visitor.form_key, FORM, MAX_SHEET)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        rules = await fetch_source_rules(connection, inside.space)
    text = form.text("file") if form.text("file").strip() else form.text("rows")
    source = form.text("source")
    usual_parts = LinkParts(source if source in LINKED else "", form.text("campaign").strip()[:MAX_VALUE])
    # A thousand rows take 0.1 s, which would block other requests.
    sheet = await asyncio.to_thread(partial(read_sheet, text, usual_parts, *rules))
    if form.text("as") == "csv" and not sheet.problem:
        headers = {"Content-Disposition": 'attachment; filename="links.csv"'}
        return Response(write_sheet(sheet), 200, headers, "text/csv; charset=utf-8")
    return _page(request, PostedForm((("rows", text), *form.pairs)), sheet)


def _page(request: Request, form: PostedForm, sheet: LinkSheet | None) -> Response:
    problem = sheet.problem if sheet is not None else ""
    inside = request.state.inside
    return render(
        request,
        "link_sheet.html",
        status=422 if problem else 200,
        sheet=sheet,
        page_path=f"{HOME}/spaces/{inside.space.id}/links",
        text=form.text("rows"),
        source=form.text("source"),
        campaign=form.text("campaign"),
        errors={"rows": [problem]} if problem else {},
        columns=COLUMNS,
        most=MOST_ROWS,
        listed=MOST_LISTED,
        example=EXAMPLE,
        **choices(),
    )


_PATH = f"{HOME}/spaces/{{space_id}}/links/many"
ROUTES = [Route(_PATH, show_form, methods=["GET"]), Route(_PATH, make_links, methods=["POST"])]
