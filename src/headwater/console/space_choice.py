"""The visitor's Spaces with revenue and open problems."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.alerts.problems import Alert, list_alerts
from headwater.console.pages import redirect, render
from headwater.console.report_pages import figures
from headwater.console.report_pages.figures import Change
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import HOME, lacks_factor, require_visitor
from headwater.endpoints.services import Services, services
from headwater.http.inputs.fields import whole_number
from headwater.http.inputs.parameters import Parameter, Query
from headwater.reports.engine.measures import Figure
from headwater.reports.engine.report import ReportResult, query_report
from headwater.reports.engine.report_reader import CONNECTION_SECONDS
from headwater.reports.query import FigureColumn, Measure, ReportRefused
from headwater.spaces.accounts.members import SpaceMembership, list_joined
from headwater.spaces.spaces import fetch_space

PER_PAGE = 20
_MEASURES = (Measure.REVENUE, Measure.ORDERS)
_PAGE = Parameter(name="page", kind=whole_number(1, 10_000), default=1, description="Page of the list.")


class SpaceSummary(Struct, frozen=True):
    membership: SpaceMembership
    alerts: Sequence[Alert]
    report: ReportResult | None
    """The last 30 days; None if the report would take too long."""
    is_hidden: bool = False
    """Whether the Space requires a second factor first."""

    @property
    def currency(self) -> str:
        return self.report.currency if self.report else ""

    def figure(self, measure: Measure) -> Figure:
        """Return the last 30 days."""
        return self.report.total.figures[FigureColumn(measure)] if self.report else None

    def change(self, measure: Measure) -> Change | None:
        """Compare with the 30 days before."""
        return figures.change(self.report.total, FigureColumn(measure)) if self.report else None


async def show_spaces(request: Request) -> Response:
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        memberships = await list_joined(connection, visitor.user.id)
    if len(memberships) == 1 and "all" not in request.query_params:
        return redirect(request, f"{HOME}/spaces/{memberships[0].space_id}")
    query = Query(request.scope["query_string"])
    search_text = str(query.single("q") or "").strip()
    page = _PAGE.read(query) or 1
    query.finish()
    matches = [membership for membership in memberships if search_text.lower() in membership.name.lower()]
    first = PER_PAGE * (page - 1)
    shared, current_time = services(request), datetime.now(UTC)
    summaries = [
        SpaceSummary(membership, [], None, is_hidden=True)
        if lacks_factor(request, visitor.session, space_requires=membership.require_second_factor)
        else await _summarize(shared, membership, current_time)
        for membership in matches[first : first + PER_PAGE]
    ]
    return render(
        request,
        "spaces.html",
        joined=memberships,
        listed=summaries,
        wanted=search_text,
        number=page,
        is_last=first + PER_PAGE >= len(matches),
        figures=figures,
        Measure=Measure,
    )


async def _summarize(shared: Services, membership: SpaceMembership, current_time: datetime) -> SpaceSummary:
    async with shared.database.connection() as connection:
        space = await fetch_space(connection, membership.space_id)
        alerts = await list_alerts(connection, membership.space_id)
    query, report = ReportView().report(space, current_time, _MEASURES), None
    try:
        async with shared.database.transaction(CONNECTION_SECONDS) as connection:
            report = await query_report(connection, space.id, query)
    except ReportRefused:
        pass
    return SpaceSummary(membership, alerts, report)


ROUTES = [Route(HOME, show_spaces, methods=["GET"])]
