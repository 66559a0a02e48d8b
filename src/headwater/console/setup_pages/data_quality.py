"""The problems that spoil a Space's figures in a period, each with what mends it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.alerts.quality.models import QualityReport, Severity
from headwater.alerts.quality.report import check_quality
from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, read_form
from headwater.console.link_pages.source_changes import (
    GROUPED_SOURCES,
    add_own_host,
    add_source_name,
    exclude_host,
    remove_source_name,
)
from headwater.console.list_page import PER_PAGE
from headwater.console.pages import redirect, render
from headwater.console.report_pages.bar import read_bar
from headwater.console.report_pages.view import ReportView
from headwater.console.setup_pages.remedies import advice_of, places_of
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import services
from headwater.forwarding.destinations.destinations import resume_destination
from headwater.http.errors import Invalid
from headwater.http.inputs.parameters import Query
from headwater.http.inputs.timerange import TimeRange, between
from headwater.intake.inbox.rejected import replay_rejected_events
from headwater.reports.query import Measure
from headwater.reports.questions.shared import DEFAULT_PERIOD
from headwater.sources.titles import title_of
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.models import Space
from headwater.spaces.reclassifications import Reclassification, list_reclassified_names

FORM = "data-quality"
OTHER_CHOICES = frozenset(
    {"compare", "conversion", "attribution_model", "attribution_window", "query_mode", "date_basis"}
)
"""The choices of reports that this page does not have."""
SEVERITIES = {
    Severity.BAD: "Figures are wrong",
    Severity.WARNING: "Less exact",
    Severity.NOTE: "Worth knowing",
}
Mend = Callable[[AsyncConnection, Space, PostedForm], Awaitable[FlashMessage]]


async def show_quality(request: Request) -> Response:
    """Show the findings of the period that the address names."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        return await _page(request, connection, inside, None)


async def _page(
    request: Request, connection: AsyncConnection, inside: SpaceVisitor, problem: str | None
) -> Response:
    base = f"{HOME}/spaces/{inside.space.id}"
    path = f"{base}/data-quality"
    view = _read_view(request)
    report: QualityReport | None = None
    under_way: list[Reclassification] = []
    status = 422 if problem else 200
    try:
        period = _period(view, inside.space)
        report = await check_quality(connection, inside.space, period)
        under_way = await list_reclassified_names(connection, inside.space.id)
    except Invalid as error:
        status, problem = error.status, error.message
    return render(
        request,
        "data_quality.html",
        status=status,
        view=view,
        base=base,
        page_path=path,
        bar=read_bar(inside.space, view, path, without=OTHER_CHOICES),
        report=report,
        problem=problem,
        under_way=under_way,
        severities=SEVERITIES,
        grouped_sources=GROUPED_SOURCES,
        title_of=title_of,
        names=sorted(inside.space.source_names.items()),
        most_names=PER_PAGE,
        advice_of=advice_of,
        places_of=places_of,
        includes_today=view.period == DEFAULT_PERIOD,
        actions={verb: view.link(f"{path}/{verb}") for verb, _, _ in _FORMS},
    )


def _read_view(request: Request) -> ReportView:
    """Return the view of the address with nothing but its period."""
    view = ReportView.read(Query(request.scope["query_string"]))
    return ReportView(period=view.period, start_date=view.start_date, end_date=view.end_date)


def _period(view: ReportView, space: Space) -> TimeRange:
    """Return the period of a view. The usual one goes on until now, as what arrives today shows
    whether something was mended. Raises Invalid.
    """
    now = datetime.now(UTC)
    query = view.report(space, now, (Measure.EVENTS,))
    period = between(query.start, query.end, space.zone)
    return TimeRange(period.start, max(period.end, now)) if view.period == DEFAULT_PERIOD else period


def _mending(permission: Permission, mend: Mend) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler of a form that mends something and leads back to the page."""

    async def post(request: Request) -> Response:
        visitor = await require_visitor(request)
        form = await read_form(request, visitor.form_key, FORM)
        database = services(request).database
        try:
            async with database.transaction() as connection:
                inside = await enter(connection, request, visitor, permission)
                message = await mend(connection, inside.space, form)
        except Invalid as error:
            async with database.connection() as connection:
                inside = await enter(connection, request, visitor, permission)
                return await _page(request, connection, inside, error.message)
        path = f"{HOME}/spaces/{inside.space.id}/data-quality"
        return redirect(request, _read_view(request).link(path), message)

    return post


async def _resume(connection: AsyncConnection, space: Space, form: PostedForm) -> FlashMessage:
    await resume_destination(connection, space.id, form.number("destination"))
    return FlashMessage.DESTINATION_RESUMED


async def _replay(connection: AsyncConnection, space: Space, _form: PostedForm) -> FlashMessage:
    replayed = await replay_rejected_events(connection, space.id)
    return FlashMessage.REPLAYED if replayed else FlashMessage.NOTHING_CHANGED


_PATH = f"{HOME}/spaces/{{space_id}}/data-quality"
_FORMS = (
    ("resume", Permission.CHANGE_SETTINGS, _resume),
    ("replay", Permission.WRITE_DATA, _replay),
    ("name", Permission.CHANGE_SETTINGS, add_source_name),
    ("unname", Permission.CHANGE_SETTINGS, remove_source_name),
    ("own", Permission.CHANGE_SETTINGS, add_own_host),
    ("exclude", Permission.CHANGE_SETTINGS, exclude_host),
)
ROUTES = [
    Route(_PATH, show_quality, methods=["GET"]),
    *(
        Route(f"{_PATH}/{verb}", _mending(permission, mend), methods=["POST"])
        for verb, permission, mend in _FORMS
    ),
]
