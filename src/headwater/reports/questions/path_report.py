"""A report of paths: the ways by which people came to the events of a time, how many touches they
have, how long they take, and where they begin and end. It is several reports, by groups of paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal

from psycopg import AsyncConnection

from headwater.reports.models import (
    FigureColumn,
    Filters,
    Group,
    KeyCondition,
    Measure,
    Report,
    ReportQuery,
    ReportRow,
)
from headwater.reports.path_models import BY, DAYS, TOUCHES, PathFigures, PathReport, PathsQuery, TouchPath
from headwater.reports.questions.report import query_reports
from headwater.reports.validation import MOST_ROWS, check_paths

_MEASURES = (Measure.EVENTS, Measure.REVENUE, Measure.DAYS_TO_CONVERSION)
_NOTHING = PathFigures(0, Decimal(0), None)
_NEVER = "0"
"""No range of touches."""


async def query_paths(connection: AsyncConnection, space_id: int, query: PathsQuery) -> PathReport:
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
    return PathReport(
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
    return ReportQuery(
        query.start,
        query.end,
        _MEASURES,
        groups,
        window_days=query.window_days,
        by_company=query.by_company,
        filters=_reached(query.filters),
        limit=limit,
    )


def _reached(filters: Filters) -> Filters:
    """Return the filters for events that have a touch in the window besides."""
    wanted = {each.key for each in filters.only if each.group is Group.TOUCH_RANGE}
    ranges = [name for name in TOUCHES if not wanted or name in wanted] or [_NEVER]
    others = (each for each in filters.only if each.group is not Group.TOUCH_RANGE)
    only = (*others, *(KeyCondition(Group.TOUCH_RANGE, name) for name in ranges))
    return replace(filters, only=only)


def _rows(report: Report) -> Iterable[tuple[tuple[str, ...], PathFigures]]:
    for row in report.rows:
        yield tuple(key.value or "" for key in row.keys), _figures(row)


def _path(keys: tuple[str, ...]) -> TouchPath:
    path = TouchPath.read(*keys)
    assert path is not None
    return path


def _by_range(ranges: Iterable[str], report: Report) -> Mapping[str, PathFigures]:
    """Return the figures of every range."""
    figures = {name: of_range for (name,), of_range in _rows(report)}
    return {name: figures.get(name, _NOTHING) for name in ranges}


def _figures(row: ReportRow) -> PathFigures:
    events, revenue, days = (row.figures[FigureColumn(measure)] for measure in _MEASURES)
    assert isinstance(events, int)
    assert isinstance(revenue, Decimal)
    assert days is None or isinstance(days, Decimal)
    return PathFigures(events, revenue, days)
