"""A Space's sites: listed and created."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, once_token, read_form_once, spend, without_keys
from headwater.console.list_page import PER_PAGE, read_list_page
from headwater.console.pages import hidden_token, redirect, render
from headwater.console.site_pages.activity import MOST_VIEWS, read_activity
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Errors, Invalid
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.sites.origins import read_pasted_origins
from headwater.spaces.sites.sites import NewSite, create_site, list_sites

FORM = "create site"


async def show_sites(request: Request) -> Response:
    """Show the sites."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        return await _page(connection, request, inside)


async def post_create(request: Request) -> Response:
    """Create a site, and lead to its snippet."""
    visitor = await require_visitor(request)
    form = await read_form_once(request, visitor.form_key, FORM)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        try:
            new = read_site(form)
            site, _ = await create_site(connection, inside.space.id, new, services(request).sealing_key)
        except Invalid as error:
            values: dict[str, Any] = {"typed": typed_site(form), "errors": site_errors(error.errors)}
            return await _page(connection, request, inside, status=422, **values)
        await spend(connection, form)
    return redirect(request, f"{sites_path(inside.space.id)}/{site.id}", FlashMessage.SITE_CREATED)


def sites_path(space_id: int) -> str:
    """Return the path of a Space's sites."""
    return f"{HOME}/spaces/{space_id}/sites"


def read_site(form: PostedForm) -> NewSite:
    """Return the site that a form describes. Raises Invalid naming every field at fault."""
    errors: Errors = {}
    name = form.text("name").strip()
    if not name:
        errors["name"] = ["Give the site a name, such as the shop's."]
    origins: list[str] = []
    try:
        origins = read_pasted_origins(form.text("origins"))
    except ValueError as error:
        errors["origins"] = [str(error)]
    else:
        if not origins:
            errors["origins"] = ["Write the address of the shop, such as https://shop.example."]
    if errors:
        raise Invalid(errors)
    return NewSite(
        name,
        origins,
        accepts_amounts=form.text("amounts") != "refuse",
        signed_only=form.text("identify") == "signed",
    )


def typed_site(form: PostedForm) -> dict[str, str]:
    """Return what was typed, for the form to show it again."""
    return {name: form.text(name) for name in ("name", "origins", "amounts", "identify")}


def site_errors(errors: Errors) -> Errors:
    """Return the rules of `sites/` as sentences under the form's fields."""
    plain = without_keys(errors)
    return {"origins" if name == "origin" else name: rules for name, rules in plain.items()}


async def _page(
    connection: AsyncConnection, request: Request, inside: SpaceVisitor, *, status: int = 200, **values: Any
) -> Response:
    sites = await list_sites(connection, inside.space.id)
    active = [site for site in sites if site.revoked_at is None]
    ended = [site for site in sites if site.revoked_at is not None]
    listed = read_list_page(request, active, lambda site: " ".join((site.name, *site.origins)))
    common: dict[str, Any] = {
        "base": f"{HOME}/spaces/{inside.space.id}",
        "sites": listed,
        "ended": ended[: -PER_PAGE - 1 : -1],
        "ended_before": len(ended) - PER_PAGE,
        "activity": await read_activity(connection, inside.space.id, listed.rows),
        "most_views": MOST_VIEWS,
        "typed": {"name": "", "origins": "", "amounts": "accept", "identify": "any"},
        "once": hidden_token(once_token(inside.visitor.form_key, FORM)),
    }
    return render(request, "sites.html", status=status, **(common | values))


_PATH = f"{HOME}/spaces/{{space_id}}/sites"
ROUTES = [Route(_PATH, show_sites, methods=["GET"]), Route(f"{_PATH}/create", post_create, methods=["POST"])]
