"""The ripeness of recent days: the share of a day's final figure that is usually in by its age, and
the final figure to expect, with an interval. By the Space's own past days alone. Pure.

    came in at age   0    1    2    3    final    history: days of which everything is in
    Mon 2 Nov        60   25   10    5     100    by age 1, 85 were in
    Tue 3 Nov        80   21   12    7     120    by age 1, 101
    Sat 21 Nov       44   20    ·    ·       ?    84.5 % are usually in by age 1; expected 76
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.paths.live import read_numbers
from headwater.attribution.paths.lookup import NumberMap
from headwater.attribution.paths.path_data import Column, IntArray, PathData
from headwater.attribution.paths.scan_plan import Block
from headwater.database.queries import Queries
from headwater.reports.engine.dimensions import Step
from headwater.reports.engine.measures import figure_of
from headwater.reports.engine.passes import PlanLoader, add_up_plans
from headwater.reports.engine.report_reader import ReportReader, in_thread
from headwater.reports.engine.result import PeriodSums
from headwater.reports.query import DateBasis, DateTimeSpan, FigureColumn, Group, ReportQuery

LEVEL = 0.8
"""Of the interval: so many of the days end up in it."""
LEAST_HISTORY = 28
"""The past days, of which everything is in, from which something can be said."""
MOST_HISTORY = 120
RIPE = 0.999
"""The usual share from which a day counts as ripe."""
Numbers = NDArray[np.float64]


class NotJudged(StrEnum):
    """The reasons for which nothing is said."""

    TOO_LITTLE_HISTORY = "too_little_history"
    """Fewer than LEAST_HISTORY days with anything are old enough."""


@dataclass(frozen=True)
class DayRipeness:
    """A day that is not ripe."""

    day: date
    value: float
    """The figure as it was at the last midnight."""
    share_in: float
    """The share of the final figure that is usually in by this age."""
    expected: float
    """The final figure."""
    low: float
    high: float
    """Between these two it ends up on LEVEL of days."""


@dataclass(frozen=True)
class Ripeness:
    """The final figures to expect of a report's days, as of the last midnight."""

    as_of: date
    """The day that began then, which is not over and not judged."""
    horizon_days: int
    """The age from which everything counts as in."""
    history_days: int
    """The past days that it is judged by."""
    days: tuple[DayRipeness, ...] = ()
    """Those that are not ripe, the earliest first."""
    reason: NotJudged | None = None
    """The reason for which nothing is said."""

    @property
    def value(self) -> float:
        """The figures of the days that are not ripe, together."""
        return sum(day.value for day in self.days)

    @property
    def expected(self) -> float:
        """Their final figures."""
        return sum(day.expected for day in self.days)

    @property
    def share_in(self) -> float | None:
        """The part of these that is in; None of nothing."""
        return self.value / self.expected if self.expected > 0 else None


@dataclass(frozen=True)
class ArrivedFigures:
    """A figure by the day that it belongs to, and by the age of that day when it came in."""

    days: Sequence[date]
    """All days until yesterday, the earliest first."""
    by_age: Numbers
    """A row for each day; a column for each age in whole days, from 0 to the horizon. What came in
    later stands in the last column, and ages that a day has not reached are 0."""
    known_from: int = 0
    """The place of the first day that was seen as it came in."""

    @property
    def horizon(self) -> int:
        return self.by_age.shape[1] - 1


def judge(arrivals: ArrivedFigures, as_of: date, wanted: Collection[date]) -> Ripeness:
    """Return the final figures to expect of those of the wanted days that are not ripe."""
    so_far = arrivals.by_age.cumsum(axis=1)
    horizon, last = arrivals.horizon, len(arrivals.days) - 1
    ripe = last - horizon + 1
    history = so_far[max(arrivals.known_from, ripe - MOST_HISTORY) : max(ripe, 0)]
    history = history[history[:, -1] != 0]
    if len(history) < LEAST_HISTORY or history[:, -1].sum() <= 0:
        reason = NotJudged.TOO_LITTLE_HISTORY
        return Ripeness(as_of, horizon, len(history), reason=reason)
    judged = [
        _judge_day(day, float(so_far[place, last - place]), history, last - place)
        for place, day in enumerate(arrivals.days)
        if day in wanted and place >= ripe
    ]
    unripe = tuple(day for day in judged if day.share_in < RIPE)
    return Ripeness(as_of, horizon, len(history), unripe)


# What is left to come is taken to grow with what is in, and with what usually comes: a day of which
# nearly everything should be in is judged by itself, one of which hardly anything is by the others.
# In history, what was left is measured in this unit; the rank of the measures gives the interval,
# whatever their distribution.
#
#     unit = in + (1 - share) · mean       left = unit · measure
#
def _judge_day(day: date, value: float, history: Numbers, age: int) -> DayRipeness:
    reached, final = history[:, age], history[:, -1]
    share = min(1.0, float(reached.sum() / final.sum()))
    usual = (1 - share) * float(final.mean())
    units, unit = np.maximum(reached, 0) + usual, max(value, 0.0) + usual
    left, total = final - reached, float(units.sum())
    measures = np.sort(np.divide(left, units, out=np.zeros_like(left), where=units > 0))
    mean = float(left.sum()) / total if total > 0 else 0.0
    low, high = (value + unit * measure for measure in _middle(measures))
    return DayRipeness(day, value, share, value + unit * mean, low, high)


# Where many days have nothing left, the lowest measures are equal, and no day falls below them:
# then the upper end has that tail, too, and the other way round.
#
#     0 0 0 0 0 0 .1 .2 .2 .4        of ten, one should be below and one above; none is below 0,
#     └─ low      └─ high            so two may be above
#
def _middle(measures: Numbers) -> tuple[float, float]:
    """Return the ends between which LEVEL of further measures are, of measures in order."""
    count = len(measures)
    tail = (1 - LEVEL) / 2 * (count + 1)  # more than one, as there are LEAST_HISTORY measures

    def at(place: float) -> float:
        return float(np.interp(place, np.arange(count), measures))

    low, high = at(tail - 1), at(count - tail)
    spare_below = max(0.0, tail - 1 - np.count_nonzero(measures < low))
    spare_above = max(0.0, tail - 1 - np.count_nonzero(measures > high))
    ends = at(tail - 1 + spare_above), at(count - tail - spare_below)
    return min(ends), max(ends)


queries = Queries(__name__, "arrivals.sql")
_LATE = "late events"
_NO_LATE = np.empty((2, 0), dtype=np.int64)
LATENESS = 30
"""The days within which events that are late come in."""
LONGEST_LAG = 90
"""The days from a touch to the conversions that are waited for, where the window has no end."""


@dataclass(frozen=True)
class LateEvents:
    """The events that came in on a later day than theirs."""

    ids: IntArray
    """Ascending."""
    places: IntArray
    """The place of the day on which each came in, from 1; after the last for what came in later."""
    known_from: int
    """The place of the first day that was seen as it came in."""


@dataclass(frozen=True)
class BlockArrivals:
    """The arrivals of the events of a block of days."""

    late: IntArray
    """Columns of the late events' ids, and of the places of the days on which they came in."""
    received: datetime | None
    """When the first of all came in, None where none did."""


class _DayArrivals(NamedTuple):
    """The arrivals of the events of a day, on one day."""

    day: date
    """In UTC, of the events."""
    place: int
    """The place of the day on which they came in; 0 is for those that came in in time."""
    late: bytes | None
    """The ids of those that did not."""
    received: datetime
    """When the first of them came in."""


@dataclass(frozen=True, eq=False)
class ArrivalDay:
    """The day on which an event came in, by its place among the days."""

    of_event: Step
    """The days of events, which are those of arrival but for the late ones."""
    late: LateEvents
    of_touch = False
    columns = (Column.SECONDS, Column.EVENT_IDS)

    def keys(self, paths: PathData) -> IntArray:
        late = NumberMap(self.late.ids, self.late.places, 0)
        return np.maximum(self.of_event.keys(paths), late.find(paths[Column.EVENT_IDS]))


def horizon_of(query: ReportQuery) -> int:
    """Return the age in days from which a report's days count as ripe."""
    if query.date_basis is DateBasis.TOUCH:
        return query.window_days or LONGEST_LAG
    return LATENESS


async def load_ripeness(reader: ReportReader, query: ReportQuery, as_of: date) -> Ripeness:
    """Return the final figures to expect of a report's days, of its first measure in total, as of
    the beginning of a day. Raises ReportTooLarge.
    """
    horizon = horizon_of(query)
    days = [as_of - timedelta(days=age) for age in range(MOST_HISTORY + horizon, 0, -1)]
    arrivals = await _load_arrivals(reader, query, days, horizon)
    wanted = {day for day in days if query.start.date() <= day <= query.end.date()}
    return judge(arrivals, as_of, wanted)


async def _load_arrivals(
    reader: ReportReader, query: ReportQuery, days: Sequence[date], horizon: int
) -> ArrivedFigures:
    span = DateTimeSpan(datetime.combine(days[0], time()), datetime.combine(days[-1], time(23, 59, 59)))
    past = _query_of_past(query, span)
    (planned,) = await PlanLoader(reader, [past]).plans(past)
    (step,) = planned.plan.dimensions
    assert isinstance(step, Step)
    seconds = reader.bounds(span).seconds
    # After the days of the range comes everything later, which is not of the past.
    of_event = Step(np.append(step.starts, seconds.stop))
    cut = planned.period.steps[0].days
    late = await _load_late(reader, of_event)
    plan = replace(planned.plan, dimensions=(step, ArrivalDay(of_event, late)))
    (pieces,) = await add_up_plans(reader, [replace(planned, plan=plan)])
    sums = await in_thread(PeriodSums.join, past, planned.period, pieces)
    by_age = await in_thread(_by_age, sums, len(cut), horizon)
    return ArrivedFigures(cut, by_age, late.known_from)


def _query_of_past(query: ReportQuery, span: DateTimeSpan) -> ReportQuery:
    """Return the report whose arrivals are looked at: one for all models and windows where it is
    not about touches.
    """
    past = ReportQuery(
        span.start,
        span.end,
        query.measures[:1],
        (Group.DAY,),
        filters=query.filters,
        date_basis=query.date_basis,
        currency=query.currency,
    )
    if not past.is_about_touches:
        return past
    return replace(
        past,
        models=query.models[:1],
        window_days=query.window_days,
        by_company=query.by_company,
        fit=query.fit,
    )


async def _load_late(reader: ReportReader, of_event: Step) -> LateEvents:
    """Return the late events of some days, block by block: those of one stay the same until a path
    of theirs changes.
    """
    starts = tuple(datetime.fromtimestamp(int(second), UTC) for second in of_event.starts)
    paths = reader.path_reader(ArrivalDay.columns)
    scan = await reader.plan_scan(paths, (starts[0].date(), starts[-1].date()))
    keys = {
        block: None if block.version is None else (_LATE, starts, block.version)
        for block in scan.all_blocks()
    }
    arrivals = {block: reader.find_cached(key) for block, key in keys.items()}
    if missing := [block for block, cached in arrivals.items() if cached is None]:
        days = await _read_days(reader, starts, missing)
        for block in missing:
            arrivals[block] = reader.put_cached(keys[block], _of_block(days, block))
    late = np.concatenate([_NO_LATE, *(each.late for each in arrivals.values())], axis=1)
    late = late[:, np.argsort(late[0])]
    received = [each.received for each in arrivals.values() if each.received]
    first = min(received, default=starts[-1])
    return LateEvents(late[0], late[1], min(len(starts) - 1, bisect_right(starts, first)))


async def _read_days(
    reader: ReportReader, starts: Sequence[datetime], blocks: Sequence[Block]
) -> list[_DayArrivals]:
    """Return what came in of each day from the first of some blocks to the last."""
    first = min(block.seconds.start for block in blocks)
    after = max(block.seconds.stop for block in blocks)
    values = {
        "space_id": reader.space.id,
        "starts": [*starts],
        "start": max(starts[0], datetime.fromtimestamp(first, UTC)),
        "end": min(starts[-1], datetime.fromtimestamp(after, UTC)),
    }
    await reader.bound_time()
    # Not prepared: a plan that does not know the days may search an index for nearly all events.
    cursor = reader.connection.cursor(binary=True)
    await cursor.execute(queries["arrivals"], values, prepare=False)
    return [_DayArrivals(*row) for row in await cursor.fetchall()]


def _of_block(days: Sequence[_DayArrivals], block: Block) -> BlockArrivals:
    own = [each for each in days if block.first_day <= each.day <= block.last_day]
    late = [
        np.stack([ids, np.full_like(ids, each.place)]) for each in own for ids in [read_numbers(each.late)]
    ]
    received = min((each.received for each in own), default=None)
    return BlockArrivals(np.concatenate([_NO_LATE, *late], axis=1), received)


def _by_age(sums: PeriodSums, days: int, horizon: int) -> Numbers:
    """Return a figure by its day and by the age at which it came in."""
    (measure,), (model,) = sums.query.measures, sums.query.models
    column = FigureColumn(measure, model)
    by_age = np.zeros((days, 1 + horizon))
    for place in range(sums.groups.groups):
        day, arrival = sums.keys(place)
        if 1 <= day <= days and arrival <= days:
            figure = figure_of(sums.query, column, sums.at(place), sums.whole)
            by_age[day - 1, min(max(arrival - day, 0), horizon)] += float(figure or 0)
    return by_age
