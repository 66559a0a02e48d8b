"""The page of sources: a test of the rules, the Space's part in them, and the catalogue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, read_form
from headwater.console.link_pages.catalogue_search import search_sources
from headwater.console.link_pages.source_changes import (
    GROUPED_SOURCES,
    HOST_LISTS,
    add_network,
    add_source_name,
    change_hosts,
    drop_network,
    remove_source_name,
    typed_hosts,
)
from headwater.console.list_page import read_list_page
from headwater.console.pages import redirect, render
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.parameters import Query
from headwater.sources.catalogue import channel_of
from headwater.sources.explanation import VisitExplanation, explain_visit
from headwater.sources.links.address_notes import note_address
from headwater.sources.networks import LONGEST_NAME
from headwater.sources.reasons import list_findings
from headwater.sources.titles import title_of
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.models import Space
from headwater.spaces.reclassifications import list_reclassified_names, list_reclassified_networks
from headwater.spaces.sites.source_rules import fetch_source_rules

FORM = "sources"
LONGEST_ADDRESS = 16_384
"""The most characters of an address that is tested: far more than any browser or server takes."""
_FIELDS = ("name", "source", "network", "spellings", "platform")
TESTED = {"url": "address", "referrer": "referrer"}

Change = Callable[[AsyncConnection, Space, PostedForm], Awaitable[FlashMessage]]


@dataclass(frozen=True)
class AddressTest:
    """The form that tests an address, as it was sent."""

    url: str = ""
    referrer: str = ""
    find: str = ""
    """The search in the list of sources, which is another form on the page."""

    @property
    def is_sent(self) -> bool:
        """True when there is something to test."""
        return bool(self.url or self.referrer)


async def show_sources(request: Request) -> Response:
    """Show the page, with the test that the address describes."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        return await _page(request, connection, inside, {}, {})


async def _page(
    request: Request, connection: AsyncConnection, inside: SpaceVisitor, errors: Errors, typed: dict[str, str]
) -> Response:
    form, refused = _read_test(request)
    space = inside.space
    test: VisitExplanation | None = None
    if form.is_sent and not refused:
        rules = await fetch_source_rules(connection, space)
        test = explain_visit(form.url or None, form.referrer or None, *rules)
        findings = list_findings(form.url, form.referrer or None, rules.exclusions)
    else:
        findings = []
    return render(
        request,
        "sources.html",
        status=422 if errors or refused else 200,
        errors=errors | refused,
        form=form,
        test=test,
        findings=findings,
        notes=note_address(form.url) if test and form.url else [],
        names=read_list_page(request, sorted(space.source_names.items()), lambda each: each[0], "own"),
        typed=_prefilled(request) | typed_hosts(space) | typed,
        networks=read_list_page(
            request,
            sorted(space.sources.networks, key=lambda each: each.name),
            lambda each: each.name,
            "networks",
        ),
        networks_under_way=await list_reclassified_networks(connection, space.id),
        base=f"{HOME}/spaces/{space.id}",
        page_path=f"{HOME}/spaces/{space.id}/sources",
        grouped_sources=GROUPED_SOURCES,
        found=search_sources(form.find),
        title_of=title_of,
        channel_of=channel_of,
        under_way=await list_reclassified_names(connection, space.id),
    )


def _prefilled(request: Request) -> dict[str, str]:
    """Return the fields of the forms, with the network that the address suggests to add."""
    query = Query(request.scope["query_string"])
    network, spelling = query.single("network") or "", query.single("spelling") or ""
    return {
        "name": "",
        "source": "",
        "network": network[:LONGEST_NAME],
        "spellings": spelling[:LONGEST_NAME],
        "platform": "",
    }


def _read_test(request: Request) -> tuple[AddressTest, Errors]:
    """Return the test of the address, and what is wrong with it, by field."""
    query = Query(request.scope["query_string"])
    values = {name: (query.single(name) or "").strip() for name in ("url", "referrer", "find")}
    errors: Errors = dict(query.errors)
    for name, word in TESTED.items():
        if len(values[name]) > LONGEST_ADDRESS:
            size = f"The {word} has {len(values[name]):,} characters."
            errors[name] = [f"{size} {LONGEST_ADDRESS:,} are read at most: paste its beginning."]
            values[name] = values[name][:200]
    return AddressTest(values["url"], values["referrer"], values["find"][:200]), errors


def _changing(change: Change) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler of a form that changes something and leads back to the page."""

    async def post(request: Request) -> Response:
        visitor = await require_visitor(request)
        form = await read_form(request, visitor.form_key, FORM)
        database = services(request).database
        try:
            async with database.transaction() as connection:
                inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
                message = await change(connection, inside.space, form)
        except Invalid as error:
            typed = {name: form.text(name) for name in (*_FIELDS, *HOST_LISTS)}
            sent = {name: text for name, text in typed.items() if (name, text) in form.pairs}
            async with database.connection() as connection:
                inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
                return await _page(request, connection, inside, error.errors, sent)
        return redirect(request, f"{HOME}/spaces/{inside.space.id}/sources", message)

    return post


_PATH = f"{HOME}/spaces/{{space_id}}/sources"
ROUTES = [
    Route(_PATH, show_sources, methods=["GET"]),
    Route(f"{_PATH}/name", _changing(add_source_name), methods=["POST"]),
    Route(f"{_PATH}/unname", _changing(remove_source_name), methods=["POST"]),
    Route(f"{_PATH}/network", _changing(add_network), methods=["POST"]),
    Route(f"{_PATH}/remove-network", _changing(drop_network), methods=["POST"]),
    Route(f"{_PATH}/hosts", _changing(change_hosts), methods=["POST"]),
]
