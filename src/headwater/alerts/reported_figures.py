"""Hourly and daily figures from the report engine."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from psycopg import AsyncConnection

from headwater.events.accepted import SALES_EVENTS
from headwater.reports.engine.dimensions import Kind
from headwater.reports.engine.measures import Figure
from headwater.reports.engine.report import ReportResult, query_reports
from headwater.reports.query import ALL_ROWS, FigureColumn, Filters, Group, KeyCondition, Measure, ReportQuery

MOST_DAYS = 30
ORDERS = (Kind.ORDER,)
SALES = (Kind.ORDER, Kind.UPSELL)
"""Revenue events, before refunds."""
UNITS = 10_000
"""Units per currency unit, so that amounts are whole numbers."""
SECOND = timedelta(seconds=1)


class ReportedFigure(NamedTuple):
    measure: str
    subject: str
    hour: datetime
    number: int


async def read_hour_figures(
    connection: AsyncConnection, space_id: int, start: datetime, end: datetime
) -> list[ReportedFigure]:
    """Return the orders of each hour from a midnight on, and those without a touchpoint. Needs a transaction
    that has read nothing yet.
    """
    columns = Measure.EVENTS, Measure.TOUCHED_EVENTS
    queries = [_query(*span, columns, (Group.DAY, Group.HOUR), ORDERS) for span in _parts(start, end)]
    figures: list[ReportedFigure] = []
    for report in await _reports(connection, space_id, queries):
        for row in report.rows:
            day, hour = (key.value for key in row.keys)
            moment = datetime.fromisoformat(f"{day} {hour}:00:00")
            orders, touched_orders = (_to_integer(row.figures[FigureColumn(column)]) for column in columns)
            figures += [
                ReportedFigure("orders", "", moment, orders),
                ReportedFigure("untouched", "", moment, orders - touched_orders),
            ]
    return figures


async def read_day_figures(
    connection: AsyncConnection, space_id: int, start: datetime, end: datetime
) -> list[ReportedFigure]:
    """Return the orders and gross revenue of each source by last touch, daily from a midnight on."""
    columns = Measure.CREDITED_CONVERSIONS, Measure.CREDITED_REVENUE
    queries = [_query(*span, columns, (Group.DAY, Group.SOURCE), SALES) for span in _parts(start, end)]
    figures: list[ReportedFigure] = []
    for report in await _reports(connection, space_id, queries):
        for row in report.rows:
            day, source = (key.value for key in row.keys)
            moment = datetime.fromisoformat(f"{day} 00:00:00")
            orders, revenue = (row.figures[FigureColumn(column)] for column in columns)
            if source is not None:
                figures += [
                    ReportedFigure("day_orders", source, moment, _to_integer(orders)),
                    ReportedFigure("day_revenue", source, moment, _to_integer(revenue, UNITS)),
                ]
    return figures


async def _reports(
    connection: AsyncConnection, space_id: int, queries: list[ReportQuery]
) -> list[ReportResult]:
    return await query_reports(connection, space_id, queries) if queries else []


def _query(
    start: datetime,
    end: datetime,
    measures: tuple[Measure, ...],
    groups: tuple[Group, ...],
    kinds: tuple[Kind, ...],
) -> ReportQuery:
    conditions = tuple(KeyCondition(Group.KIND, kind.key) for kind in kinds)
    filters = Filters(event_names=SALES_EVENTS, only=conditions)
    return ReportQuery(start, end, measures, groups, filters=filters, limit=ALL_ROWS)


def _parts(start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Split a period into ranges of one report, each to its last second."""
    while start < end:
        part_end = min(start + timedelta(days=MOST_DAYS), end)
        yield start, part_end - SECOND
        start = part_end


def _to_integer(figure: Figure, units: int = 1) -> int:
    return round((figure or 0) * units)
