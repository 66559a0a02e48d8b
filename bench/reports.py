"""Reports over every event of a Space, beside the bare sum of the same events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import datetime
from statistics import median

import psycopg

from bench.listing import fill
from bench.stage import Stage
from headwater.reports import report, report_reader
from headwater.reports.models import Filters, Group, Measure, ReportQuery

RANGE = {"start": datetime(2000, 1, 1), "end": datetime(2098, 12, 31, 23, 59, 59)}  # noqa: DTZ001
REPEATS = 3
PATIENCE = 300.0
"""Beyond what a report may take, so that what is refused has a figure as well."""

BARE = """
SELECT sum(e.amount), count(*) FROM events e
WHERE e.space_id = %(space_id)s AND e.event_time >= %(start)s AND e.event_time < %(end)s
"""
WHOLE = (Measure.EVENTS, Measure.REVENUE)
CREDIT = (Measure.CREDITED_REVENUE,)
ALL = (*WHOLE, *CREDIT, Measure.CREDITED_EVENTS)
# Name, measures, groups, model, filters; every window is 90 days.
REPORTS = (
    ("total", WHOLE, (), "last_touch", Filters()),
    ("month", WHOLE, (Group.MONTH,), "last_touch", Filters()),
    ("event, month", WHOLE, (Group.EVENT, Group.MONTH), "last_touch", Filters()),
    ("country", WHOLE, (Group.COUNTRY,), "last_touch", Filters()),
    ("contacts", (Measure.CONTACTS,), (Group.MONTH,), "last_touch", Filters()),
    ("source", ALL, (Group.SOURCE,), "last_touch", Filters()),
    ("source, credit", CREDIT, (Group.SOURCE,), "linear", Filters()),
    ("source, credit", CREDIT, (Group.SOURCE,), "u_shaped", Filters()),
    ("source", ALL, (Group.SOURCE,), "u_shaped", Filters()),
    ("source, month", CREDIT, (Group.SOURCE, Group.MONTH), "u_shaped", Filters()),
    ("campaign", CREDIT, (Group.CAMPAIGN,), "last_touch", Filters()),
    ("campaign", CREDIT, (Group.CAMPAIGN,), "u_shaped", Filters()),
    ("of 0.1 %", ALL, (Group.SOURCE,), "u_shaped", Filters(sources=("yelp",))),
)


def measure(stage: Stage, say: Callable[..., None], sizes: tuple[int, ...]) -> None:
    """Print the part of the table on reports."""
    report_reader.SECONDS = PATIENCE
    for size, (space_id, _) in zip(sizes, stage.spaces(len(sizes)), strict=True):
        fill(stage.url, space_id, size)
        say(f"Reports over {size:,} events and {10 * size:,} touchpoints, windows of 90 days")
        say("groups", "measures", "model", "seconds", "to bare sum")
        for name, measures, groups, model, filters in REPORTS:
            asked = ReportQuery(
                **RANGE, measures=measures, group_by=groups, model=model, window_days=90,
                filters=filters,
            )  # fmt: skip
            seconds, bare = asyncio.run(_timed(stage.url, space_id, asked))
            say(name, len(measures), model, f"{seconds:.2f}", f"{seconds / bare:.0f}")


async def _timed(url: str, space_id: int, asked: ReportQuery) -> tuple[float, float]:
    """The median seconds of a report, and of the bare sum asked just before each."""
    taken, bare = [], []
    async with await psycopg.AsyncConnection.connect(url) as connection:
        for _ in range(REPEATS):
            started = time.perf_counter()
            await connection.execute(BARE, {"space_id": space_id, **RANGE})
            bare.append(time.perf_counter() - started)
            await connection.rollback()
            started = time.perf_counter()
            await report.query_report(connection, space_id, asked)
            taken.append(time.perf_counter() - started)
            await connection.rollback()
    return median(taken), median(bare)
