"""Adding up a piece of the paths: its events and their credit, by group. Pure, and without Python
objects per event or touch, so that a million events take a blink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import lcm

import numpy as np

from headwater.attribution.credits import Credited, Crediting, TouchSlices, are_sources_among
from headwater.attribution.models import MODELS
from headwater.paths.lookup import are_among
from headwater.paths.path_data import BoolArray, Column, IntArray, PathData
from headwater.reports.cells import Cells, Pairs, event_cells, paired, touch_cells
from headwater.reports.forms import TOUCHED_EVENTS, TOUCHED_REVENUE, Sum, credit_sum
from headwater.reports.models import CREDITED, DateBasis, Measure, NoCredit
from headwater.reports.order import firsts
from headwater.reports.plan import Plan
from headwater.reports.selection import amounts_of, count_names, touches_in_window
from headwater.reports.tally import NO_PAIRS, Tally, WideSums

WHOLE_EVENT = 5 * lcm(*range(1, 41))
"""The units in which an event itself is shared out, as its amount is. Every model's shares of a
path of up to 40 touches are whole numbers of them, and of a longer one nearly so; either way they
add up to the event.
"""

STATUSES = (None, *NoCredit, "left_out")
"""What becomes of an event: None is that it counts; `left_out`, that no touch whose credit counts
is credited.
"""
_COUNTS, _NO_TOUCH, _OUTSIDE_WINDOW, _NOT_COUNTED, _LEFT_OUT = range(len(STATUSES))


@dataclass(frozen=True)
class PieceSums:
    """The sums of a piece of the paths."""

    groups: Tally
    statuses: Mapping[str, Tally]
    """By model: whole events by what became of them, keyed by the place in STATUSES."""
    names: Mapping[str, int]
    """How many events have each name."""


def add_up(plan: Plan, paths: PathData) -> PieceSums:
    """Add up the events of a piece that the report is about."""
    events = _Events(plan, paths.select(plan.conditions.chosen(paths)))
    models = plan.query.models
    by_model = {model: _Credit(events, model) for model in models} if plan.is_about_touches else {}
    statuses = {model: events.by_status(by_model.get(model)) for model in models}
    names = count_names(events.paths, _counted(events, by_model.values()))
    return PieceSums(_groups(events, by_model), statuses, names)


def _counted(events: _Events, credits_: Iterable[_Credit]) -> BoolArray | None:
    """Return which events are added up: of some touches, those with such a touch. None is all."""
    if events.counted_touches is None:
        return None
    pairs = [credited.counted for credited in credits_]
    pairs += [events.touched] if events.plan.touched else []
    counted = np.zeros(events.count, dtype=np.bool_)
    for some in pairs:
        counted[some.events] = True
    return counted


class _Events:
    """The chosen events of a piece."""

    def __init__(self, plan: Plan, paths: PathData) -> None:
        self.plan, self.paths = plan, paths
        self.count = paths.events
        self._values: dict[Sum, IntArray] = {}

    @cached_property
    def amounts(self) -> IntArray:
        """In ten-thousandths, 0 where there is none."""
        return amounts_of(self.paths)

    @cached_property
    def amount_units(self) -> tuple[IntArray, IntArray]:
        """The units that amounts are shared out in, whole mills, tenths or hundredths of them, and
        what a unit of each event is worth.
        """
        amounts = self.amounts
        step = np.where(amounts % 100 == 0, 100, np.where(amounts % 10 == 0, 10, 1))
        return np.abs(amounts) // step, np.sign(amounts) * step

    @cached_property
    def slices(self) -> TouchSlices:
        """The touches in the window."""
        return touches_in_window(self.paths, self.plan.query.window_days)

    @cached_property
    def counted_touches(self) -> BoolArray | None:
        """True for the touches whose credit counts; None is all."""
        plan, paths = self.plan, self.paths
        if not plan.query.of_some_touches:
            return None
        counted = np.ones(paths.touches, dtype=np.bool_)
        if plan.source_ids:
            counted &= are_sources_among(plan.source_ids, paths[Column.SOURCES])
        if plan.tag_sets is not None:
            counted &= are_among(plan.tag_sets, paths[Column.TAG_SETS])
        for each in plan.touch_keys:
            counted &= each.chosen(paths)
        if plan.query.date_basis is DateBasis.TOUCH:
            seconds = paths[Column.TOUCH_SECONDS]
            counted &= (seconds >= plan.period.start) & (seconds < plan.period.stop)
        return counted

    @cached_property
    def crediting(self) -> Crediting:
        return Crediting(self.slices, self.paths[Column.SOURCES])

    @cached_property
    def touched(self) -> Pairs:
        """Every touch in the windows whose credit counts, if a model gives it any."""
        every = self.crediting.every_touch()
        return self.pairs(every, self.counted_of(every))

    def counted_of(self, credited: Credited) -> IntArray | None:
        """Return the places of the credited touches whose credit counts; None is everywhere."""
        counted = self.counted_touches
        return None if counted is None else np.flatnonzero(counted[credited.touches])

    def pairs(self, credited: Credited, counted: IntArray | None) -> Pairs:
        """Return the credited touches at some places, or all."""
        if counted is None:
            return Pairs(credited.events, credited.touches)
        return Pairs(credited.events[counted], credited.touches[counted])

    def values(self, part: Sum) -> IntArray:
        """Return what each event adds to a sum."""
        if part not in self._values:
            self._values[part] = _VALUES[part](self)
        return self._values[part]

    def by_status(self, credited: _Credit | None) -> Tally:
        """Return the sums of whole events by what became of them."""
        statuses = np.full(self.count, _COUNTS) if credited is None else credited.statuses
        places = np.arange(len(STATUSES))
        cells = Cells(statuses, len(STATUSES), {0: places})
        tally = _whole_events(self, cells, None, self.plan.status_sums)
        return tally if credited is None or not self.plan.touched else Tally.join([
            tally, self._touched_by_status(cells)
        ])  # fmt: skip

    def _touched_by_status(self, cells: Cells) -> Tally:
        pairs = self.touched.events
        touched = pairs[firsts(pairs)]
        chosen = Cells(cells.codes[touched], cells.size, cells.keys)
        return chosen.tally(chosen.sums(self.touched_values, touched))

    @property
    def touched_values(self) -> Mapping[str, IntArray]:
        """The numbers that each event adds to the sums of touched events."""
        return {TOUCHED_EVENTS: self.values(Sum.EVENTS), TOUCHED_REVENUE: self.amounts}

    def first_orders(self) -> BoolArray:
        """Return which events are the first order of their contact."""
        orders = self.plan.first_orders
        assert orders is not None
        return orders.include(self.paths)

    def seconds_since_touch(self) -> IntArray:
        """Return the seconds from the first touch in the window; 0 without any."""
        reached = np.flatnonzero(self.slices.lengths > 0)
        seconds = np.zeros(self.count, dtype=np.int64)
        first = self.paths[Column.TOUCH_SECONDS][self.slices.begins[reached]]
        seconds[reached] = self.paths[Column.SECONDS][reached].astype(np.int64) - first
        return seconds


_VALUES: dict[Sum, Callable[[_Events], IntArray]] = {
    Sum.EVENTS: lambda events: np.ones(events.count, dtype=np.int64),
    Sum.ORDERS: lambda events: (events.amounts > 0).astype(np.int64),
    Sum.REFUND_COUNT: lambda events: (events.amounts < 0).astype(np.int64),
    Sum.GROSS: lambda events: np.maximum(events.amounts, 0),
    Sum.REFUNDS: lambda events: np.maximum(-events.amounts, 0),
    Sum.FIRST_ORDERS: lambda events: events.first_orders().astype(np.int64),
    Sum.REACHED: lambda events: (events.slices.lengths > 0).astype(np.int64),
    Sum.REACHED_REVENUE: lambda events: np.where(events.slices.lengths > 0, events.amounts, 0),
    Sum.SECONDS: lambda events: events.seconds_since_touch(),
    Sum.TOUCHES: lambda events: np.maximum(events.slices.lengths, 0),
}


class _Credit:
    """The credit that a model gives in a piece."""

    def __init__(self, events: _Events, model: str) -> None:
        self._events, self.model = events, model
        self._spread = MODELS[model].share.spread
        self.credited = events.crediting.credit(model)
        self._places = events.counted_of(self.credited)
        self.counted = events.pairs(self.credited, self._places)

    @cached_property
    def statuses(self) -> IntArray:
        """The places in STATUSES of what becomes of every event."""
        events = self._events
        if events.counted_touches is not None:
            statuses = np.full(events.count, _LEFT_OUT)
            statuses[self.counted.events] = _COUNTS
            return statuses
        outside = np.where(events.paths[Column.LENGTHS] == 0, _NO_TOUCH, _OUTSIDE_WINDOW)
        without = np.where(events.slices.lengths > 0, _NOT_COUNTED, outside)
        return np.where(self.credited.counts > 0, _COUNTS, without)

    def sums(self, measure: Measure, cells: Cells) -> WideSums:
        """Return the sums of a credited measure by the cells of the touches that count."""
        if measure is Measure.CREDITED_EVENTS:
            unit = self._event_unit()
            units = np.full(self._events.count, unit, dtype=np.int64)
            shares = self.credited.shares(units, self._spread)
            return self._summed(cells, shares, unit).times(WHOLE_EVENT // unit)
        units, factor = self._events.amount_units
        shares, largest = self.credited.shares(units, self._spread), int(units.max(initial=0))
        most = int(factor.max(initial=0))
        if ((factor == most) | (factor == 0)).all():  # as of orders without mills
            return self._summed(cells, shares, largest).times(most)
        return self._summed(cells, shares * factor[self.credited.events], 100 * largest)

    def _event_unit(self) -> int:
        """Return the number of units for an event that gives the same shares as WHOLE_EVENT, and is
        as small as the longest path allows.
        """
        longest = int(self.credited.counts.max(initial=1))
        return 5 * lcm(*range(1, 1 + longest)) if longest <= 40 else WHOLE_EVENT

    def _summed(self, cells: Cells, values: IntArray, largest: int) -> WideSums:
        if self._places is not None:
            values = values[self._places]
        return WideSums.by_cell(cells.codes, values, cells.size, largest)


def _groups(events: _Events, by_model: Mapping[str, _Credit]) -> Tally:
    """Return all sums by the groups of the report."""
    plan = events.plan
    by_event = event_cells(plan.dimensions, events.paths)
    by_touch = touch_cells(plan.dimensions, events.paths)
    first = next(iter(by_model.values()), None)
    tallies: list[Tally] = []
    if first is None or (not plan.query.by_touch and events.counted_touches is None):
        tallies.append(_whole_events(events, by_event, None, plan.event_sums))
    elif plan.event_sums or plan.needs(Measure.CONTACTS) or not plan.credits:
        cells = paired(by_event, by_touch, first.counted)
        members, cells = cells.each_once(first.counted.events)
        tallies.append(_whole_events(events, cells, members, plan.event_sums))
    for credited in by_model.values() if plan.credits else ():
        cells = paired(by_event, by_touch, credited.counted)
        tallies.append(cells.tally({
            credit_sum(measure, credited.model): credited.sums(measure, cells)
            for measure in plan.query.measures
            if measure in CREDITED
        }))  # fmt: skip
    if by_model and plan.touched:
        cells = paired(by_event, by_touch, events.touched)
        members, cells = cells.each_once(events.touched.events)
        tallies.append(cells.tally(cells.sums(events.touched_values, members)))
    return Tally.join(tallies)


def _whole_events(
    events: _Events, cells: Cells, members: IntArray | None, parts: tuple[Sum, ...]
) -> Tally:
    """Return sums over events, each in a cell or in several: `members` has the event of each code;
    None is all events, in order.
    """
    contacts = NO_PAIRS
    if events.plan.needs(Measure.CONTACTS):
        of_events, buys = events.paths[Column.CONTACTS], events.amounts >= 0
        if members is None:
            members_buying = chosen = np.flatnonzero(buys)
        else:
            chosen = np.flatnonzero(buys[members])
            members_buying = members[chosen]
        contacts = (cells.codes[chosen], of_events[members_buying])
    sums = cells.sums({part: events.values(part) for part in parts}, members)
    return cells.tally(sums, contacts)
