"""Tag a page's address, and preview how visits will be classified."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.link_pages import qr_code
from headwater.console.link_pages.link_values import LatestValues, fetch_latest_values
from headwater.console.link_pages.source_changes import GROUPED_SOURCES
from headwater.console.pages import render
from headwater.console.visitor import HOME, enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.parameters import Query
from headwater.sources.catalogue import SOURCES, find_channel
from headwater.sources.explanation import VisitExplanation, explain_visit
from headwater.sources.links.link_checks import check_host, check_link
from headwater.sources.links.link_templates import TEMPLATES
from headwater.sources.links.links import LINKED, MAX_VALUE, BadAddress, LinkParts, build_link, choose_tags
from headwater.sources.titles import format_title
from headwater.spaces.models import Space
from headwater.spaces.sites.source_rules import fetch_own_hosts, fetch_source_rules

LONGEST_ADDRESS = 4_096
FIELDS = ("address", "source", "campaign", "adset", "ad", "keyword", "utm_source", "utm_medium")
TITLES = {
    "address": "address",
    "source": "source",
    "campaign": "campaign",
    "adset": "ad set",
    "ad": "ad",
    "keyword": "keyword",
    "utm_source": "value of utm_source",
    "utm_medium": "value of utm_medium",
}
NOT_LINKED = tuple(source for source in SOURCES if source not in LINKED)


class LinkForm(Struct, frozen=True):
    values: dict[str, str]
    query: str
    errors: Errors

    @property
    def address(self) -> str:
        return self.values["address"]

    @property
    def parts(self) -> LinkParts:
        return LinkParts(**{name: self.values[name] for name in FIELDS[1:]})

    @property
    def is_complete(self) -> bool:
        return bool(self.address and self.values["source"]) and not self.errors


class BuiltLink(Struct, frozen=True):
    text: str
    visit: VisitExplanation
    notes: list[str]


async def show_builder(request: Request) -> Response:
    return await _show(request, "links.html")


async def show_preview(request: Request) -> Response:
    return await _show(request, "link_preview.html")


async def _show(request: Request, template: str) -> Response:
    visitor = await require_visitor(request)
    form = read_link_form(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        latest_values = await fetch_latest_values(connection, inside.space.id)
        link = await _build(connection, inside.space, form, latest_values)
    return render(
        request,
        template,
        status=422 if form.errors else 200,
        fetches=True,
        form=form,
        errors=form.errors,
        link=link,
        latest=latest_values,
        page_path=f"{HOME}/spaces/{inside.space.id}/links",
        longest_code=qr_code.LONGEST,
        templates=TEMPLATES,
        **choices(),
    )


def choices() -> dict[str, Any]:
    return {
        "grouped_sources": GROUPED_SOURCES,
        "not_linked": NOT_LINKED,
        "format_title": format_title,
        "find_channel": find_channel,
        "choose_tags": choose_tags,
        "longest": MAX_VALUE,
    }


def read_link_form(request: Request) -> LinkForm:
    raw: bytes = request.scope["query_string"]
    query = Query(raw)
    values = {name: (query.single(name) or "").strip() for name in FIELDS}
    errors: Errors = {name: rules for name, rules in query.errors.items() if name in FIELDS}
    for name, value in values.items():
        longest = LONGEST_ADDRESS if name == "address" else MAX_VALUE
        if len(value) > longest:
            rule = f"The {TITLES[name]} has {len(value):,} characters; at most {longest:,} are allowed."
            errors[name], values[name] = [rule], value[:200]
    source = values["source"]
    if source and source not in LINKED:
        values["source"] = ""
        is_known = source in SOURCES
        rule = "Visits from this source have no link" if is_known else "This source does not exist"
        errors["source"] = [f"{rule}: choose a source from the list."]
    if values["address"] and not errors:
        try:
            build_link(values["address"], LinkParts(source or LINKED[0]))
        except BadAddress as error:
            errors["address"] = [str(error)]
    return LinkForm(values, raw.decode("ascii", "replace"), errors)


async def _build(
    connection: AsyncConnection, space: Space, form: LinkForm, latest_values: LatestValues
) -> BuiltLink | None:
    """Return None for an incomplete or invalid form."""
    if not form.is_complete:
        return None
    rules = await fetch_source_rules(connection, space)
    text = build_link(form.address, form.parts)
    visit = explain_visit(text, None, *rules)
    hosts = [*space.own_domains, *await fetch_own_hosts(connection, space.id)]
    notes = check_link(form.address, form.parts, visit, rules.names, latest_values.of("campaign"))
    return BuiltLink(text, visit, [*notes, *check_host(text, hosts)])


async def send_qr_code(request: Request) -> Response:
    """Raise Invalid for bad input."""
    visitor = await require_visitor(request)
    form = read_link_form(request)
    async with services(request).database.connection() as connection:
        await enter(connection, request, visitor)
    if not form.is_complete:
        raise Invalid(form.errors or {"address": ["Enter an address and choose a source."]})
    link = build_link(form.address, form.parts)
    try:
        image = await asyncio.to_thread(qr_code.draw_qr_code, link)
    except ValueError as error:
        raise Invalid({"address": [f"A link with a QR code {error}."]}) from None
    headers = {"Content-Disposition": 'inline; filename="link.svg"'}
    return Response(image, 200, headers, "image/svg+xml; charset=utf-8")


_PATH = f"{HOME}/spaces/{{space_id}}/links"
ROUTES = [
    Route(_PATH, show_builder, methods=["GET"]),
    Route(f"{_PATH}/preview", show_preview, methods=["GET"]),
    Route(f"{_PATH}/qr.svg", send_qr_code, methods=["GET"]),
]
