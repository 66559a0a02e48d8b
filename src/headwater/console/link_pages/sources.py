"""Test an address; show the Space's rules and the catalogue."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

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
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.http.errors import Errors
from headwater.http.inputs.parameters import Query
from headwater.sources.catalogue import find_channel
from headwater.sources.explanation import VisitExplanation, explain_visit
from headwater.sources.links.address_notes import note_address
from headwater.sources.networks import MAX_NAME_LENGTH
from headwater.sources.reasons import list_findings
from headwater.sources.titles import format_title
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.reclassifications import list_reclassified_names, list_reclassified_networks
from headwater.spaces.sites.source_rules import fetch_source_rules

ROUTES = SpacePages("/sources")
_FORM = SentForm("sources", Permission.CHANGE_SETTINGS, changes=("space", "source_name", "paid_network"))
LONGEST_ADDRESS = 16_384
"""Maximum characters of a tested address, far above the limits of browsers and servers."""
_FIELDS = ("name", "source", "network", "spellings", "platform")
TESTED = {"url": "address", "referrer": "referrer"}


class AddressTest(Struct, frozen=True):
    url: str = ""
    referrer: str = ""
    find: str = ""
    """The catalogue search, another form on the page."""

    @property
    def is_sent(self) -> bool:
        return bool(self.url or self.referrer)


@ROUTES.page()
async def show_sources(visit: PageVisit) -> Response:
    return await _page(visit, {}, {})


async def _page(visit: PageVisit, errors: Errors, typed: dict[str, str]) -> Response:
    form, test_errors = _read_test(visit.request)
    connection, space, request = visit.connection, visit.space, visit.request
    test: VisitExplanation | None = None
    if form.is_sent and not test_errors:
        rules = await fetch_source_rules(connection, space)
        test = explain_visit(form.url or None, form.referrer or None, *rules)
        findings = list_findings(form.url, form.referrer or None, rules.exclusions)
    else:
        findings = []
    values: dict[str, Any] = {
        "errors": errors | test_errors,
        "form": form,
        "test": test,
        "findings": findings,
        "notes": note_address(form.url) if test and form.url else [],
        "names": read_list_page(
            request, sorted(space.source_names.items()), lambda network: network[0], "own"
        ),
        "typed": _prefilled(request) | typed_hosts(space) | typed,
        "networks": read_list_page(
            request,
            sorted(space.sources.networks, key=lambda network: network.name),
            lambda network: network.name,
            "networks",
        ),
        "networks_under_way": await list_reclassified_networks(connection, space.id),
        "page_path": visit.path("/sources"),
        "grouped_sources": GROUPED_SOURCES,
        "found": search_sources(form.find),
        "format_title": format_title,
        "find_channel": find_channel,
        "under_way": await list_reclassified_names(connection, space.id),
    }
    return visit.render("sources.html", values, 422 if errors or test_errors else 200)


def _prefilled(request: Request) -> dict[str, str]:
    """Return form values, with the network that the query suggests."""
    query = Query(request.scope["query_string"])
    network, spelling = query.single("network") or "", query.single("spelling") or ""
    return {
        "name": "",
        "source": "",
        "network": network[:MAX_NAME_LENGTH],
        "spellings": spelling[:MAX_NAME_LENGTH],
        "platform": "",
    }


def _read_test(request: Request) -> tuple[AddressTest, Errors]:
    query = Query(request.scope["query_string"])
    values = {name: (query.single(name) or "").strip() for name in ("url", "referrer", "find")}
    errors: Errors = dict(query.errors)
    for name, word in TESTED.items():
        if len(values[name]) > LONGEST_ADDRESS:
            size = f"The {word} has {len(values[name]):,} characters."
            errors[name] = [f"{size} At most {LONGEST_ADDRESS:,} are read: paste the beginning."]
            values[name] = values[name][:200]
    return AddressTest(values["url"], values["referrer"], values["find"][:200]), errors


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    fields = dict(visit.form.pairs).keys() & {*_FIELDS, *HOST_LISTS}
    return await _page(visit, list_form_errors(refusal), visit.typed(*fields))


ROUTES.action("/name", _FORM, _refuse)(add_source_name)
ROUTES.action("/unname", _FORM, _refuse)(remove_source_name)
ROUTES.action("/network", _FORM, _refuse)(add_network)
ROUTES.action("/remove-network", _FORM, _refuse)(drop_network)
ROUTES.action("/hosts", _FORM, _refuse)(change_hosts)
