"""The selected events of a batch and the credit of their touches. Pure."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cached_property
from math import lcm
from typing import NamedTuple, Self

import numpy as np

from headwater.attribution.credits import Credited, Crediting, TouchAges, TouchSlices, are_sources_among
from headwater.attribution.models import MODELS
from headwater.attribution.paths.lookup import are_among
from headwater.attribution.paths.path_data import BoolArray, Column, EventKind, IntArray, PathData
from headwater.reports.engine.dimensions import Kind
from headwater.reports.engine.group_sums import (
    EventGroupings,
    Grouping,
    GroupSums,
    Numbers,
    PairGroupings,
    Pairs,
    multiply,
    sum_by_code,
)
from headwater.reports.engine.measures import TOUCHED_EVENTS, TOUCHED_REVENUE, WHOLE_EVENT, Sum
from headwater.reports.engine.plan import ReportScope, select_amounts_of_paths, touches_in_window
from headwater.reports.query import Measure


class NoCredit(StrEnum):
    NO_TOUCH = "no_touch"
    OUTSIDE_WINDOW = "outside_window"
    """All touches are too old."""
    NOT_COUNTED = "not_counted"
    """The model ignores all touches in the window."""


WEIGHED_EVENT = 5 * lcm(*range(1, 21))
"""The units of an event with weighted touches: about a billion, so that a product with a weight fits 64 bits.
Divides WHOLE_EVENT.
"""
STATUSES = (None, *NoCredit, "left_out")
"""None if the event counts; `left_out` if no touch that counts gets credit."""
COUNTS, _NO_TOUCH, _OUTSIDE_WINDOW, _NOT_COUNTED, LEFT_OUT_STATUS = range(len(STATUSES))


class StatusSums(NamedTuple):
    model: str | None
    """None without credit."""
    sums: tuple[Sum, ...]
    touched: bool


class CountedTouches(NamedTuple):
    credited: Credited
    places: IntArray | None
    """Indexes among the credited touches; None means all."""
    pairs: Pairs
    groupings: PairGroupings


class ChosenEvents:
    def __init__(self, scope: ReportScope, paths: PathData, *, keeps: bool = True) -> None:
        """`paths` has only the selected events. `keeps` caches credit for other plans, which costs the memory
        of a model's shares.
        """
        self.scope, self.paths, self.keeps = scope, paths, keeps
        self.count = paths.events
        self._values: dict[Sum, IntArray] = {}
        self._credits: dict[str, ModelCredit] = {}
        self._select_counted: dict[int, CountedTouches] = {}
        """By identity of the credited touches, which are referenced here."""
        self.by_status: dict[StatusSums, GroupSums] = {}
        """Shared by the plans of the scope."""

    @classmethod
    def of(cls, scope: ReportScope, paths: PathData, *, keeps: bool = True) -> Self:
        return cls(scope, paths.select(scope.conditions.matches(paths)), keeps=keeps)

    def credit(self, model: str) -> ModelCredit:
        if model in self._credits:
            return self._credits[model]
        credit = ModelCredit(self, model)
        if self.keeps:
            self._credits[model] = credit
        return credit

    @cached_property
    def amounts(self) -> IntArray:
        """The events' amounts in ten-thousandths; 0 if missing or without revenue."""
        return self.scope.kinds.converting_amounts(self.paths, select_amounts_of_paths(self.paths))

    @cached_property
    def kinds(self) -> IntArray:
        """The Kind of every event, or NO_KEY."""
        return self.scope.kinds.keys(self.paths)

    @property
    def are_no_refunds(self) -> BoolArray:
        return self.paths[Column.KINDS] != EventKind.REFUND

    @property
    def are_conversions(self) -> BoolArray:
        return (self.kinds == Kind.ORDER) | (self.kinds == Kind.CONVERSION)

    @cached_property
    def amount_units(self) -> tuple[IntArray, IntArray]:
        """Each amount's number of units (cents, tenths of cents or ten-thousandths), and the signed value of
        a unit.
        """
        amounts, sizes = self.amounts, np.abs(self.amounts)
        units = sizes // 100
        if np.array_equal(units * 100, sizes):  # no mills, the usual case
            return units, np.sign(amounts) * 100
        step = np.where(sizes % 100 == 0, 100, np.where(sizes % 10 == 0, 10, 1))
        return sizes // step, np.sign(amounts) * step

    @cached_property
    def slices(self) -> TouchSlices:
        return touches_in_window(self.paths, self.scope.query.window_days)

    @cached_property
    def counted_touches(self) -> BoolArray | None:
        """None means all."""
        scope, paths = self.scope, self.paths
        if not scope.query.of_some_touches:
            return None
        is_counted = np.ones(paths.touches, dtype=np.bool_)
        if scope.source_ids:
            is_counted &= are_sources_among(scope.source_ids, paths[Column.SOURCES])
        if scope.tag_sets is not None:
            is_counted &= are_among(scope.tag_sets, paths[Column.TAG_SETS])
        for touch_key in scope.touch_keys:
            is_counted &= touch_key.matches(paths)
        if scope.query.of_touch_dates:
            seconds = paths[Column.TOUCH_SECONDS]
            is_counted &= (seconds >= scope.period.start) & (seconds < scope.period.stop)
        return is_counted

    @cached_property
    def crediting(self) -> Crediting:
        days = self.scope.half_life_days
        ages = None if days is None else TouchAges(self.paths[Column.TOUCH_SECONDS], days)
        return Crediting(self.slices, self.paths[Column.SOURCES], ages, self._trained)

    @property
    def _trained(self) -> Mapping[str, IntArray]:
        """The weights of each trained model by source number."""
        trained_model = self.scope.trained_model
        if trained_model is None:
            return {}
        weights = np.array([0, *trained_model.weights], dtype=np.int64)
        return {model: weights for model in self.scope.query.models if MODELS[model].needs_training}

    @cached_property
    def touched(self) -> CountedTouches:
        """All touches in the windows whose credit would count."""
        return self.count_touches(self.crediting.every_touch())

    @cached_property
    def groupings(self) -> EventGroupings:
        return EventGroupings(self.paths)

    def count_touches(self, credited: Credited) -> CountedTouches:
        """Share results between models that credit the same touches."""
        cache_key = id(credited.touches)  # shared by models that credit the same touches
        if cache_key not in self._select_counted:
            is_counted, events, touches = self.counted_touches, credited.events, credited.touches
            places = None if is_counted is None else np.flatnonzero(is_counted[touches])
            pairs = Pairs(events, touches)
            if places is not None:
                pairs = Pairs(events[places], touches[places])
            groupings = PairGroupings(self.paths, pairs, self.groupings)
            self._select_counted[cache_key] = CountedTouches(credited, places, pairs, groupings)
        return self._select_counted[cache_key]

    def values(self, sum_name: Sum) -> IntArray:
        if sum_name not in self._values:
            self._values[sum_name] = _VALUES[sum_name](self)
        return self._values[sum_name]

    @property
    def touched_values(self) -> Mapping[str, IntArray]:
        return {TOUCHED_EVENTS: self.values(Sum.EVENTS), TOUCHED_REVENUE: self.amounts}

    def first_orders(self) -> BoolArray:
        orders = self.scope.first_orders
        assert orders is not None
        stored_amounts = self.paths[Column.AMOUNTS]  # left-out and tiny amounts keep their sign
        has_revenue = self.scope.kinds.converting_amounts(self.paths, stored_amounts) > 0
        return orders.include(self.paths) & has_revenue

    @cached_property
    def led(self) -> BoolArray:
        """Conversions with a touch in the window."""
        return self.are_conversions & (self.slices.lengths > 0)

    def seconds_since_touch(self) -> IntArray:
        """Return 0 for events that aren't conversions."""
        led_events = np.flatnonzero(self.led)
        seconds = np.zeros(self.count, dtype=np.int64)
        first = self.paths[Column.TOUCH_SECONDS][self.slices.begins[led_events]]
        seconds[led_events] = self.paths[Column.SECONDS][led_events].astype(np.int64) - first
        return seconds


_VALUES: dict[Sum, Callable[[ChosenEvents], IntArray]] = {
    Sum.EVENTS: lambda events: np.ones(events.count, dtype=np.int64),
    Sum.CONVERSIONS: lambda events: events.are_conversions.astype(np.int64),
    Sum.ORDERS: lambda events: (events.kinds == Kind.ORDER).astype(np.int64),
    Sum.UPSELLS: lambda events: (events.kinds == Kind.UPSELL).astype(np.int64),
    Sum.REFUND_COUNT: lambda events: (events.kinds == Kind.REFUND).astype(np.int64),
    Sum.GROSS: lambda events: np.maximum(events.amounts, 0),
    Sum.REFUNDS: lambda events: np.maximum(-events.amounts, 0),
    Sum.FIRST_ORDERS: lambda events: events.first_orders().astype(np.int64),
    Sum.REACHED: lambda events: (events.slices.lengths > 0).astype(np.int64),
    Sum.REACHED_REVENUE: lambda events: np.where(events.slices.lengths > 0, events.amounts, 0),
    Sum.LED: lambda events: events.led.astype(np.int64),
    Sum.SECONDS: lambda events: events.seconds_since_touch(),
    Sum.TOUCHES: lambda events: np.where(events.led, events.slices.lengths, 0),
}


class CreditShares(NamedTuple):
    shares: IntArray
    """In units."""
    unit_value: int
    """The value of a unit in ten-thousandths or parts of WHOLE_EVENT."""


class ModelCredit:
    def __init__(self, events: ChosenEvents, model: str) -> None:
        # Weak: a cycle would keep every batch's arrays in memory until garbage collection.
        self._events: ChosenEvents = weakref.proxy(events)
        self.model = model
        self._spread = MODELS[model].share.spread
        self.credited = events.crediting.credit(model)
        _, self._places, self.counted_pairs, self.groupings = events.count_touches(self.credited)
        self._shares_by_measure: dict[Measure, CreditShares] = {}

    @cached_property
    def statuses(self) -> IntArray:
        """Indexes in STATUSES."""
        events = self._events
        if events.counted_touches is not None:
            statuses = np.full(events.count, LEFT_OUT_STATUS)
            statuses[self.counted_pairs.events] = COUNTS
            return statuses
        status_without_touch = np.where(events.paths[Column.LENGTHS] == 0, _NO_TOUCH, _OUTSIDE_WINDOW)
        status_without_credit = np.where(events.slices.lengths > 0, _NOT_COUNTED, status_without_touch)
        return np.where(self.credited.counts > 0, COUNTS, status_without_credit)

    def sums(self, measure: Measure, grouping: Grouping) -> Numbers:
        credit = self._get_credit(measure)
        return multiply(sum_by_code(grouping.codes, credit.shares, grouping.size), credit.unit_value)

    def _get_credit(self, measure: Measure) -> CreditShares:
        if measure in self._shares_by_measure:
            return self._shares_by_measure[measure]
        match measure:
            case Measure.CREDITED_EVENTS:
                credit = self._share_events()
            case Measure.CREDITED_CONVERSIONS:
                credit = self._share_conversions()
            case Measure.CONVERSION_RATE:
                credit = self._share_conversions_of_visits()
            case _:
                credit = self._share_amounts()
        if self._events.keeps:
            self._shares_by_measure[measure] = credit
        return credit

    def _share_events(self) -> CreditShares:
        shares, unit = self.event_shares()
        return CreditShares(self._select_counted(shares), WHOLE_EVENT // unit)

    def _share_conversions(self) -> CreditShares:
        credit = self._get_credit(Measure.CREDITED_EVENTS)
        converts = self._events.are_conversions[self.counted_pairs.events]
        return credit._replace(shares=np.where(converts, credit.shares, 0))

    def _share_conversions_of_visits(self) -> CreditShares:
        credit, tag_sets = self._get_credit(Measure.CREDITED_CONVERSIONS), self._events.scope.visit_tag_sets
        assert tag_sets is not None
        is_of_visits = are_among(tag_sets, self._events.paths[Column.TAG_SETS][self.counted_pairs.touches])
        return credit._replace(shares=np.where(is_of_visits, credit.shares, 0))

    def _share_amounts(self) -> CreditShares:
        units, factor = self._events.amount_units
        shares = self.credited.shares(units, self._spread)
        greatest = int(factor.max(initial=0))
        if ((factor == greatest) | (factor == 0)).all():  # typical orders, without mills
            return CreditShares(self._select_counted(shares), greatest)
        return CreditShares(self._select_counted(shares * factor[self.credited.events]), 1)

    def event_shares(self) -> tuple[IntArray, int]:
        """Return each credited touch's share, and the units of an event."""
        unit = self._event_unit()
        units = np.full(self._events.count, unit, dtype=np.int64)
        return self.credited.shares(units, self._spread), unit

    def amount_shares(self) -> IntArray:
        """Return amounts in ten-thousandths."""
        units, factor = self._events.amount_units
        return self.credited.shares(units, self._spread) * factor[self.credited.events]

    def _event_unit(self) -> int:
        """Return an event's units: without weights, the fewest that give the same shares as WHOLE_EVENT."""
        if MODELS[self.model].is_weighted:
            return WEIGHED_EVENT
        longest = int(self.credited.counts.max(initial=1))
        return 5 * lcm(*range(1, 1 + longest)) if longest <= 40 else WHOLE_EVENT

    def _select_counted(self, shares: IntArray) -> IntArray:
        return shares if self._places is None else shares[self._places]
