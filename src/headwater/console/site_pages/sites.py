"""List and create sites."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, without_keys
from headwater.console.list_page import PER_PAGE, read_list_page
from headwater.console.site_pages.activity import MOST_VIEWS, read_activity
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.http.errors import Errors, Invalid
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.sites.origins import read_pasted_origins
from headwater.spaces.sites.sites import NewSite, create_site, list_sites

ROUTES = SpacePages("/sites")
SITE_FIELDS = ("name", "origins", "amounts", "identify")
_CREATE = SentForm("create site", Permission.CHANGE_SETTINGS, once=True, changes=("site",))


@ROUTES.page()
async def show_sites(visit: PageVisit, status: int = 200, **values: Any) -> Response:
    sites = await list_sites(visit.connection, visit.space.id)
    active_sites = [site for site in sites if site.revoked_at is None]
    ended_sites = [site for site in sites if site.revoked_at is not None]
    page_of_sites = read_list_page(
        visit.request, active_sites, lambda site: " ".join((site.name, *site.origins))
    )
    common: dict[str, Any] = {
        "sites": page_of_sites,
        "ended": ended_sites[: -PER_PAGE - 1 : -1],
        "ended_before": len(ended_sites) - PER_PAGE,
        "activity": await read_activity(visit.connection, visit.space.id, page_of_sites.rows),
        "most_views": MOST_VIEWS,
        "typed": {"name": "", "origins": "", "amounts": "accept", "identify": "any"},
        "once": visit.once(_CREATE.name),
    }
    return visit.render("sites.html", common | values, status)


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    errors = site_errors(list_form_errors(refusal))
    return await show_sites(visit, refusal.status, typed=visit.typed(*SITE_FIELDS), errors=errors)


@ROUTES.action("/create", _CREATE, _refuse)
async def post_create(visit: PageVisit) -> Response:
    new, key = read_site(visit.form), visit.services.sealing_key
    site, _ = await create_site(visit.connection, visit.space.id, new, key)
    return visit.redirect(f"/sites/{site.id}", FlashMessage.SITE_CREATED)


def read_site(form: PostedForm) -> NewSite:
    """Raise Invalid with every error."""
    errors: Errors = {}
    name = form.text("name").strip()
    if not name:
        errors["name"] = ["Enter a name, such as the shop's."]
    origins: list[str] = []
    try:
        origins = read_pasted_origins(form.text("origins"))
    except ValueError as error:
        errors["origins"] = [str(error)]
    else:
        if not origins:
            errors["origins"] = ["Enter the shop's address, such as https://shop.example."]
    if errors:
        raise Invalid(errors)
    return NewSite(
        name,
        origins,
        accepts_amounts=form.text("amounts") != "refuse",
        signed_only=form.text("identify") == "signed",
    )


def site_errors(errors: Errors) -> Errors:
    rules_of_fields = without_keys(errors)
    return {"origins" if name == "origin" else name: rules for name, rules in rules_of_fields.items()}
