"""Scheduled reports on the alerts page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from headwater.console.alert_pages.alerts import REPORT_FORM, alerts_page
from headwater.console.flash import FlashMessage
from headwater.console.report_pages.saved_views import list_views
from headwater.console.scheduled_reports.scheduled_reports import NewReport, remove_report, schedule_report
from headwater.console.visits import PageVisit, Refusal, SentForm, SpacePages, list_form_errors
from headwater.spaces.accounts.roles import Permission

ROUTES = SpacePages("/alerts/reports", back="/alerts#reports")
_TEXTS = ("name", "page", "query", "cadence", "day", "hour", "with_csv", "view")


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    typed = await _typed(visit) | {"channels": visit.form.texts("channels"), "form": "report"}
    return await alerts_page(visit, typed=typed, errors=list_form_errors(refusal))


@ROUTES.action("/schedule", REPORT_FORM, _refuse)
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
