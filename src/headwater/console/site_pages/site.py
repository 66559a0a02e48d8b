"""Snippets by shop system, recent refusals and settings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.forms import read_shown, write_shown
from headwater.console.site_pages.activity import MOST_VIEWS, read_activity
from headwater.console.site_pages.sites import SITE_FIELDS, read_site, site_errors
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.endpoints.services import Services
from headwater.http.errors import Invalid
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.sites.refusals import list_refusals
from headwater.spaces.sites.sites import Site, SiteChange, change_site, fetch_site, revoke_site
from headwater.spaces.sites.snippets import (
    TITLES,
    Installation,
    ShopSystem,
    Snippet,
    describe_custom_html,
    describe_shop,
)

ROUTES = SpacePages("/sites/{site_id}")

CONFIRM = "confirm"
CONSENT_REQUIRED = "required"
REFUSED_DAYS = 7


@ROUTES.page()
async def show_site(visit: PageVisit, status: int = 200, **values: Any) -> Response:
    site = await fetch_site(visit.connection, visit.space.id, visit.id("site_id"))
    shop, needs_consent = _read_choices(visit.request)
    snippet = Snippet(describe_installation(visit.services), site.site_key, needs_consent)
    activity = await read_activity(visit.connection, visit.space.id, [site])
    since = datetime.now(UTC) - timedelta(days=REFUSED_DAYS)
    refusals = await list_refusals(visit.connection, visit.space.id, site.id, since)
    common: dict[str, Any] = {
        "site": site,
        "here": visit.path(f"/sites/{site.id}"),
        "activity": activity[site.id],
        "most_views": MOST_VIEWS,
        "refused": refusals,
        "shop": shop,
        "shops": TITLES,
        "needs_consent": needs_consent,
        "instructions": describe_shop(shop, snippet, accepts_amounts=site.accepts_amounts),
        "custom_html": describe_custom_html(snippet, accepts_amounts=site.accepts_amounts)
        if shop is ShopSystem.TAG_MANAGER
        else [],
        "typed": _list_form_values(site),
        "shown": write_shown(visit.form, _list_form_values(site)),
    }
    return visit.render("site.html", common | values, status)


def _list_form_values(site: Site) -> dict[str, str]:
    return {
        "name": site.name,
        "origins": "\n".join(site.origins),
        "amounts": "accept" if site.accepts_amounts else "refuse",
        "identify": "signed" if site.signed_only else "any",
    }


async def _refuse_change(visit: PageVisit, refusal: Refusal) -> Response:
    typed, errors = visit.typed(*SITE_FIELDS), site_errors(list_form_errors(refusal))
    return await show_site(visit, refusal.status, typed=typed, errors=errors)


async def _refuse_end(visit: PageVisit, refusal: Refusal) -> Response:
    return await show_site(visit, refusal.status, errors=list_form_errors(refusal))


@ROUTES.action(
    "/change", SentForm("change site", Permission.CHANGE_SETTINGS, changes=("site",)), _refuse_change
)
async def post_change(visit: PageVisit) -> FlashMessage:
    form, new = visit.form, read_site(visit.form)
    site = await fetch_site(visit.connection, visit.space.id, visit.id("site_id"))
    shown = read_shown(form, _list_form_values(site))
    changed = {
        name for name in SITE_FIELDS if form.text(name).splitlines() != shown.get(name, "").splitlines()
    }
    change = SiteChange(
        new.name if "name" in changed else None,
        new.origins if "origins" in changed else None,
        new.accepts_amounts if "amounts" in changed else None,
        new.signed_only if "identify" in changed else None,
    )
    await change_site(visit.connection, visit.space.id, site.id, change)
    return FlashMessage.SITE_CHANGED


@ROUTES.action("/end", SentForm("end site", Permission.CHANGE_SETTINGS, changes=("site",)), _refuse_end)
async def post_end(visit: PageVisit) -> Response:
    site = await fetch_site(visit.connection, visit.space.id, visit.id("site_id"))
    if visit.form.text(CONFIRM).split() != site.name.split():
        raise Invalid({CONFIRM: [f"This is not the site's name. Type “{site.name}” to end it."]})
    await revoke_site(visit.connection, visit.space.id, site.id)
    return visit.redirect("/sites", FlashMessage.SITE_ENDED)


def describe_installation(shared: Services) -> Installation:
    return Installation(shared.base_url, shared.settings.tracker_script)


def _read_choices(request: Request) -> tuple[ShopSystem, bool]:
    shop = request.query_params.get("shop", "")
    is_known = shop in {system.value for system in ShopSystem}
    needs_consent = request.query_params.get("consent") == CONSENT_REQUIRED
    return (ShopSystem(shop) if is_known else ShopSystem.HTML), needs_consent
