"""Hourly counts of a Space, in its local time. A row is counted once, after everything accepted before it is
processed. Orders and revenue come from the report engine.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from psycopg import AsyncConnection

from headwater.alerts.models import DayCounts, SpaceCounts
from headwater.alerts.reported_figures import ReportedFigure, read_day_figures, read_hour_figures
from headwater.alerts.series import DAYS, CountSeries
from headwater.alerts.watches import SpaceWatch
from headwater.database.queries import Queries, fetch_all, fetch_one
from headwater.forwarding.deliveries.verdicts import LONGEST
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.http.inputs.timerange import bind_zone, first_instant
from headwater.sources.source_names import SourceNames
from headwater.spaces.models import Space

queries = Queries(__name__, "counts.sql")

MOST_ROWS = 100_000
MOST_STORED = 2**63 - 1
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
KEEP_COUNTS = timedelta(days=45)
"""Five weeks, the longest judged period, and a day."""
LATE_ARRIVALS = DAY
"""Reports and conversions may arrive this long after their hour."""
LATE_VERDICTS = timedelta(seconds=LONGEST)
"""Platforms may give their verdict on a delivery this long after its hour."""
OF_HOURS = ("orders", "untouched")
OF_DAYS = ("day_orders", "day_revenue")
_BY_RECEIPT = ("visits", "touches", "rejected", "repeated")
_OF_DELIVERIES = (
    ("deliveries", ["finished", "failed"], LATE_VERDICTS),
    ("identifiers", ["conversions", "unmatched"], LATE_ARRIVALS),
)
"""Statements, their measures, and how far back they are counted again."""
_VERDICT_PLATFORMS = [name for name, platform in PLATFORMS.items() if platform.verdict_reasons]


async def add_counts(connection: AsyncConnection, space: Space, watch: SpaceWatch) -> bool:
    """Return False while rows received since the last pass are unprocessed."""
    values = {
        "space_id": space.id,
        **bind_zone(space.zone),
        "settled_id": watch.settled_id,
        "settled_at": watch.settled_at,
        "counted_at": watch.counted_at,
        "most": MOST_ROWS,
        "since": watch.settled_at - KEEP_COUNTS,
    }
    if (await fetch_one(connection, queries["unsettled"], values))[0]:
        return False
    for measure in _BY_RECEIPT:
        add = queries["add"].format(rows=queries[measure])
        after, rows = watch.counted_id, MOST_ROWS
        while rows == MOST_ROWS:
            measure_values = {**values, "measure": measure, "after": after}
            rows, last = await fetch_one(connection, add, measure_values)
            after = last or after
    await connection.execute(queries["refused"], values)
    before = {"space_id": space.id, "start": local(watch.settled_at, space) - KEEP_COUNTS - 2 * DAY}
    await connection.execute(queries["forget"], before)
    return True


async def read_figures(
    connection: AsyncConnection, space: Space, watch: SpaceWatch, until: datetime
) -> list[ReportedFigure]:
    """Read figures since the last pass. Needs a transaction that has read nothing yet."""
    start = first_hour(watch, until)
    hours = await read_hour_figures(connection, space.id, start, until)
    days = await read_day_figures(connection, space.id, start.replace(hour=0), until)
    return [*hours, *days]


async def count_deliveries(
    connection: AsyncConnection, space: Space, watch: SpaceWatch, until: datetime
) -> None:
    for name, measures, lateness in _OF_DELIVERIES:
        start = first_hour(watch, until, lateness)
        values = {
            "space_id": space.id,
            **bind_zone(space.zone),
            "start": start,
            "start_at": first_instant(start, space.zone),
            "measures": measures,
            "verdict_platforms": _VERDICT_PLATFORMS,
        }
        await connection.execute(queries["clear"], values)
        await connection.execute(queries[name], values)


def first_hour(watch: SpaceWatch, until: datetime, lateness: timedelta = LATE_ARRIVALS) -> datetime:
    """Return the midnight where recomputing starts."""
    lookback = lateness if watch.has_counted else KEEP_COUNTS
    start = min(watch.judged_until, until) - lookback
    return start.replace(hour=0, minute=0, second=0, microsecond=0)


async def put_figures(
    connection: AsyncConnection, space_id: int, start: datetime, figures: Iterable[ReportedFigure]
) -> None:
    """Replace figures from `start` on, without those too large to store."""
    values = {"space_id": space_id, "start": start, "measures": [*OF_HOURS, *OF_DAYS]}
    await connection.execute(queries["clear"], values)
    sums: dict[tuple[str, str, str], int] = defaultdict(int)
    for figure in figures:  # an hour that the clock repeats has two figures
        sums[figure.measure, figure.subject, figure.hour.isoformat()] += figure.number
    rows = [
        {"measure": measure, "subject": subject, "hour": hour, "number": number}
        for (measure, subject, hour), number in sums.items()
        if abs(number) <= MOST_STORED
    ]
    values = {"space_id": space_id, "rows": json.dumps(rows)}
    await connection.execute(queries["put_reported"], values)


async def forget_counts(connection: AsyncConnection, space_id: int) -> None:
    await connection.execute(queries["forget_all"], {"space_id": space_id})


def local(moment: datetime, space: Space) -> datetime:
    return moment.astimezone(space.zone).replace(tzinfo=None)


@dataclass(frozen=True)
class CountTable:
    """The counts from a midnight on, to be judged at any later hour."""

    start: datetime
    hours: Mapping[tuple[str, str], list[int]]
    """Prefix sums by measure and subject: before each hour, and in total."""
    days: Mapping[tuple[str, str], list[int]]
    began: int
    length: int = field(default=0)

    def at_hour(self, end: datetime) -> SpaceCounts:
        hour = (end - self.start) // HOUR

        def one(measure: str, subject: str = "") -> CountSeries:
            totals = self.hours.get((measure, subject)) or [0] * (self.length + 1)
            return CountSeries(totals, hour, began=self.began)

        def several(measure: str) -> dict[str, CountSeries]:
            return {subject: one(measure, subject) for (name, subject) in self.hours if name == measure}

        by_source = several("source_touches")
        return SpaceCounts(
            visits=one("visits"),
            touches=one("touches"),
            by_source={name: series for name, series in by_source.items() if name != "direct"},
            orders=one("orders"),
            untouched=one("untouched"),
            repeated=one("repeated"),
            rejected=one("rejected"),
            finished=several("finished"),
            failed={subject: one("failed", subject) for subject in several("finished")},
            conversions=several("conversions"),
            unmatched={subject: one("unmatched", subject) for subject in several("conversions")},
        )

    def at_day(self, end: datetime) -> DayCounts:
        day, first_day = (end - self.start) // DAY, -(-self.began // 24)
        by_measure: dict[str, dict[str, CountSeries]] = {name: {} for name in OF_DAYS}
        for measure, subject in self.days:
            totals = self.days[measure, subject]
            by_measure[measure][subject] = CountSeries(totals, day, DAYS, first_day)
        orders, revenue = (by_measure[name] for name in OF_DAYS)
        sources = orders.keys() & revenue.keys()
        return DayCounts(
            {name: orders[name] for name in sorted(sources)},
            {name: revenue[name] for name in sorted(sources)},
        )


async def read_counts(connection: AsyncConnection, space: Space, end: datetime) -> CountTable:
    start = (end - KEEP_COUNTS).replace(hour=0)
    values = {"space_id": space.id, "start": start}
    rows = await fetch_all(connection, queries["read"], values)
    (first,) = await fetch_one(connection, queries["first"], values)
    return build_table(start, end, first or end, rows, space.sources)


def build_table(
    start: datetime,
    end: datetime,
    first: datetime,
    rows: Iterable[tuple[str, str, datetime, int]],
    sources: SourceNames,
) -> CountTable:
    """Build a table from counts, with touchpoints summed over all sources."""
    hours, days = (end - start) // HOUR + 1, (end - start) // DAY + 1
    counts: dict[tuple[str, str], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for measure, subject, hour, number in rows:
        step = (hour - start) // (DAY if measure in OF_DAYS else HOUR)
        if measure == "touches":
            counts[measure, ""][step] += number
            counts["source_touches", sources.get_name(int(subject))][step] += number
        else:
            counts[measure, subject][step] += number
    sums = {
        key: CountSeries.of(by_place.get(index, 0) for index in range(days if key[0] in OF_DAYS else hours))
        for key, by_place in counts.items()
    }
    return CountTable(
        start,
        {key: list(series.totals) for key, series in sums.items() if key[0] not in OF_DAYS},
        {key: list(series.totals) for key, series in sums.items() if key[0] in OF_DAYS},
        max(-(-(first - start) // HOUR), 0),
        hours,
    )
