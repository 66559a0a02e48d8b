"""One site: its snippet for each shop system, what was refused of its pages lately, and its
settings.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import read_form
from headwater.console.pages import redirect, render
from headwater.console.site_pages.activity import MOST_VIEWS, read_activity
from headwater.console.site_pages.sites import read_site, site_errors, sites_path, typed_site
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import Services, services
from headwater.http.errors import Invalid, NotFound
from headwater.http.inputs.path_parameters import parse_id
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.sites.refusals import list_refusals
from headwater.spaces.sites.sites import Site, SiteChange, change_site, fetch_site, revoke_site
from headwater.spaces.sites.snippets import TITLES, Installation, ShopSystem, Snippet, describe_shop

CONFIRM = "confirm"
"""The field into which the site's name is typed."""
CONSENT_REQUIRED = "required"
REFUSED_DAYS = 7
"""Days for which the page shows what was refused."""


async def show_site(request: Request) -> Response:
    """Show a site with the snippet for the shop system that the address names."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        site = await fetch_site(connection, inside.space.id, read_site_id(request))
        return await _page(connection, request, inside, site)


async def post_change(request: Request) -> Response:
    """Change a site's settings."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, "change site")
    site_id = read_site_id(request)
    try:
        async with services(request).database.transaction() as connection:
            inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
            new = read_site(form)
            change = SiteChange(new.name, new.origins, new.accepts_amounts, new.signed_only)
            await change_site(connection, inside.space.id, site_id, change)
    except Invalid as error:
        values = {"typed": typed_site(form), "errors": site_errors(error.errors)}
        return await _refuse(request, values)
    path = f"{sites_path(inside.space.id)}/{site_id}"
    return redirect(request, path, FlashMessage.SITE_CHANGED)


async def post_end(request: Request) -> Response:
    """End a site, once its name was typed."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, "end site")
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        site = await fetch_site(connection, inside.space.id, read_site_id(request))
        is_confirmed = form.text(CONFIRM).split() == site.name.split()
        if is_confirmed:
            await revoke_site(connection, inside.space.id, site.id)
    if not is_confirmed:
        refusal = f"That is not the name of the site. Type “{site.name}” to end it."
        return await _refuse(request, {"errors": {CONFIRM: [refusal]}})
    return redirect(request, sites_path(inside.space.id), FlashMessage.SITE_ENDED)


async def _refuse(request: Request, values: dict[str, Any]) -> Response:
    """Show the site again, with what was typed and why it was refused."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        site = await fetch_site(connection, inside.space.id, read_site_id(request))
        return await _page(connection, request, inside, site, **values)


async def _page(
    connection: AsyncConnection, request: Request, inside: SpaceVisitor, site: Site, **values: Any
) -> Response:
    shop, needs_consent = _read_choices(request)
    snippet = Snippet(installation_of(services(request)), site.site_key, needs_consent)
    activity = await read_activity(connection, inside.space.id, [site])
    since = datetime.now(UTC) - timedelta(days=REFUSED_DAYS)
    refused = await list_refusals(connection, inside.space.id, site.id, since)
    common: dict[str, Any] = {
        "base": f"{HOME}/spaces/{inside.space.id}",
        "site": site,
        "here": f"{sites_path(inside.space.id)}/{site.id}",
        "activity": activity[site.id],
        "most_views": MOST_VIEWS,
        "refused": refused,
        "shop": shop,
        "shops": TITLES,
        "needs_consent": needs_consent,
        "instructions": describe_shop(shop, snippet, accepts_amounts=site.accepts_amounts),
        "typed": {
            "name": site.name,
            "origins": "\n".join(site.origins),
            "amounts": "accept" if site.accepts_amounts else "refuse",
            "identify": "signed" if site.signed_only else "any",
        },
    }
    status = 422 if "errors" in values else 200
    return render(request, "site.html", status=status, **(common | values))


def read_site_id(request: Request) -> int:
    """Return the site that the path names. Raises NotFound."""
    try:
        return parse_id("site", request.path_params["site_id"])
    except Invalid:
        raise NotFound("Page") from None


def installation_of(shared: Services) -> Installation:
    """Return the addresses of this installation, as pages of sites reach it."""
    return Installation(shared.base_url, shared.settings.tracker_script)


def _read_choices(request: Request) -> tuple[ShopSystem, bool]:
    """Return the shop system and the rule of consent in the address; the usual for unknown ones."""
    shop = request.query_params.get("shop", "")
    is_known = shop in {each.value for each in ShopSystem}
    needs_consent = request.query_params.get("consent") == CONSENT_REQUIRED
    return (ShopSystem(shop) if is_known else ShopSystem.HTML), needs_consent


_PATH = f"{HOME}/spaces/{{space_id}}/sites/{{site_id}}"
ROUTES = [
    Route(_PATH, show_site, methods=["GET"]),
    Route(f"{_PATH}/change", post_change, methods=["POST"]),
    Route(f"{_PATH}/end", post_end, methods=["POST"]),
]
