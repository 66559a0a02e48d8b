"""Console routes."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.alerts.notifications.sender import STOP
from headwater.console import (
    account,
    assets,
    assistants,
    keys,
    login,
    logout,
    members,
    onboarding,
    shared_page,
    space_choice,
    space_settings,
    sso,
)
from headwater.console.ad_pages import campaigns, ledger, platform_comparison
from headwater.console.alert_pages import alerts as alert_page
from headwater.console.alert_pages import channels as alert_channels
from headwater.console.alert_pages import reports as alert_reports
from headwater.console.alert_pages import rules as alert_rules
from headwater.console.change_pages import changes_since, channel_changes, spend_changes
from headwater.console.factor_pages import authenticator, challenge, confirmation, passkey_login, passkeys
from headwater.console.link_pages import link_sheets, links, sources
from headwater.console.live_pages import live
from headwater.console.order_pages import (
    comparison,
    import_page,
    mapping,
    orders,
    upload,
    webhook,
    webhook_changes,
    webhook_wizard,
)
from headwater.console.overview_page import overview as first_page
from headwater.console.pages import pages_app, redirect
from headwater.console.people_pages import (
    company,
    company_list,
    contact,
    contact_changes,
    contact_data,
    event,
    search,
)
from headwater.console.platform_pages import delivery, destination, overview, preview, wizard
from headwater.console.report_pages import (
    channels,
    cohorts,
    completeness,
    csv_file,
    events,
    models,
    notes,
    paths,
    rates,
    saved_views,
    self_reported,
    share_links,
    trained_models,
)
from headwater.console.setup_pages import audit_log, data_quality, setup
from headwater.console.site_pages import site, site_test, sites
from headwater.console.spend_pages import account_form, watched_file, watched_form
from headwater.console.spend_pages import connection as spend_connection
from headwater.console.spend_pages import connections as spend_connections
from headwater.console.spend_pages import scripts as spend_scripts
from headwater.console.visitor import AUTHENTICATOR, CONFIRM, FACTOR, HOME, LOGIN, PASSKEY
from headwater.endpoints.services import Services
from headwater.http.compression import COMPRESSED
from headwater.http.inputs.path_parameters import REST

ICON = "/favicon.ico"


async def begin(request: Request) -> Response:
    """Redirect the bare address to the console."""
    return redirect(request, HOME)


PAGES = [
    Route("/", begin, methods=["GET"]),
    Route(ICON, assets.send_icon, methods=["GET"]),
    Route(f"{assets.PATH}/{{name}}", assets.send_asset, methods=["GET"]),
    *login.ROUTES,
    *logout.ROUTES,
    *sso.ROUTES,
    *challenge.ROUTES,
    *confirmation.ROUTES,
    *authenticator.ROUTES,
    *passkey_login.ROUTES,
    *passkeys.ROUTES,
    *onboarding.ROUTES,
    *space_choice.ROUTES,
    *first_page.ROUTES,
    *channels.ROUTES,
    *models.ROUTES,
    *paths.ROUTES,
    *campaigns.ROUTES,
    *platform_comparison.ROUTES,
    *cohorts.ROUTES,
    *rates.ROUTES,
    *trained_models.ROUTES,
    *self_reported.ROUTES,
    *completeness.ROUTES,
    *channel_changes.ROUTES,
    *changes_since.ROUTES,
    *spend_changes.ROUTES,
    *ledger.ROUTES,
    *spend_connections.ROUTES,
    *account_form.ROUTES,
    *spend_scripts.ROUTES,
    *spend_connection.ROUTES,
    *watched_form.ROUTES,
    *watched_file.ROUTES,
    *setup.ROUTES,
    *data_quality.ROUTES,
    *audit_log.ROUTES,
    *sites.ROUTES,
    *site.ROUTES,
    *site_test.ROUTES,
    *orders.ROUTES,
    *comparison.ROUTES,
    *webhook_wizard.ROUTES,
    *upload.ROUTES,
    *import_page.ROUTES,
    *webhook.ROUTES,
    *mapping.ROUTES,
    *webhook_changes.ROUTES,
    *sources.ROUTES,
    *links.ROUTES,
    *link_sheets.ROUTES,
    *overview.ROUTES,
    *wizard.ROUTES,
    *destination.ROUTES,
    *preview.ROUTES,
    *delivery.ROUTES,
    *csv_file.ROUTES,
    *events.ROUTES,
    *live.ROUTES,
    *saved_views.ROUTES,
    *notes.ROUTES,
    *share_links.ROUTES,
    *shared_page.ROUTES,
    *event.ROUTES,
    *contact.ROUTES,
    *contact_changes.ROUTES,
    *contact_data.ROUTES,
    *company.ROUTES,
    *company_list.ROUTES,
    *search.ROUTES,
    *alert_page.ROUTES,
    *alert_rules.ROUTES,
    *alert_channels.ROUTES,
    *alert_reports.ROUTES,
    *members.ROUTES,
    *keys.ROUTES,
    *assistants.ROUTES,
    *space_settings.ROUTES,
    *account.ROUTES,
]


def console_routes(shared: Services) -> list[Route]:
    console = pages_app(shared, PAGES, opened=[LOGIN, FACTOR, PASSKEY, CONFIRM, AUTHENTICATOR])
    shared_pages = f"{share_links.SHARED}/{{rest:{REST}}}"
    answers = f"{STOP}/{{rest:{REST}}}"
    sign_ins = f"{LOGIN}/{{rest:{REST}}}"
    places = ("/", ICON, LOGIN, sign_ins, "/logout", HOME, f"{HOME}/{{rest:{REST}}}", shared_pages, answers)
    return [Route(page, console, middleware=COMPRESSED) for page in places]
