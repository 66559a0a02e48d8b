"""Every page of the console, and the paths under which the service finds them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.api.services import Services
from headwater.console import (
    account,
    assets,
    assistants,
    keys,
    login,
    members,
    onboarding,
    space_choice,
    space_settings,
)
from headwater.console.pages import pages_app, redirect
from headwater.console.people_pages import company, contact, contact_changes, event, search
from headwater.console.report_pages import csv_file, events, models, revenue, saved_views
from headwater.console.setup_pages import data_quality, setup
from headwater.console.visitor import HOME, LOGIN
from headwater.http.path_parameters import REST

ICON = "/favicon.ico"


async def begin(request: Request) -> Response:
    """Lead from the bare address to the console."""
    return redirect(request, HOME)


PAGES = [
    Route("/", begin, methods=["GET"]),
    Route(ICON, assets.send_icon, methods=["GET"]),
    Route(f"{assets.PATH}/{{name}}", assets.send_asset, methods=["GET"]),
    *login.ROUTES,
    *onboarding.ROUTES,
    *space_choice.ROUTES,
    *revenue.ROUTES,
    *models.ROUTES,
    *setup.ROUTES,
    *data_quality.ROUTES,
    *csv_file.ROUTES,
    *events.ROUTES,
    *saved_views.ROUTES,
    *event.ROUTES,
    *contact.ROUTES,
    *contact_changes.ROUTES,
    *company.ROUTES,
    *search.ROUTES,
    *members.ROUTES,
    *keys.ROUTES,
    *assistants.ROUTES,
    *space_settings.ROUTES,
    *account.ROUTES,
]


def console_routes(shared: Services) -> list[Route]:
    """The console as routes of the service's application, whatever the method."""
    console = pages_app(shared, PAGES, opened=[LOGIN])
    places = ("/", ICON, LOGIN, "/logout", HOME, f"{HOME}/{{rest:{REST}}}")
    return [Route(place, console) for place in places]
