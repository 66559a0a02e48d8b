"""`GET /reports/paths`: paths to events, with lengths, durations, first and last sources, from several
reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from msgspec import UNSET, Struct, field
from psycopg import AsyncConnection

from headwater.events.filters import AMOUNT_MAX, AMOUNT_MIN, EVENT_NAMES_PARAMETER, QUERY_MODE
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
    describe_left_out,
    format_moment,
    format_span,
    number,
    read_event_filters,
    read_keys,
    read_span,
    rounded_number,
    write_csv,
)
from headwater.spaces.models import Space

BY = {Group.SOURCE: Group.PATH, Group.CHANNEL: Group.CHANNEL_PATH}


class PathsQuery(Struct, frozen=True):
    """A report of paths. `query_paths` checks the rules."""

    start: datetime
    end: datetime
    """The last local second, included."""
    group: Group = Group.SOURCE
    """The group of a step, from BY."""
    window_days: int = 30
    """One of WINDOWS."""
    by_company: bool = False
    """True if paths are the companies'."""
    filters: Filters = field(default_factory=Filters)
    """Only conditions on events."""
    limit: int = 50
    """The most paths to list, from 1 to MOST_ROWS."""

    @property
    def report(self) -> ReportQuery:
        return ReportQuery(
            self.start,
            self.end,
            _MEASURES,
            window_days=self.window_days,
            by_company=self.by_company,
            filters=self.filters,
            order_by=Measure.CONVERSIONS,
            limit=self.limit,
        )


class PathFigures(Struct, frozen=True):
    events: int
    conversions: int
    revenue: Decimal
    days_to_conversion: Decimal | None
    """From the first touch in the window, to four decimals; None without conversions."""


class PathResult(Struct, frozen=True):
    paths: tuple[tuple[TouchPath, PathFigures], ...]
    """Most conversions first, then by steps."""
    left_out: int
    """Paths beyond the limit."""
    touches: Mapping[str, PathFigures]
    """By range in TOUCHES."""
    days: Mapping[str, PathFigures]
    """By range in DAYS."""
    first_and_last: Mapping[tuple[str, str], PathFigures]
    """By first and last source, most conversions first; at most MOST_ROWS."""
    total: PathFigures
    event_counts: Mapping[str, int]
    """By event name."""
    first_event: datetime | None
    last_event: datetime | None
    """Local; only if the range reaches past them."""
    span: DateTimeSpan
    timezone: str
    currency: str
    left_out_money: tuple[LeftOutMoney, ...] = ()


def check_paths(query: PathsQuery) -> None:
    """Raise Invalid with every broken rule."""
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
    description="The steps of a path.",
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
"""Parameters of every report."""
PARAMETERS = (GROUP, *OF_REPORTS, LIMIT)


def read_paths_query(query: Input, space: Space, current_time: datetime) -> PathsQuery:
    """Raise Invalid with every broken rule."""
    span = read_span(query, space, current_time)
    conditions = read_keys(query, ONLY_EVENTS, space.sources)
    filters = replace(read_event_filters(query, space, current_time), only=conditions)
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
    """Figures of events with a touchpoint in the window."""

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
    """See `query_paths` for conditions and errors."""
    report = await query_paths(connection, space_id, query)
    return PathReport(
        columns=_COLUMNS,
        rows=[[list(path.steps), path.further_steps, *_numbers(figures)] for path, figures in report.paths],
        left_out=report.left_out,
        totals=PathTotals(*_numbers(report.total)),
        touches=_table(["touches"], (([name], figures) for name, figures in report.touches.items())),
        days=_table(["days"], (([name], figures) for name, figures in report.days.items())),
        first_and_last=_table(["first", "last"], report.first_and_last.items()),
        event_names=dict(report.event_counts),
        period=format_span(report.span),
        first_event=format_moment(report.first_event),
        last_event=format_moment(report.last_event),
        timezone=report.timezone,
        currency=report.currency,
        left_out_money=describe_left_out(report.left_out_money),
        group_by=str(query.group),
        attribution_window=query.window_days,
        query_mode="company" if query.by_company else "profile",
    )


def paths_csv(report: PathReport) -> bytes:
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
    revenue, days = rounded_number(figures.revenue), number(figures.days_to_conversion)
    return figures.events, figures.conversions, revenue, days


_MEASURES = (Measure.EVENTS, Measure.CONVERSIONS, Measure.REVENUE, Measure.DAYS_TO_CONVERSION)
_NOTHING = PathFigures(0, 0, Decimal(0), None)
_NEVER = "0"
"""Not a range of touches."""


async def query_paths(connection: AsyncConnection, space_id: int, query: PathsQuery) -> PathResult:
    """Return the paths of a query. Needs a fresh transaction available for CONNECTION_SECONDS.

    Raises Invalid for a broken rule, NotFound for an unknown Space, and ReportTooLarge after SECONDS.
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
    keys = {condition.key for condition in filters.only if condition.group is Group.TOUCH_RANGE}
    ranges = [name for name in TOUCHES if not keys or name in keys] or [_NEVER]
    other_conditions = (condition for condition in filters.only if condition.group is not Group.TOUCH_RANGE)
    conditions = (*other_conditions, *(KeyCondition(Group.TOUCH_RANGE, name) for name in ranges))
    return replace(filters, only=conditions)


def _rows(report: ReportResult) -> Iterable[tuple[tuple[str, ...], PathFigures]]:
    for row in report.rows:
        yield tuple(key.value or "" for key in row.keys), _figures(row)


def _path(keys: tuple[str, ...]) -> TouchPath:
    path = TouchPath.read(*keys)
    assert path is not None
    return path


def _by_range(ranges: Iterable[str], report: ReportResult) -> Mapping[str, PathFigures]:
    figures = {name: range_figures for (name,), range_figures in _rows(report)}
    return {name: figures.get(name, _NOTHING) for name in ranges}


def _figures(row: ReportRow) -> PathFigures:
    events, conversions, revenue, days = (row.figures[FigureColumn(measure)] for measure in _MEASURES)
    assert isinstance(events, int)
    assert isinstance(conversions, int)
    assert isinstance(revenue, Decimal)
    assert days is None or isinstance(days, Decimal)
    return PathFigures(events, conversions, revenue, days)
