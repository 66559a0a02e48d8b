"""Data completeness of recent days: the share of a day's final figure that has usually arrived by its age,
and the expected final figure with an interval, from the Space's own past.

    arrived at age   0    1    2    3    final    history: days with complete data
    Mon 2 Nov        60   25   10    5     100    85 had arrived by age 1
    Tue 3 Nov        80   21   12    7     120    101 had arrived by age 1
    Sat 21 Nov       44   20    ·    ·       ?    84.5 % usually arrive by age 1; expected 76
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headwater.attribution.paths.lookup import NumberMap
from headwater.attribution.paths.path_data import Column, IntArray, PathData, read_numbers
from headwater.attribution.paths.scan_plan import Block
from headwater.database.queries import Queries
from headwater.reports.engine.dimensions import Step
from headwater.reports.engine.measures import compute_figure
from headwater.reports.engine.passes import PlanLoader, add_up_plans
from headwater.reports.engine.report_reader import ReportReader, run_in_thread
from headwater.reports.engine.result import PeriodSums
from headwater.reports.query import DateTimeSpan, FigureColumn, Group, ReportQuery

LEVEL = 0.8
"""The share of days in the interval."""
LEAST_HISTORY = 28
"""Complete days with data needed."""
MOST_HISTORY = 120
COMPLETE = 0.999
"""A day with this usual share is complete."""
Numbers = NDArray[np.float64]


class NoEstimate(StrEnum):
    TOO_LITTLE_HISTORY = "too_little_history"
    """Fewer than LEAST_HISTORY complete days with data."""


@dataclass(frozen=True)
class DayCompleteness:
    day: date
    value: float
    """As of the last midnight."""
    share_in: float
    """The share that has usually arrived by this age."""
    expected: float
    low: float
    high: float
    """`low` to `high` is the LEVEL interval."""


@dataclass(frozen=True)
class Completeness:
    as_of: date
    """The current day, which isn't estimated."""
    horizon_days: int
    """Data is complete at this age."""
    history_days: int
    """Days used, or without an estimate those with data."""
    days: tuple[DayCompleteness, ...] = ()
    """Incomplete days, earliest first."""
    reason: NoEstimate | None = None

    @property
    def value(self) -> float:
        return sum(day.value for day in self.days)

    @property
    def expected(self) -> float:
        return sum(day.expected for day in self.days)

    @property
    def share_in(self) -> float | None:
        """None if nothing is expected."""
        return self.value / self.expected if self.expected > 0 else None


class ArrivedFigures(Struct, frozen=True):
    """Figures by day and by age on arrival."""

    days: Sequence[date]
    """Until yesterday, earliest first."""
    by_age: Numbers
    """A row per day, a column per age up to the horizon, whose column includes later arrivals. Future ages
    are 0.
    """
    known_from: int = 0
    """The first day with observed arrivals."""

    @property
    def horizon(self) -> int:
        return self.by_age.shape[1] - 1


def estimate(arrivals: ArrivedFigures, as_of: date, selected_days: Collection[date]) -> Completeness:
    so_far = arrivals.by_age.cumsum(axis=1)
    horizon, last = arrivals.horizon, len(arrivals.days) - 1
    complete = last - horizon + 1
    history = so_far[max(arrivals.known_from, complete - MOST_HISTORY) : max(complete, 0)]
    days_with_data = np.flatnonzero(history[:, -1])
    if len(days_with_data) < LEAST_HISTORY or history[:, -1].sum() <= 0:
        reason = NoEstimate.TOO_LITTLE_HISTORY
        return Completeness(as_of, horizon, len(days_with_data), reason=reason)
    # Later days without data are as usual as others: without them, few orders or closed weekends would lead
    # to high expectations.
    history = history[days_with_data[0] :]
    estimates = [
        _estimate_day(day, float(so_far[index, last - index]), history, last - index)
        for index, day in enumerate(arrivals.days)
        if day in selected_days and index >= complete
    ]
    incomplete = tuple(day for day in estimates if day.share_in < COMPLETE)
    return Completeness(as_of, horizon, len(history), incomplete)


# The missing part is assumed to grow with the part that has arrived and with the usual missing part, so an
# old day is estimated from itself and a new day from the others. Each past day's missing part is measured in
# this unit; quantiles give the interval for any distribution.
#
#     unit = arrived + (1 - share) · mean       missing = unit · measure
def _estimate_day(day: date, value: float, history: Numbers, age: int) -> DayCompleteness:
    reached, final = history[:, age], history[:, -1]
    share = min(1.0, float(reached.sum() / final.sum()))
    usual = (1 - share) * float(final.mean())
    units, unit = np.maximum(reached, 0) + usual, max(value, 0.0) + usual
    remaining_values, total = final - reached, float(units.sum())
    measures = np.sort(
        np.divide(remaining_values, units, out=np.zeros_like(remaining_values), where=units > 0)
    )
    mean = float(remaining_values.sum()) / total if total > 0 else 0.0
    low, high = (value + unit * measure for measure in _central_interval(measures))
    return DayCompleteness(day, value, share, value + unit * mean, low, high)


# If many days have nothing missing, the lowest measures are equal and no day falls below them. The upper end
# then gets both tails, and the other way round.
#
#     0 0 0 0 0 0 .1 .2 .2 .4        of ten, one should be below and one above; none is below 0,
#     └─ low      └─ high            so two may be above
def _central_interval(measures: Numbers) -> tuple[float, float]:
    """Return the LEVEL interval of sorted measures."""
    count = len(measures)
    tail = (1 - LEVEL) / 2 * (count + 1)  # above 1, because of LEAST_HISTORY

    def at(position: float) -> float:
        return float(np.interp(position, np.arange(count), measures))

    low, high = at(tail - 1), at(count - tail)
    spare_below = max(0.0, tail - 1 - np.count_nonzero(measures < low))
    spare_above = max(0.0, tail - 1 - np.count_nonzero(measures > high))
    ends = at(tail - 1 + spare_above), at(count - tail - spare_below)
    return min(ends), max(ends)


queries = Queries(__name__, "arrivals.sql")
_CACHE_NAME = "late events"
_NO_LATE = np.empty((2, 0), dtype=np.int64)
LATENESS = 30
"""Late events arrive within this many days."""
LONGEST_LAG = 90
"""Days to a touch's last conversions without a window."""


class LateEvents(Struct, frozen=True):
    ids: IntArray
    """Ascending."""
    places: IntArray
    """Arrival day numbers from 1; one more than the last for later arrivals."""
    known_from: int
    """The first day with observed arrivals."""


class BlockArrivals(Struct, frozen=True):
    late_events: IntArray
    """Event ids and arrival day numbers."""
    received: datetime | None
    """The first arrival."""


class _DayArrivals(NamedTuple):
    day: date
    """The UTC day of the events."""
    place: int
    """The arrival day; 0 in time."""
    packed_ids: bytes | None
    """Packed event ids."""
    received: datetime
    """The first arrival."""


@dataclass(frozen=True, eq=False)
class ArrivalDay:
    of_event: Step
    """Events that aren't late arrive on their own day."""
    late_events: LateEvents
    of_touch = False
    columns = (Column.SECONDS, Column.EVENT_IDS)

    def keys(self, paths: PathData) -> IntArray:
        arrival_places = NumberMap(self.late_events.ids, self.late_events.places, 0)
        return np.maximum(self.of_event.keys(paths), arrival_places.find(paths[Column.EVENT_IDS]))


def get_horizon(query: ReportQuery) -> int:
    if query.of_touch_dates:
        return query.window_days or LONGEST_LAG
    return LATENESS


async def load_completeness(reader: ReportReader, query: ReportQuery, as_of: date) -> Completeness:
    """Estimate daily final totals of the first measure, at the beginning of a day. Raises ReportTooLarge."""
    horizon = get_horizon(query)
    days = [as_of - timedelta(days=age) for age in range(MOST_HISTORY + horizon, 0, -1)]
    arrivals = await _load_arrivals(reader, query, days, horizon)
    selected_days = {day for day in days if query.start.date() <= day <= query.end.date()}
    return estimate(arrivals, as_of, selected_days)


async def _load_arrivals(
    reader: ReportReader, query: ReportQuery, days: Sequence[date], horizon: int
) -> ArrivedFigures:
    span = DateTimeSpan(datetime.combine(days[0], time()), datetime.combine(days[-1], time(23, 59, 59)))
    past_query = _make_past_query(query, span)
    (period_plan,) = await PlanLoader(reader, [past_query]).plans(past_query)
    (step,) = period_plan.plan.dimensions
    assert isinstance(step, Step)
    seconds = reader.bounds(span).seconds
    # The last step collects everything after the past.
    event_step = Step(np.append(step.starts, seconds.stop))
    cut_days = period_plan.period.steps[0].days
    late_events = await _load_late(reader, event_step)
    plan = replace(period_plan.plan, dimensions=(step, ArrivalDay(event_step, late_events)))
    (pieces,) = await add_up_plans(reader, [replace(period_plan, plan=plan)])
    sums = await run_in_thread(PeriodSums.join, past_query, period_plan.period, pieces)
    by_age = await run_in_thread(_by_age, sums, len(cut_days), horizon)
    return ArrivedFigures(cut_days, by_age, late_events.known_from)


def _make_past_query(query: ReportQuery, span: DateTimeSpan) -> ReportQuery:
    """Reports without touches share one for all models and windows."""
    past_query = ReportQuery(
        span.start,
        span.end,
        query.measures[:1],
        (Group.DAY,),
        filters=query.filters,
        date_basis=query.date_basis,
        currency=query.currency,
    )
    if not past_query.is_about_touches:
        return past_query
    return replace(
        past_query,
        models=query.models[:1],
        window_days=query.window_days,
        by_company=query.by_company,
        trained_model=query.trained_model,
    )


async def _load_late(reader: ReportReader, of_event: Step) -> LateEvents:
    """A block's late events are cached until one of its paths changes."""
    starts = tuple(datetime.fromtimestamp(int(second), UTC) for second in of_event.starts)
    paths = reader.path_reader(ArrivalDay.columns)
    last_day = (starts[-1] - timedelta(seconds=1)).date()
    scan = await reader.plan_scan(paths, (starts[0].date(), last_day))
    keys = {
        block: None if block.version is None else (_CACHE_NAME, starts, block.version)
        for block in scan.all_blocks()
    }
    arrivals = {block: reader.find_cached(key) for block, key in keys.items()}
    if missing_blocks := [block for block, arrival in arrivals.items() if arrival is None]:
        days = await _read_days(reader, starts, missing_blocks)
        for block in missing_blocks:
            arrivals[block] = reader.put_cached(keys[block], _select_block(days, block))
    late_events = np.concatenate([_NO_LATE, *(arrival.late_events for arrival in arrivals.values())], axis=1)
    late_events = late_events[:, np.argsort(late_events[0])]
    received_times = [arrival.received for arrival in arrivals.values() if arrival.received]
    first = min(received_times, default=starts[-1])
    return LateEvents(late_events[0], late_events[1], min(len(starts) - 1, bisect_right(starts, first)))


async def _read_days(
    reader: ReportReader, starts: Sequence[datetime], blocks: Sequence[Block]
) -> list[_DayArrivals]:
    first = min(block.seconds.start for block in blocks)
    after = max(block.seconds.stop for block in blocks)
    values = {
        "space_id": reader.space.id,
        "starts": [*starts],
        "start": max(starts[0], datetime.fromtimestamp(first, UTC)),
        "end": min(starts[-1], datetime.fromtimestamp(after, UTC)),
    }
    await reader.bound_time()
    # Not prepared: a generic plan may search an index for nearly all events.
    cursor = reader.connection.cursor(binary=True)
    await cursor.execute(queries["arrivals"], values, prepare=False)
    return [_DayArrivals(*row) for row in await cursor.fetchall()]


def _select_block(days: Sequence[_DayArrivals], block: Block) -> BlockArrivals:
    block_days = [day for day in days if block.first_day <= day.day <= block.last_day]
    late_events = [
        np.stack([ids, np.full_like(ids, day.place)])
        for day in block_days
        for ids in [read_numbers(day.packed_ids)]
    ]
    first_received = min((day.received for day in block_days), default=None)
    return BlockArrivals(np.concatenate([_NO_LATE, *late_events], axis=1), first_received)


def _by_age(sums: PeriodSums, days: int, horizon: int) -> Numbers:
    (measure,), (model,) = sums.query.measures, sums.query.models
    column = FigureColumn(measure, model)
    by_age = np.zeros((days, 1 + horizon))
    for index in range(sums.groups.groups):
        day, arrival = sums.keys(index)
        if 1 <= day <= days and arrival <= days:
            figure = compute_figure(sums.query, column, sums.at(index), sums.base)
            by_age[day - 1, min(max(arrival - day, 0), horizon)] += float(figure or 0)
    return by_age
