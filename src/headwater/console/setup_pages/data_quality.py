"""Problems of a period, with remedies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from headwater.alerts.quality.models import QualityReport, Severity
from headwater.alerts.quality.report import check_quality
from headwater.console.flash import FlashMessage
from headwater.console.link_pages.source_changes import (
    GROUPED_SOURCES,
    add_own_host,
    add_source_name,
    exclude_host,
    remove_source_name,
)
from headwater.console.list_page import PER_PAGE
from headwater.console.report_pages.bar import read_bar
from headwater.console.report_pages.view import ReportView
from headwater.console.setup_pages.remedies import find_remedy_pages, get_advice
from headwater.console.visits import Act, PageVisit, Refusal, SentForm, SpacePages
from headwater.forwarding.destinations.destinations import resume_destination
from headwater.http.errors import Invalid
from headwater.http.inputs.parameters import Query
from headwater.http.inputs.timerange import TimeRange, between
from headwater.intake.inbox.rejected import replay_rejected_events
from headwater.reports.query import Measure
from headwater.reports.questions.shared import DEFAULT_PERIOD
from headwater.sources.titles import format_title
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.models import Space
from headwater.spaces.reclassifications import Reclassification, list_reclassified_names

ROUTES = SpacePages("/data-quality")
OTHER_CHOICES = frozenset(
    {"compare", "conversion", "attribution_model", "attribution_window", "query_mode", "date_basis"}
)
SEVERITIES = {
    Severity.BAD: "Figures are wrong",
    Severity.WARNING: "Less exact",
    Severity.NOTE: "Worth knowing",
}
Step = Callable[[PageVisit], Awaitable[FlashMessage]]


@ROUTES.page()
async def show_quality(visit: PageVisit, problem: str | None = None) -> Response:
    connection, space, path = visit.connection, visit.space, visit.path("/data-quality")
    view = _read_view(visit.request)
    report: QualityReport | None = None
    under_way: list[Reclassification] = []
    status = 422 if problem else 200
    try:
        period = _period(view, space)
        report = await check_quality(connection, space, period)
        under_way = await list_reclassified_names(connection, space.id)
    except Invalid as error:
        status, problem = error.status, error.message
    values: dict[str, Any] = {
        "view": view,
        "bar": read_bar(space, view, path, absent_choices=OTHER_CHOICES),
        "report": report,
        "problem": problem,
        "under_way": under_way,
        "severities": SEVERITIES,
        "grouped_sources": GROUPED_SOURCES,
        "format_title": format_title,
        "names": sorted(space.source_names.items()),
        "most_names": PER_PAGE,
        "get_advice": get_advice,
        "find_remedy_pages": find_remedy_pages,
        "includes_today": view.period == DEFAULT_PERIOD,
        "actions": {verb: view.link(f"{path}/{verb}") for verb in _ACTIONS},
    }
    return visit.render("data_quality.html", values, status)


def _read_view(request: Request) -> ReportView:
    view = ReportView.read(Query(request.scope["query_string"]))
    return ReportView(period=view.period, start_date=view.start_date, end_date=view.end_date)


def _period(view: ReportView, space: Space) -> TimeRange:
    """Return the view's period. The default ends now, because today's arrivals show whether a fix has worked.
    Raise Invalid.
    """
    current_time = datetime.now(UTC)
    query = view.report(space, current_time, (Measure.EVENTS,))
    period = between(query.start, query.end, space.zone)
    return TimeRange(period.start, max(period.end, current_time)) if view.period == DEFAULT_PERIOD else period


async def _resume(visit: PageVisit) -> FlashMessage:
    await resume_destination(visit.connection, visit.space.id, visit.form.number("destination"))
    return FlashMessage.DESTINATION_RESUMED


async def _replay(visit: PageVisit) -> FlashMessage:
    replayed = await replay_rejected_events(visit.connection, visit.space.id)
    if replayed:
        visit.note(AuditChange("rejected_events", after={"replayed": replayed}))
    return FlashMessage.REPLAYED if replayed else FlashMessage.NOTHING_CHANGED


async def _refuse(visit: PageVisit, refusal: Refusal) -> Response:
    return await show_quality(visit, refusal.message)


def _returning(step: Step) -> Act:
    """Redirect to the page's period."""

    async def act(visit: PageVisit) -> Response:
        message = await step(visit)
        return visit.redirect(_read_view(visit.request).link("/data-quality"), message)

    return act


_SETTINGS = SentForm(
    "data-quality", Permission.CHANGE_SETTINGS, changes=("space", "source_name", "destination")
)
_ACTIONS = {
    "resume": (_SETTINGS, _resume),
    "replay": (SentForm("data-quality", Permission.WRITE_DATA), _replay),
    "name": (_SETTINGS, add_source_name),
    "unname": (_SETTINGS, remove_source_name),
    "own": (_SETTINGS, add_own_host),
    "exclude": (_SETTINGS, exclude_host),
}
for _verb, (_form, _step) in _ACTIONS.items():
    ROUTES.action(f"/{_verb}", _form, _refuse)(_returning(_step))
