"""Scheduled reports on the alerts page."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from headwater.alerts.notifications.channels import list_channels
from headwater.console.flash import FlashMessage
from headwater.console.report_pages.bar import SHAREABLE
from headwater.console.report_pages.saved_views import list_views
from headwater.console.scheduled_reports.scheduled_reports import (
    NewReport,
    list_reports,
    remove_report,
    schedule_report,
)
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.http.errors import Errors
from headwater.spaces.accounts.roles import Permission

ROUTES = SpacePages("/alerts/reports")
_SCHEDULE = SentForm("schedule report", Permission.CHANGE_SETTINGS, once=True)
_USUAL: dict[str, Any] = {
    "channels": [],
    "page": "",
    "query": "",
    "cadence": "weekly",
    "day": "0",
    "hour": "7",
    "with_csv": "",
    "form": "",
    "view": "",
}
_TEXTS = ("name", "page", "query", "cadence", "day", "hour", "with_csv", "view")


@ROUTES.page()
async def show_reports(visit: PageVisit) -> Response:
    """Fill in the form for a scheduled report from parameters."""
    query = visit.query
    typed = {name: str(query.single(name) or "") for name in ("page", "query")}
    return await _reports_page(visit, typed)


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    typed = await _typed(visit) | {"channels": visit.form.texts("channels"), "form": "report"}
    return await _reports_page(visit, typed, list_form_errors(refusal))


@ROUTES.action("/schedule", _SCHEDULE, _refuse)
async def post_schedule(visit: PageVisit) -> FlashMessage:
    typed = await _typed(visit)
    new = NewReport(
        typed["name"],
        typed["page"],
        typed["query"],
        typed["cadence"],
        typed["day"],
        typed["hour"],
        typed["with_csv"] == "yes",
        visit.form.texts("channels"),
        visit.user_id,
    )
    await schedule_report(visit.connection, visit.space, new, datetime.now(UTC))
    await visit.spend()
    return FlashMessage.REPORT_SCHEDULED


@ROUTES.action("/remove", SentForm("remove report", Permission.CHANGE_SETTINGS))
async def post_remove(visit: PageVisit) -> FlashMessage:
    await remove_report(visit.connection, visit.space.id, visit.form.number("report"))
    return FlashMessage.REPORT_REMOVED


async def _typed(visit: PageVisit) -> dict[str, Any]:
    """Return form values; a saved view replaces the page and its choices."""
    typed = visit.typed(*_TEXTS)
    views = {str(view.id): view for view in await list_views(visit.connection, visit.inside)}
    if (view := views.get(typed["view"])) is not None:
        typed |= {"page": view.page, "query": view.query, "name": typed["name"] or view.name}
    return typed


async def _reports_page(visit: PageVisit, typed: dict[str, Any], errors: Errors | None = None) -> Response:
    connection, space = visit.connection, visit.space
    values: dict[str, Any] = {
        "base": visit.path(),
        "path": visit.path("/alerts/reports"),
        "no_errors": defaultdict[str, list[str]](list),
        "channels": await list_channels(connection, space.id),
        "reports": await list_reports(connection, space.id),
        "views": [view for view in await list_views(connection, visit.inside) if view.page in SHAREABLE],
        "pages": SHAREABLE,
        "typed": _USUAL | typed,
        "errors": errors or {},
        "report_once": visit.once(_SCHEDULE.name),
    }
    return visit.render("scheduled_reports.html", values, 422 if errors else 200)
