"""Visitor, choices, connection and template values of report pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response

from headwater.attribution.trained_models.choice import NotTrained, find_current
from headwater.attribution.trained_models.nightly_runs import PURCHASE, explain_missing_model
from headwater.console.pages import render
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import ReportBar, describe_window, window_title
from headwater.console.report_pages.basis import describe_no_credit
from headwater.console.report_pages.charts.chart_notes import ChartNotes, read_chart_notes
from headwater.console.report_pages.saved_views import SavedView, list_views
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import HOME, enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Invalid, Problem
from headwater.http.inputs.parameters import Query
from headwater.reports.engine.report_reader import CONNECTION_SECONDS
from headwater.reports.query import DateTimeSpan, ReportRefused
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.models import Space

T = TypeVar("T")

REFUSALS = (Invalid, ReportRefused)
"""Reasons for showing an error below the bar instead of a report."""


@dataclass(frozen=True)
class ReportPage:
    request: Request
    space: Space
    views: list[SavedView]
    query: Query
    view: ReportView
    shared: str | None = None
    """The share link's name; None for a member of the Space."""
    with_notes: bool = True
    """False if charts have no notes."""

    @property
    def path(self) -> str:
        return self.request.url.path

    @property
    def base(self) -> str:
        """The prefix of the Space's page addresses."""
        return f"{HOME}/spaces/{self.space.id}"

    @property
    def _may_share(self) -> bool:
        return self.shared is None and self.request.state.inside.may(Permission.CHANGE_SETTINGS)

    async def load(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Run `work` on a connection for reports. A missing trained model is explained."""
        database = services(self.request).database
        try:
            async with database.transaction(CONNECTION_SECONDS) as connection:
                return await work(connection)
        except NotTrained as error:
            async with database.transaction() as connection:
                reason = await self._explain_missing_model(connection)
            message = f"The Markov model needs a trained model. {reason}"
            raise NotTrained(error.errors, message) from error

    async def try_load(
        self, work: Callable[[AsyncConnection], Awaitable[T]]
    ) -> tuple[T, None] | tuple[None, Invalid | ReportRefused]:
        """Return what `work` loads, or why there is no report."""
        try:
            return await self.load(work), None
        except REFUSALS as error:
            return None, error

    async def load_notes(
        self, connection: AsyncConnection, span: DateTimeSpan, steps: Sequence[str]
    ) -> ChartNotes:
        """Return the notes of a chart whose time buckets begin on the days `steps`."""
        if not self.with_notes:
            return ChartNotes()
        return await read_chart_notes(connection, self.space.id, span.start.date(), span.end.date(), steps)

    async def _explain_missing_model(self, connection: AsyncConnection) -> str:
        if await find_current(connection, self.space.id, PURCHASE) is not None:
            return (
                "Train one for the selected conversions: only models of purchases are trained automatically."
            )
        explanation = await explain_missing_model(connection, self.space, datetime.now(UTC))
        return explanation.reason

    def render(self, template: str, bar: ReportBar, problem: Problem | None, **values: Any) -> Response:
        """Render the page, or the bar above the reason for a missing report. `errors` belong to a refused
        form.
        """
        window = window_title(self.view.attribution_window)
        form_status = 422 if values.get("errors") else 200
        return render(
            self.request,
            template,
            status=problem.status if problem else form_status,
            bar=replace(bar, may_share=self._may_share),
            problem=problem,
            view=self.view,
            views=self.views,
            base=self.base,
            figures=figures,
            space=self.space,
            currency=self.space.currency,
            shared=self.shared,
            window=window,
            window_before=describe_window(self.view.attribution_window),
            reasons=describe_no_credit(window, "order" if self.view.is_monetary else "conversion"),
            **values,
        )


async def open_page(request: Request) -> ReportPage:
    """Return the requested page, if the visitor may see it."""
    visitor = await require_visitor(request)
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor)
        views = await list_views(connection, inside)
    query = Query(request.scope["query_string"])
    return ReportPage(request, inside.space, views, query, ReportView.read(query))
