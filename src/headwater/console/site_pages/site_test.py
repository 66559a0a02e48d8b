"""The test of a site: one visit followed from the page to the order, and what is missing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.alerts.site_tests.models import SiteFacts, SiteTest, StepName
from headwater.alerts.site_tests.probe import CLICK_PARAMETER, ProbeTarget, probe_page, with_click
from headwater.alerts.site_tests.site_test import (
    fetch_test,
    judge_test,
    read_page_url,
    start_test,
    write_probe,
)
from headwater.console.forms import read_form
from headwater.console.pages import redirect, render, wait_text
from headwater.console.site_pages.site import installation_of, read_site_id
from headwater.console.site_pages.sites import sites_path
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Invalid, NotFound
from headwater.spaces.accounts.attempts import take_attempt
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.sites.origins import OPAQUE
from headwater.spaces.sites.sites import Site, fetch_site

FORM = "test site"
MOST_STARTS = 20
"""Tests that may be begun in a Space within START_SECONDS: each has a page fetched."""
START_SECONDS = 600
STEPS = {
    StepName.PAGE_VIEW: ("Page view", "Open the shop by the link above."),
    StepName.IDENTIFY: (
        "Identify",
        "In the shop, log in, sign up or order, so that the page calls `trk.identify(…)`.",
    ),
    StepName.PURCHASE: ("Purchase", "Place an order there: the page, your server or a webhook reports it."),
}
"""The title of each step, and what to do for it."""


async def show_test(request: Request) -> Response:
    """Show the latest test of a site as far as it has come."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        site = await _fetch(connection, request, inside)
        return await _page(connection, request, inside, site)


async def post_start(request: Request) -> Response:
    """Begin a test: the page is read by the server, and then opened by the visitor."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, FORM)
    shared = services(request)
    try:
        async with shared.database.transaction() as connection:
            inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
            site = await _fetch(connection, request, inside)
            url = read_page_url(form.text("url"), site)
            await _take_start(connection, inside.space.id)
            test = await start_test(connection, inside.space.id, site, url)
    except Invalid as error:
        values: dict[str, Any] = {"typed": form.text("url"), "errors": error.errors}
        async with shared.database.connection() as connection:
            inside = await enter(connection, request, visitor)
            site = await _fetch(connection, request, inside)
            return await _page(connection, request, inside, site, **values)
    target = ProbeTarget(
        url, test.click_id, installation_of(shared).script_url, shared.settings.tracker_endpoint
    )
    probe = await probe_page(shared.public_egress, target)
    async with shared.database.transaction() as connection:
        await write_probe(connection, inside.space.id, site.id, test.click_id, probe)
    return redirect(request, f"{sites_path(inside.space.id)}/{site.id}/test")


async def _fetch(connection: AsyncConnection, request: Request, inside: SpaceVisitor) -> Site:
    """Return the site that the path names. Raises NotFound for one that has ended, too."""
    site = await fetch_site(connection, inside.space.id, read_site_id(request))
    if site.revoked_at is not None:
        raise NotFound("Page")
    return site


async def _take_start(connection: AsyncConnection, space_id: int) -> None:
    """Count a start. Raises Invalid for one too many."""
    taken = await take_attempt(connection, "site test", str(space_id), MOST_STARTS, START_SECONDS)
    if not taken.admitted:
        wait = wait_text(taken.retry_after)
        raise Invalid({"url": [f"That are many tests at once: begin the next in {wait}."]})


async def _page(
    connection: AsyncConnection, request: Request, inside: SpaceVisitor, site: Site, **values: Any
) -> Response:
    now = datetime.now(UTC)
    test = await fetch_test(connection, inside.space.id, site.id)
    verdict = None
    if test is not None:
        facts = SiteFacts(site.site_key, site.origins, installation_of(services(request)).script_url)
        verdict = await judge_test(
            connection, inside.space.id, facts, site.id, test, declines_tracking=_declines_tracking(request)
        )
    here = f"{sites_path(inside.space.id)}/{site.id}"
    common: dict[str, Any] = {
        "base": f"{HOME}/spaces/{inside.space.id}",
        "site": site,
        "here": here,
        "test": test,
        "verdict": verdict,
        "steps": STEPS,
        "is_over": test is not None and test.is_over(now),
        "opened": with_click(test.url, test.click_id) if test else "",
        "parameter": CLICK_PARAMETER,
        "typed": _first_page(site, test),
    }
    status = 422 if "errors" in values else 200
    return render(request, "site_test.html", status=status, **(common | values))


def _first_page(site: Site, test: SiteTest | None) -> str:
    """Return the page that a test is proposed with."""
    if test is not None:
        return test.url
    pages = (origin for origin in site.origins if origin != OPAQUE)
    plain = sorted(pages, key=lambda origin: "*" in origin)
    return f"{plain[0].replace('*.', 'www.')}/" if plain else ""


def _declines_tracking(request: Request) -> bool:
    return request.headers.get("dnt") == "1" or request.headers.get("sec-gpc") == "1"


_PATH = f"{HOME}/spaces/{{space_id}}/sites/{{site_id}}/test"
ROUTES = [Route(_PATH, show_test, methods=["GET"]), Route(f"{_PATH}/start", post_start, methods=["POST"])]
