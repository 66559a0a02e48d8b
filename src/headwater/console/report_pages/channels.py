"""Results by source, a Space's first page. All figures share one moment and equal the API's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.pages import redirect
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import model_title, read_bar
from headwater.console.report_pages.basis import (
    MADE_OF,
    Basis,
    HeadlineMeasure,
    choose_basis,
    get_total_row,
    is_space_empty,
    title_columns,
)
from headwater.console.report_pages.breakdown import LEVELS, OPEN, Breakdown, BreakdownRow
from headwater.console.report_pages.charts.chart_notes import LONGEST, ChartNotes
from headwater.console.report_pages.completeness import load_note
from headwater.console.report_pages.course import Course, CourseChart
from headwater.console.report_pages.figures import Change
from headwater.console.report_pages.report_page import ReportPage, open_page
from headwater.console.visitor import HOME
from headwater.reports.engine.measures import Figure
from headwater.reports.engine.report import ReportResult, query_reports
from headwater.reports.query import CREDITED, OF_VISITS, FigureColumn, Group, Measure, ReportQuery

UNATTRIBUTED = HeadlineMeasure(Measure.SHARE, "Unattributed", {})
CUSTOMER_COLUMNS = {
    Measure.REVENUE: "Revenue",
    Measure.ORDERS: "Orders",
    Measure.AVERAGE_ORDER_VALUE: "Average order",
}
"""Titles by measure."""


class Headline(Struct, frozen=True):
    about: HeadlineMeasure
    value: Figure
    change: Change | None
    points: str


class ChannelContent(Struct, frozen=True):
    basis: Basis
    report: ReportResult
    headlines: tuple[Headline, ...]
    unattributed: Headline | None
    """The unattributed share; None if only some touchpoints count."""
    course: CourseChart
    rows: list[BreakdownRow]
    customers: ReportResult | None
    """Orders of new and of returning customers; None in reports that are not about money."""
    notes: ChartNotes

    @property
    def of_some_touches(self) -> bool:
        return self.report.unattributed is None

    @property
    def whole_credit(self) -> str:
        """The kind of event list behind the headlines."""
        return "credited" if self.of_some_touches else "all"

    @property
    def other_days(self) -> tuple[date, date] | None:
        """Return the nearest 30 days with events, if the period is before or after all of them."""
        report = self.report
        if report.last_event is not None and report.last_event < report.span.start:
            last = report.last_event.date()
            return last - timedelta(days=29), last
        if report.first_event is not None and report.first_event > report.span.end:
            first = report.first_event.date()
            return first, first + timedelta(days=29)
        return None

    @property
    def compares(self) -> bool:
        """Return whether events precede the comparison period's end."""
        return self.report.is_comparable

    @property
    def columns(self) -> tuple[Measure, ...]:
        return select_columns(self.basis.columns, self.report)

    def credited(self, measure: Measure) -> Figure:
        """Return complete events minus unattributed ones. None for contacts, which can't be subtracted."""
        row, unattributed = self.report.total, self.report.unattributed
        column = FigureColumn(measure)
        if unattributed is None or measure in CREDITED | OF_VISITS or measure is Measure.SHARE:
            return row.figures[column]
        if measure is Measure.CONTACTS:
            return None
        return figures.difference(row.figures[column], [unattributed.row.figures[column]])

    @property
    def sentence(self) -> str:
        totals = get_total_row(self.report)
        value = figures.written(
            self.basis.whole, totals.figures[self.basis.whole_column], self.report.currency
        )
        unit = f" {self.report.currency}" if self.basis.credited in figures.MONEY else ""
        first = f"{self.headlines[0].about.title} {value}{unit}"
        if not self.rows:
            return first
        top = self.rows[0]
        share = figures.percent(top.row.figures[FigureColumn(Measure.SHARE)] or 0)
        return f"{first}, {top.title} leads with {share}"


def select_columns(measures: Sequence[Measure], report: ReportResult) -> tuple[Measure, ...]:
    """Leave visits out of a report without visits."""
    has_visits = get_total_row(report).figures.get(FigureColumn(Measure.VISITS))
    return tuple(measure for measure in measures if has_visits or measure not in OF_VISITS)


class ChannelReports:
    def __init__(self, page: ReportPage) -> None:
        self._page, self._space, self._view = page, page.space, page.view
        self._breakdown = Breakdown(page.view, page.query.several(OPEN))
        self.basis = choose_basis(page.view)
        self._current_time = datetime.now(UTC)

    async def load(self, connection: AsyncConnection) -> ChannelContent:
        """Load one snapshot. Raise Invalid and ReportTooLarge."""
        by_channel = self._query(LEVELS[0])
        course = Course(self.basis, by_channel, self._space)
        places = self._breakdown.list_open_places()
        queries = [by_channel, *course.queries]
        queries += [
            self._query(LEVELS[len(index)], only=[*self._breakdown.filters(index)]) for index in places
        ]
        if self._view.is_monetary:
            by_customer = self._view.report(
                self._space, self._current_time, tuple(CUSTOMER_COLUMNS), (Group.CUSTOMER,)
            )
            queries.append(by_customer)
        first, *other_reports = await query_reports(connection, self._space.id, queries)
        customers = other_reports.pop() if self._view.is_monetary else None
        course_reports = other_reports[: len(course.queries)]
        reports_by_place = dict(zip(places, other_reports[len(course_reports) :], strict=True))
        return ChannelContent(
            self.basis,
            first,
            self._headlines(first, course, course_reports[0]),
            self._unattributed(first, course, course_reports[0]),
            course.chart(self._view, course_reports),
            self._breakdown.rows(first, reports_by_place),
            customers,
            await self._page.load_notes(connection, first.span, course.keys),
        )

    def _query(self, group: Group, **changes: list[str]) -> ReportQuery:
        measures = self.basis.measures
        return self._view.report(self._space, self._current_time, measures, (group,), **changes)

    def _headlines(self, first: ReportResult, course: Course, by_step: ReportResult) -> tuple[Headline, ...]:
        row = get_total_row(first)
        titles = title_columns(self._space, self._view)
        return tuple(
            Headline(
                replace(headline, title=titles.get(headline.measure, headline.title)),
                row.figures[FigureColumn(headline.measure)],
                figures.change(row, FigureColumn(headline.measure)),
                course.sparkline(headline.measure, by_step),
            )
            for headline in self.basis.headlines
        )

    def _unattributed(self, report: ReportResult, course: Course, by_step: ReportResult) -> Headline | None:
        if report.unattributed is None or report.overall is None:
            return None
        column, unattributed_row, totals = self.basis.whole_column, report.unattributed.row, report.overall
        current = figures.share(unattributed_row.figures[column], totals.figures[column])
        change = None
        if unattributed_row.compared is not None and totals.compared is not None:
            previous = figures.share(unattributed_row.compared[column], totals.compared[column])
            change = figures.change_between(current, previous)
        return Headline(UNATTRIBUTED, current, change, course.unattributed_line(by_step))


async def show_channels(request: Request) -> Response:
    return await render_channels(await open_page(request))


async def render_channels(page: ReportPage) -> Response:
    view, reports = page.view, ChannelReports(page)
    content, problem = await page.try_load(reports.load)
    chooses = page.shared is not None or bool(page.request.url.query)
    if content is not None and is_space_empty(content.report) and not chooses:
        return redirect(page.request, f"{page.base}/setup")
    note = None if problem else await load_note(page)
    return page.render(
        "channels.html",
        read_bar(page.space, view, page.path),
        problem,
        page=content,
        titles=title_columns(page.space, view),
        column=FigureColumn,
        customer_columns=CUSTOMER_COLUMNS,
        made_of=MADE_OF,
        csv=view.csv_link(
            f"{page.base}/report.csv", content.columns if content else reports.basis.columns, LEVELS[:1]
        ),
        model=model_title(view.attribution_model).lower(),
        longest_note=LONGEST,
        completeness=note,
        incomplete_from=content.course.time.find_position(note.first_day) if content and note else None,
    )


ROUTES = [Route(f"{HOME}/spaces/{{space_id}}/channels", show_channels, methods=["GET"])]
