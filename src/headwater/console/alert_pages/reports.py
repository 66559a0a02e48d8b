"""Scheduled reports on a Space's page of alerts: made and removed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.alert_pages.alerts import REPORT_FORM, alerts_page, alerts_path
from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, read_form, read_form_once, spend
from headwater.console.pages import redirect
from headwater.console.report_pages.saved_views import list_views
from headwater.console.scheduled_reports.scheduled_reports import NewReport, remove_report, schedule_report
from headwater.console.visitor import enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Invalid
from headwater.spaces.accounts.roles import Permission

REMOVE_FORM = "remove report"
_TEXTS = ("name", "page", "query", "cadence", "day", "hour", "with_csv", "view")


async def post_schedule(request: Request) -> Response:
    """Schedule a report: of a saved view, or of a page and its choices."""
    visitor = await require_visitor(request)
    form = await read_form_once(request, visitor.form_key, REPORT_FORM)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        views = {str(view.id): view for view in await list_views(connection, inside)}
        typed: dict[str, Any] = {name: form.text(name) for name in _TEXTS}
        if (view := views.get(form.text("view"))) is not None:
            typed |= {"page": view.page, "query": view.query, "name": typed["name"] or view.name}
        try:
            new = _read(form, typed, visitor.user.id)
            await schedule_report(connection, inside.space, new, datetime.now(UTC))
        except Invalid as error:
            typed |= {"channels": form.texts("channels"), "form": "report"}
            return await alerts_page(connection, request, inside, typed=typed, errors=error.errors)
        await spend(connection, form)
    return redirect(request, f"{alerts_path(inside.space.id)}#reports", FlashMessage.REPORT_SCHEDULED)


async def post_remove(request: Request) -> Response:
    """Remove a scheduled report."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, REMOVE_FORM)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        await remove_report(connection, inside.space.id, form.number("report"))
    return redirect(request, f"{alerts_path(inside.space.id)}#reports", FlashMessage.REPORT_REMOVED)


def _read(form: PostedForm, typed: dict[str, Any], user_id: int) -> NewReport:
    return NewReport(
        typed["name"],
        typed["page"],
        typed["query"],
        typed["cadence"],
        typed["day"],
        typed["hour"],
        typed["with_csv"] == "yes",
        form.texts("channels"),
        user_id,
    )


_PATH = "/console/spaces/{space_id}/alerts/reports"
ROUTES = [
    Route(f"{_PATH}/schedule", post_schedule, methods=["POST"]),
    Route(f"{_PATH}/remove", post_remove, methods=["POST"]),
]
