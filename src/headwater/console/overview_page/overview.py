"""A Space's first page: tiles, one chart, sources by name, what needs attention, the latest orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.change_pages.channel_changes import describe_changes, load_channel_changes
from headwater.console.live_pages.arrivals import count_on_site
from headwater.console.overview_page.overview_chart import draw_overview
from headwater.console.overview_page.source_table import OPEN, SourceReports, SourceTable
from headwater.console.overview_page.tiles import TILE, Tile, TileKind, TileValue, compute_tiles, list_tiles
from headwater.console.pages import redirect
from headwater.console.report_pages.bar import conversion_title, read_bar
from headwater.console.report_pages.basis import choose_basis, conversions_title, is_space_empty
from headwater.console.report_pages.charts.chart_notes import LONGEST, ChartNotes
from headwater.console.report_pages.completeness import load_note
from headwater.console.report_pages.course import CourseChart
from headwater.console.report_pages.events import EventLister, ListChoices
from headwater.console.report_pages.report_page import ReportPage, open_page
from headwater.console.report_pages.time_steps import TimeSteps, choose_step, list_chart_queries
from headwater.console.report_pages.view import ReportView
from headwater.console.tables import Table
from headwater.console.visitor import HOME
from headwater.reports.engine.report import ReportResult, query_reports
from headwater.reports.engine.time_buckets import compared_span
from headwater.reports.query import MOST_ROWS, Comparison, DateTimeSpan, Group, Measure, ReportQuery
from headwater.reports.questions.credit_rows import EventCredit
from headwater.reports.questions.spend import FILTER_GROUPS, CostReport, query_spend
from headwater.sources.titles import format_title
from headwater.spaces.models import Space

MOST_DAYS, MOST_WEEKS = 31, 26
"""The longest chart by day and by week."""
LATEST_ORDERS = 5
MOST_CHANGES = 3
STACK = "stack"


class Overview(Struct, frozen=True):
    report: ReportResult
    costs: CostReport | None
    """None with filters that spend lacks."""
    tiles: tuple[TileValue, ...]
    tile: Tile
    chart: CourseChart
    table: Table
    notes: ChartNotes
    latest: Sequence[EventCredit] | None
    """None on a shared page: orders belong to people."""
    changes: tuple[str, ...]
    """What changed, in sentences; empty without a comparison."""
    on_site: int | None
    """Visitors on the site now; None on a shared page and without page views."""


class OverviewQueries:
    """The reports of the first page's tiles and sources."""

    def __init__(self, space: Space, view: ReportView, current_time: datetime) -> None:
        self._space, self._view, self._current_time = space, view, current_time
        self.basis = choose_basis(view)
        self.has_costs = {text.partition(":")[0] for text in view.only} <= {*FILTER_GROUPS}
        self._has_visits = Measure.VISITS in self.basis.columns
        self.tiles = list_tiles(view, has_costs=self.has_costs, has_visits=self._has_visits)

    def by_source(self) -> ReportQuery:
        """Raise Invalid for bad input."""
        conversion_measures = (Measure.CREDITED_CONVERSIONS, Measure.CONVERSIONS)
        tile_measures = [
            tile.measure for tile in self.tiles if tile.kind in (TileKind.EVENTS, TileKind.VISITS)
        ]
        if self._has_visits:
            tile_measures.append(Measure.CONVERSION_RATE)
        measures = tuple(
            dict.fromkeys((self.basis.credited, self.basis.whole, *conversion_measures, *tile_measures))
        )
        query = self._view.report(self._space, self._current_time, measures, (Group.PLATFORM, Group.SOURCE))
        return replace(query, limit=MOST_ROWS)

    def source_queries(self) -> dict[str, ReportQuery]:
        """Return the queries of the table of sources, by member of `SourceReports`. Raise Invalid."""
        queries = {"current": self.by_source()}
        if queries["current"].compare is not Comparison.NONE:
            queries["before"] = _query_before(queries["current"], self.basis.credited)
        if self._has_visits:
            measures, groups = (Measure.CONVERSION_RATE,), (Group.PLATFORM,)
            queries["rates"] = self._view.report(self._space, self._current_time, measures, groups)
        return queries

    def csv(self) -> ReportQuery:
        """Raise Invalid for bad input."""
        columns, limit = self.basis.columns, str(MOST_ROWS)
        return self._view.report(self._space, self._current_time, columns, (Group.SOURCE,), limit=limit)

    async def fetch_costs(
        self, connection: AsyncConnection, group: Group = Group.PLATFORM
    ) -> CostReport | None:
        """Return None with filters that spend lacks. Raise Invalid and ReportRefused."""
        if not self.has_costs:
            return None
        query = self._view.spend(self._space, self._current_time, group, MOST_ROWS)
        query = replace(query, by_company=self._view.by_company)  # like revenue, unlike Ads
        return await query_spend(connection, self._space.id, query)


def _query_before(query: ReportQuery, measure: Measure) -> ReportQuery:
    """Return the query of one measure in the compared period."""
    span = compared_span(query)
    return replace(query, start=span.start, end=span.end, compare=Comparison.NONE, measures=(measure,))


class OverviewLoader:
    def __init__(self, page: ReportPage) -> None:
        self._page, self._view = page, page.view
        self._queries = OverviewQueries(page.space, page.view, datetime.now(UTC))
        self.basis, self.tiles = self._queries.basis, self._queries.tiles
        tile_name = str(page.query.single(TILE) or "")
        self.tile = next((tile for tile in self.tiles if tile.name == tile_name), self.tiles[0])
        self.opened = [*dict.fromkeys(page.query.several(OPEN))]
        self.stacks = page.query.single(STACK) == Group.CHANNEL

    @property
    def pairs(self) -> dict[str, str | Sequence[str]]:
        """Return the page's own choices."""
        pairs: dict[str, str | Sequence[str]] = {}
        if self.tile is not self.tiles[0]:
            pairs[TILE] = self.tile.name
        if self.stacks:
            pairs[STACK] = Group.CHANNEL
        if self.opened:
            pairs[OPEN] = self.opened
        return pairs

    def link(self, **changes: str | Sequence[str]) -> str:
        """Return the page with other choices of its own."""
        pairs = {name: value for name, value in {**self.pairs, **changes}.items() if value}
        return self._view.link(self._page.path, **pairs)

    async def load(self, connection: AsyncConnection) -> Overview:
        """Raise Invalid and ReportRefused."""
        page, space_id = self._page, self._page.space.id
        source_queries = self._queries.source_queries()
        steps = self._make_steps(source_queries["current"])
        chart_queries = self._chart_queries(source_queries["current"], steps)
        reports = await query_reports(connection, space_id, [*chart_queries, *source_queries.values()])
        source_reports = dict(zip(source_queries, reports[len(chart_queries) :], strict=True))
        report = source_reports["current"]
        costs, costs_by_step = await self._queries.fetch_costs(connection), None
        if self.tile.kind is TileKind.SPEND:
            costs_by_step = await self._queries.fetch_costs(connection, steps.group)
        chart = draw_overview(
            self._view, self.tile, steps, reports[: len(chart_queries)], costs_by_step, stacks=self.stacks
        )
        conversions = conversions_title(page.space, self._view.conversion)
        table = SourceTable(
            self._view, page.base, self.basis, conversions, SourceReports(**source_reports, costs=costs)
        ).make(self.opened, self.link)
        changes: list[str] = []
        if report.is_comparable:
            channel_changes = await load_channel_changes(connection, page)
            changes = describe_changes(channel_changes, conversions, has_money=self._view.is_monetary)
        return Overview(
            report,
            costs,
            tuple(compute_tiles(self.tiles, report, costs)),
            self.tile,
            chart,
            table,
            await page.load_notes(connection, report.span, steps.keys),
            await self._list_latest(connection),
            tuple(changes[:MOST_CHANGES]),
            await self._count_on_site(connection),
        )

    async def _count_on_site(self, connection: AsyncConnection) -> int | None:
        if self._page.shared is not None:
            return None
        return await count_on_site(connection, self._page.space.id)

    async def _list_latest(self, connection: AsyncConnection) -> Sequence[EventCredit] | None:
        if self._page.shared is not None:
            return None
        lister = EventLister(self._page, ListChoices(), per_page=str(LATEST_ORDERS))
        return await lister.read_latest(connection)

    def _make_steps(self, query: ReportQuery) -> TimeSteps:
        span = DateTimeSpan(query.start, query.end)
        step = choose_step(span, MOST_DAYS, MOST_WEEKS)
        if step is Group.HOUR and self.tile.kind is TileKind.SPEND:
            step = Group.DAY  # spend has no time of day
        return TimeSteps(span, step, self._page.space, query.compare)

    def _chart_queries(self, by_source: ReportQuery, steps: TimeSteps) -> list[ReportQuery]:
        """Return the tile's measure by step, its credit by step and channel, and the previous period."""
        if self.tile.kind is TileKind.SPEND:
            return []
        credited = Measure.CREDITED_CONVERSIONS
        if self.tile.measure is self.basis.whole:
            credited = self.basis.credited
        if self.tile.kind is TileKind.VISITS:
            credited = Measure.VISITS
        measures = tuple(dict.fromkeys((self.tile.measure, credited)))
        return list_chart_queries(by_source, steps.group, measures, credited, measures)


async def show_overview(request: Request) -> Response:
    return await render_overview(await open_page(request))


async def render_overview(page: ReportPage) -> Response:
    loader = OverviewLoader(page)
    content, problem = await page.try_load(loader.load)
    chooses = page.shared is not None or bool(page.request.url.query)
    if content is not None and is_space_empty(content.report) and not chooses:
        return redirect(page.request, f"{page.base}/setup")
    note = None if problem else await load_note(page)
    return page.render(
        "overview.html",
        read_bar(page.space, page.view, page.path, page_choices=_drop_opened(loader.pairs)),
        problem,
        page=content,
        loader=loader,
        measure=Measure,
        completeness=note,
        incomplete_from=content.chart.time.find_position(note.first_day) if content and note else None,
        source_title=format_title,
        event_title=partial(conversion_title, page.space),
        longest_note=LONGEST,
        csv=page.view.csv_link(
            f"{page.base}/report.csv", loader.basis.columns, (Group.SOURCE,), limit=MOST_ROWS
        ),
    )


def _drop_opened(pairs: Mapping[str, str | Sequence[str]]) -> dict[str, str | Sequence[str]]:
    """Return the choices that links of the filters keep: not the opened rows."""
    return {name: value for name, value in pairs.items() if name != OPEN}


ROUTES = [Route(f"{HOME}/spaces/{{space_id}}", show_overview, methods=["GET"])]
