"""Follow one visit from the page to the order, and report what is missing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response

from headwater.alerts.site_tests.models import SiteFacts, SiteTest, StepName
from headwater.alerts.site_tests.probe import CLICK_PARAMETER, ProbeTarget, probe_page, with_click
from headwater.alerts.site_tests.site_test import (
    fetch_test,
    judge_test,
    read_page_url,
    start_test,
    write_probe,
)
from headwater.console.pages import wait_text
from headwater.console.site_pages.site import describe_installation
from headwater.console.visits import (
    PageVisit,
    Refusal,
    SentForm,
    SpacePages,
    list_form_errors,
    open_visit,
    read_sent_form,
)
from headwater.http.errors import Invalid, NotFound
from headwater.spaces.accounts.attempts import take_attempt
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.sites.origins import OPAQUE
from headwater.spaces.sites.sites import Site, fetch_site

ROUTES = SpacePages("/sites/{site_id}/test")
_START = SentForm("test site", Permission.CHANGE_SETTINGS)
MOST_STARTS = 20
"""Maximum tests started in a Space within START_SECONDS; each fetches a page."""
START_SECONDS = 600
STEPS = {
    StepName.PAGE_VIEW: ("Page view", "Open the shop by the link above."),
    StepName.IDENTIFY: (
        "Identify",
        "In the shop, log in, sign up or order, so that the page calls `trk.identify(…)`.",
    ),
    StepName.PURCHASE: ("Purchase", "Place an order there: the page, your server or a webhook reports it."),
}


@ROUTES.page()
async def show_test(visit: PageVisit, status: int = 200, **values: Any) -> Response:
    site = await _fetch(visit)
    current_time = datetime.now(UTC)
    test = await fetch_test(visit.connection, visit.space.id, site.id)
    verdict = None
    if test is not None:
        facts = SiteFacts(site.site_key, site.origins, describe_installation(visit.services).script_url)
        verdict = await judge_test(
            visit.connection,
            visit.space.id,
            facts,
            site.id,
            test,
            declines_tracking=_declines_tracking(visit.request),
        )
    common: dict[str, Any] = {
        "site": site,
        "here": visit.path(f"/sites/{site.id}"),
        "test": test,
        "verdict": verdict,
        "steps": STEPS,
        "is_over": test is not None and test.is_over(current_time),
        "opened": with_click(test.url, test.click_id) if test else "",
        "parameter": CLICK_PARAMETER,
        "typed": _first_page(site, test),
    }
    return visit.render("site_test.html", common | values, status)


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    return await show_test(
        visit, refusal.status, typed=visit.form.text("url"), errors=list_form_errors(refusal)
    )


async def post_start(request: Request) -> Response:
    """Fetch the page, which the visitor then opens. No transaction is open during the fetch."""
    form = await read_sent_form(request, _START)
    try:
        async with open_visit(request, _START, form) as visit:
            site = await _fetch(visit)
            url = read_page_url(form.text("url"), site)
            await _count_start(visit.connection, visit.space.id)
            test = await start_test(visit.connection, visit.space.id, site, url)
    except Invalid as refusal:
        async with open_visit(request, _START, form) as visit:
            return await _refuse(visit, refusal)
    shared = visit.services
    target = ProbeTarget(
        url, test.click_id, describe_installation(shared).script_url, shared.settings.tracker_endpoint
    )
    probe = await probe_page(shared.public_egress, target)
    async with shared.database.transaction() as connection:
        await write_probe(connection, visit.space.id, site.id, test.click_id, probe)
    return visit.redirect(f"/sites/{site.id}/test")


ROUTES.add("/start", post_start, "POST")


async def _fetch(visit: PageVisit) -> Site:
    """Raise NotFound, also for an ended site."""
    site = await fetch_site(visit.connection, visit.space.id, visit.id("site_id"))
    if site.revoked_at is not None:
        raise NotFound("Page")
    return site


async def _count_start(connection: AsyncConnection, space_id: int) -> None:
    """Raise Invalid over the limit."""
    is_allowed = await take_attempt(connection, "site test", str(space_id), MOST_STARTS, START_SECONDS)
    if not is_allowed.admitted:
        wait = wait_text(is_allowed.retry_after)
        raise Invalid({"url": [f"Too many tests at once. Start the next one in {wait}."]})


def _first_page(site: Site, test: SiteTest | None) -> str:
    if test is not None:
        return test.url
    pages = (origin for origin in site.origins if origin != OPAQUE)
    origins = sorted(pages, key=lambda origin: "*" in origin)
    return f"{origins[0].replace('*.', 'www.')}/" if origins else ""


def _declines_tracking(request: Request) -> bool:
    return request.headers.get("dnt") == "1" or request.headers.get("sec-gpc") == "1"
