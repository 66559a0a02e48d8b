"""`GET /reports/paths`: paths to events, with lengths, durations, first and last sources, from several
reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from msgspec import UNSET, Struct
from psycopg import AsyncConnection

from headwater.events.filters import AMOUNT_MAX, AMOUNT_MIN, EVENT_NAMES_PARAMETER, QUERY_MODE
from headwater.http.inputs.fields import one_of, whole_number
from headwater.http.inputs.parameters import Input, Parameter
from headwater.reports.engine.path_dimensions import DAYS, STEP_SEPARATOR, TOUCHES, TouchPath
from headwater.reports.engine.report import ReportResult, ReportRow, query_reports
from headwater.reports.hints import Hints
from headwater.reports.query import (
    MOST_ROWS,
    FigureColumn,
    Filters,
    Group,
    KeyCondition,
    Measure,
    ReportQuery,
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
"""The group of a path by the group of its steps."""
_MEASURES = (Measure.EVENTS, Measure.CONVERSIONS, Measure.REVENUE, Measure.DAYS_TO_CONVERSION)


class PathFigures(Struct, frozen=True):
    events: int
    conversions: int
    revenue: Decimal
    days_to_conversion: Decimal | None
    """From the first touch in the window, to four decimals; None without conversions."""


class PathResult(Struct, frozen=True):
    report: ReportResult
    """By path."""
    paths: tuple[tuple[TouchPath, PathFigures], ...]
    """Most conversions first, then by steps."""
    touches: Mapping[str, PathFigures]
    """By range in TOUCHES."""
    days: Mapping[str, PathFigures]
    """By range in DAYS."""
    first_and_last: Mapping[tuple[str, str], PathFigures]
    """By first and last source, most conversions first; at most MOST_ROWS."""
    total: PathFigures


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


def read_paths_query(query: Input, space: Space, current_time: datetime) -> ReportQuery:
    """Return a query grouped by the steps of a path. Raise Invalid with every broken rule."""
    span = read_span(query, space, current_time)
    conditions = read_keys(query, ONLY_EVENTS, space.sources)
    filters = replace(read_event_filters(query, space, current_time), only=conditions)
    paths_query = ReportQuery(
        start=span.start,
        end=span.end,
        measures=_MEASURES,
        group_by=(Group(GROUP.read(query) or Group.SOURCE),),
        window_days=WINDOW.read(query) or 0,
        by_company=QUERY_MODE.read(query) == "company",
        filters=filters,
        order_by=Measure.CONVERSIONS,
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


async def load_paths(connection: AsyncConnection, space_id: int, query: ReportQuery) -> PathReport:
    """See `query_paths` for conditions and errors."""
    result = await query_paths(connection, space_id, query)
    report, (group,) = result.report, query.group_by
    return PathReport(
        columns=_COLUMNS,
        rows=[[list(path.steps), path.further_steps, *_numbers(figures)] for path, figures in result.paths],
        left_out=report.left_out,
        totals=PathTotals(*_numbers(result.total)),
        touches=_table(["touches"], (([name], figures) for name, figures in result.touches.items())),
        days=_table(["days"], (([name], figures) for name, figures in result.days.items())),
        first_and_last=_table(["first", "last"], result.first_and_last.items()),
        event_names=dict(report.event_counts),
        period=format_span(report.span),
        first_event=format_moment(report.first_event),
        last_event=format_moment(report.last_event),
        timezone=report.timezone,
        currency=report.currency,
        left_out_money=describe_left_out(report.left_out_money),
        group_by=str(group),
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


_NOTHING = PathFigures(0, 0, Decimal(0), None)
_NEVER = "0"
"""Not a range of touches."""


async def query_paths(connection: AsyncConnection, space_id: int, query: ReportQuery) -> PathResult:
    """Return the paths of a query of `read_paths_query`. See `query_report` for conditions and errors."""
    (group,) = query.group_by
    by_path, touches, days, ends = await query_reports(
        connection,
        space_id,
        [
            _report(query, (BY[group],), query.limit),
            _report(query, (Group.TOUCH_RANGE,)),
            _report(query, (Group.DAYS_RANGE,)),
            _report(query, (Group.FIRST_SOURCE, Group.LAST_SOURCE)),
        ],
    )
    return PathResult(
        by_path,
        paths=tuple((_path(keys), figures) for keys, figures in _rows(by_path)),
        touches=_by_range(TOUCHES, touches),
        days=_by_range(DAYS, days),
        first_and_last={(first, last): figures for (first, last), figures in _rows(ends)},
        total=_figures(by_path.total),
    )


def _report(query: ReportQuery, groups: tuple[Group, ...], limit: int = MOST_ROWS) -> ReportQuery:
    return replace(query, group_by=groups, filters=_reached(query.filters), limit=limit)


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
