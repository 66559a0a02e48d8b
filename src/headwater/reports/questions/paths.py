"""`GET /reports/paths`: the ways by which people came to events, how many touches they have, how long they
take, and where they begin and end. It is several reports, by groups of paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from msgspec import UNSET, Struct
from psycopg import AsyncConnection

from headwater.events.parameters import AMOUNT_MAX, AMOUNT_MIN, EVENT_NAMES_PARAMETER, QUERY_MODE
from headwater.http.inputs.fields import one_of, whole_number
from headwater.http.inputs.parameters import Input, Parameter
from headwater.reports.engine.conversion import LeftOutMoney
from headwater.reports.engine.path_dimensions import DAYS, STEP_SEPARATOR, TOUCHES, TouchPath
from headwater.reports.engine.report import ReportResult, ReportRow, query_reports
from headwater.reports.hints import Hints
from headwater.reports.query import (
    MOST_ROWS,
    DateTimeSpan,
    FigureColumn,
    Filters,
    Group,
    KeyCondition,
    Measure,
    ReportQuery,
    common_rules,
    refuse_broken_rules,
)
from headwater.reports.questions.shared import (
    ONLY_EVENTS,
    PERIOD,
    TIME,
    WINDOW,
    ReportDates,
    UncountedMoney,
    left_out_answer,
    number,
    read_event_filters,
    read_keys,
    read_span,
    write_csv,
    written_moment,
    written_span,
)
from headwater.spaces.models import Space

BY = {Group.SOURCE: Group.PATH, Group.CHANNEL: Group.CHANNEL_PATH}
"""The groups that a step may be, each with that of the paths of such steps."""


@dataclass(frozen=True)
class PathsQuery:
    """One report of paths. `query_paths` refuses what does not fit together."""

    start: datetime
    """First second of the range, on the clock of the Space's zone, without a zone of its own."""
    end: datetime
    """Last second of the range, included."""
    group: Group = Group.SOURCE
    """What a step is: of BY."""
    window_days: int = 30
    """One of attribution's WINDOWS."""
    by_company: bool = False
    """True when an event's path is that of its whole company, if it has one."""
    filters: Filters = field(default_factory=Filters)
    """Only conditions on events."""
    limit: int = 50
    """The most paths to list, from 1 to MOST_ROWS."""

    @property
    def report(self) -> ReportQuery:
        """The report of all its events in one row."""
        return ReportQuery(
            self.start,
            self.end,
            _MEASURES,
            window_days=self.window_days,
            by_company=self.by_company,
            filters=self.filters,
            limit=self.limit,
        )


@dataclass(frozen=True)
class PathFigures:
    """Figures of some events with a touch in the window."""

    events: int
    conversions: int
    revenue: Decimal
    days_to_conversion: Decimal | None
    """The average from the first touch in the window to the conversion, to four decimals; None
    without conversions.
    """


@dataclass(frozen=True)
class PathResult:
    """The result of a query: events that have a touch in the window, by their paths."""

    paths: tuple[tuple[TouchPath, PathFigures], ...]
    """Those of most events first; of equals, by their steps."""
    left_out: int
    """Paths beyond the limit."""
    touches: Mapping[str, PathFigures]
    """By the ranges TOUCHES, all of them."""
    days: Mapping[str, PathFigures]
    """By the ranges DAYS, all of them."""
    first_and_last: Mapping[tuple[str, str], PathFigures]
    """By the sources of the first and the last touch, those of most events first; the first
    MOST_ROWS.
    """
    total: PathFigures
    event_counts: Mapping[str, int]
    """The names of the events, and how many there are of each."""
    first_event: datetime | None
    last_event: datetime | None
    """The times of the Space's first and last event where the range reaches past them, on its
    clock.
    """
    span: DateTimeSpan
    timezone: str
    currency: str
    """Of all amounts."""
    left_out_money: tuple[LeftOutMoney, ...] = ()


def check_paths(query: PathsQuery) -> None:
    """The same for a query of paths."""
    refuse_broken_rules(
        [
            *common_rules(query.report),
            ("group_by", query.group in BY, f"must be one of {', '.join(BY)}."),
            ("filters", not query.filters.of_touches, "must be conditions on events only."),
        ]
    )


GROUP = Parameter(
    name="group_by",
    kind=one_of([str(group) for group in BY]),
    default="source",
    description="What the steps of a path are.",
)
LIMIT = Parameter(
    name="limit", kind=whole_number(1, MOST_ROWS), default=20, description="The most paths to list."
)
OF_REPORTS = (
    PERIOD,
    *TIME.parameters,
    WINDOW,
    QUERY_MODE,
    EVENT_NAMES_PARAMETER,
    ONLY_EVENTS,
    AMOUNT_MIN,
    AMOUNT_MAX,
)
"""The parameters that are those of any report."""
PARAMETERS = (GROUP, *OF_REPORTS, LIMIT)


def read_paths_query(query: Input, space: Space, now: datetime) -> PathsQuery:
    """Read the report of paths that parameters describe. Raises Invalid with every rule they
    break.
    """
    span = read_span(query, space, now)
    only = read_keys(query, ONLY_EVENTS, space.sources)
    filters = replace(read_event_filters(query, space, now), only=only)
    paths_query = PathsQuery(
        start=span.start,
        end=span.end,
        group=Group(GROUP.read(query) or Group.SOURCE),
        window_days=WINDOW.read(query) or 0,
        by_company=QUERY_MODE.read(query) == "company",
        filters=filters,
        limit=LIMIT.read(query) or 0,
    )
    query.finish()
    return paths_query


_FIGURES = ("events", "conversions", "revenue", "days_to_conversion")
_COLUMNS = ["path", "more", *_FIGURES]


class PathTotals(Struct, frozen=True):
    """Figures of some events with a touchpoint in the window."""

    events: int
    conversions: int
    revenue: float
    days_to_conversion: float | None


class FigureTable(Struct, frozen=True):
    """Columns and rows."""

    columns: list[str]
    rows: list[list[str | float | None]]


class PathReport(Struct, frozen=True):
    """The report of paths."""

    columns: list[str]
    rows: list[list[list[str] | float | None]]
    left_out: int
    totals: PathTotals
    touches: FigureTable
    days: FigureTable
    first_and_last: FigureTable
    event_names: dict[str, int]
    period: ReportDates
    first_event: str | None
    last_event: str | None
    timezone: str
    currency: str
    left_out_money: list[UncountedMoney]
    group_by: str
    attribution_window: int
    query_mode: str
    hints: Hints = UNSET


async def load_paths(connection: AsyncConnection, space_id: int, query: PathsQuery) -> PathReport:
    """Load the answer of a query. Needs and raises the same as `query_paths`."""
    report = await query_paths(connection, space_id, query)
    return PathReport(
        columns=_COLUMNS,
        rows=[[list(path.steps), path.more, *_numbers(figures)] for path, figures in report.paths],
        left_out=report.left_out,
        totals=PathTotals(*_numbers(report.total)),
        touches=_table(["touches"], (([name], of) for name, of in report.touches.items())),
        days=_table(["days"], (([name], of) for name, of in report.days.items())),
        first_and_last=_table(["first", "last"], report.first_and_last.items()),
        event_names=dict(report.event_counts),
        period=written_span(report.span),
        first_event=written_moment(report.first_event),
        last_event=written_moment(report.last_event),
        timezone=report.timezone,
        currency=report.currency,
        left_out_money=left_out_answer(report.left_out_money),
        group_by=str(query.group),
        attribution_window=query.window_days,
        query_mode="company" if query.by_company else "profile",
    )


def paths_csv(report: PathReport) -> bytes:
    """Return the listed paths as CSV."""
    return write_csv(
        report.columns,
        (
            [STEP_SEPARATOR.join(cell) if isinstance(cell, list) else cell for cell in row]
            for row in report.rows
        ),
    )


def _table(names: list[str], rows: Iterable[tuple[Sequence[str], PathFigures]]) -> FigureTable:
    return FigureTable([*names, *_FIGURES], [[*keys, *_numbers(figures)] for keys, figures in rows])


def _numbers(figures: PathFigures) -> tuple[int, int, float, float | None]:
    revenue, days = round(float(figures.revenue), 4), number(figures.days_to_conversion)
    return figures.events, figures.conversions, revenue, days


_MEASURES = (Measure.EVENTS, Measure.CONVERSIONS, Measure.REVENUE, Measure.DAYS_TO_CONVERSION)
_NOTHING = PathFigures(0, 0, Decimal(0), None)
_NEVER = "0"
"""No range of touches."""


async def query_paths(connection: AsyncConnection, space_id: int, query: PathsQuery) -> PathResult:
    """Return the report of a query. Needs a transaction in which nothing has been read yet, on a
    connection that it may have for CONNECTION_SECONDS.

    Raises Invalid when the query breaks a rule, NotFound without such a Space, and ReportTooLarge
    when it takes longer than SECONDS.
    """
    check_paths(query)
    by_path, touches, days, ends = await query_reports(
        connection,
        space_id,
        [
            _report(query, (BY[query.group],), query.limit),
            _report(query, (Group.TOUCH_RANGE,)),
            _report(query, (Group.DAYS_RANGE,)),
            _report(query, (Group.FIRST_SOURCE, Group.LAST_SOURCE)),
        ],
    )
    return PathResult(
        paths=tuple((_path(keys), figures) for keys, figures in _rows(by_path)),
        left_out=by_path.left_out,
        touches=_by_range(TOUCHES, touches),
        days=_by_range(DAYS, days),
        first_and_last={(first, last): figures for (first, last), figures in _rows(ends)},
        total=_figures(by_path.total),
        event_counts=by_path.event_counts,
        first_event=by_path.first_event,
        last_event=by_path.last_event,
        span=by_path.span,
        timezone=by_path.timezone,
        currency=by_path.currency,
        left_out_money=by_path.left_out_money,
    )


def _report(query: PathsQuery, groups: tuple[Group, ...], limit: int = MOST_ROWS) -> ReportQuery:
    return replace(query.report, group_by=groups, filters=_reached(query.filters), limit=limit)


def _reached(filters: Filters) -> Filters:
    """Return the filters for events that have a touch in the window besides."""
    wanted = {each.key for each in filters.only if each.group is Group.TOUCH_RANGE}
    ranges = [name for name in TOUCHES if not wanted or name in wanted] or [_NEVER]
    others = (each for each in filters.only if each.group is not Group.TOUCH_RANGE)
    only = (*others, *(KeyCondition(Group.TOUCH_RANGE, name) for name in ranges))
    return replace(filters, only=only)


def _rows(report: ReportResult) -> Iterable[tuple[tuple[str, ...], PathFigures]]:
    for row in report.rows:
        yield tuple(key.value or "" for key in row.keys), _figures(row)


def _path(keys: tuple[str, ...]) -> TouchPath:
    path = TouchPath.read(*keys)
    assert path is not None
    return path


def _by_range(ranges: Iterable[str], report: ReportResult) -> Mapping[str, PathFigures]:
    """Return the figures of every range."""
    figures = {name: of_range for (name,), of_range in _rows(report)}
    return {name: figures.get(name, _NOTHING) for name in ranges}


def _figures(row: ReportRow) -> PathFigures:
    events, conversions, revenue, days = (row.figures[FigureColumn(measure)] for measure in _MEASURES)
    assert isinstance(events, int)
    assert isinstance(conversions, int)
    assert isinstance(revenue, Decimal)
    assert days is None or isinstance(days, Decimal)
    return PathFigures(events, conversions, revenue, days)
