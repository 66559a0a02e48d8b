"""Report plans: the inputs to sum up batches of paths, prepared once per report. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from headwater.attribution.credits import TouchSlices
from headwater.attribution.models import MODELS, CreditedTouches
from headwater.attribution.paths.cache import Key
from headwater.attribution.paths.lookup import NumberMap, are_among
from headwater.attribution.paths.path_data import (
    LEFT_OUT,
    OLDER_COLUMNS,
    ROUNDED_AWAY,
    BoolArray,
    Column,
    IntArray,
    PathData,
)
from headwater.attribution.paths.scan_plan import Block, ScanPlan
from headwater.attribution.trained_models.choice import ChosenModel
from headwater.reports.engine.dimensions import (
    CONTACTS,
    EVERY_NAME,
    Customers,
    Dimension,
    EventKinds,
    Step,
    time_column,
)
from headwater.reports.engine.measures import BY_KIND, FORMS, Sum
from headwater.reports.query import BY_MODEL, TOUCHED, Comparison, Filters, Measure, ReportQuery


@dataclass(frozen=True)
class KeyFilter:
    dimension: Dimension
    keys: IntArray

    @property
    def of_touch(self) -> bool:
        return self.dimension.of_touch

    def matches(self, paths: PathData) -> BoolArray:
        """Return a mask."""
        return are_among(self.keys, self.dimension.keys(paths))


@dataclass(frozen=True)
class EventConditions:
    filters: Filters
    """Only conditions on events are used."""
    contacts: IntArray | None = None
    """Ascending; None means all."""
    seconds: range | None = None
    """In Unix seconds; None means all time."""
    keys: tuple[KeyFilter, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        contact_columns = () if self.contacts is None else (Column.CONTACTS,)
        key_columns = (column for condition in self.keys for column in condition.dimension.columns)
        return (Column.SECONDS, Column.AMOUNTS, Column.NAMES, *contact_columns, *key_columns)

    def with_seconds(self, seconds: range | None) -> EventConditions:
        return replace(self, seconds=seconds)

    def with_names(self, event_names: tuple[str, ...]) -> EventConditions:
        return replace(self, filters=replace(self.filters, event_names=event_names))

    def with_keys(self, keys: Iterable[KeyFilter]) -> EventConditions:
        """Add filters on events."""
        return replace(self, keys=tuple(condition for condition in keys if not condition.of_touch))

    def matches(self, paths: PathData) -> BoolArray:
        filters = self.filters
        mask = np.ones(paths.events, dtype=np.bool_)
        seconds = paths[Column.SECONDS]
        if self.seconds is not None:
            mask &= (seconds >= self.seconds.start) & (seconds < self.seconds.stop)
        if filters.event_names:
            mask &= paths.have_names(filters.event_names)
        if self.contacts is not None:
            mask &= are_among(self.contacts, paths[Column.CONTACTS])
        if filters.amount_min is not None or filters.amount_max is not None:
            mask &= self._are_within_amounts(paths)
        for condition in self.keys:
            mask &= condition.matches(paths)
        return mask

    def _are_within_amounts(self, paths: PathData) -> BoolArray:
        least, greatest = self.filters.amount_min, self.filters.amount_max
        amounts, stored_amounts = select_amounts_of_paths(paths), paths[Column.AMOUNTS]
        mask = (stored_amounts > -LEFT_OUT) & (stored_amounts < LEFT_OUT)
        if least is not None:
            mask &= amounts >= -int(-least.scaleb(4) // 1)
        if greatest is not None:
            mask &= amounts <= int(greatest.scaleb(4) // 1)
        return mask


def window_columns(days: int) -> tuple[Column, ...]:
    older_columns = (OLDER_COLUMNS[days],) if days else ()
    return Column.STARTS, Column.LENGTHS, *older_columns


def touches_in_window(paths: PathData, days: int) -> TouchSlices:
    """Return touches by event; 0 days means no limit."""
    starts = paths[Column.STARTS]
    begins = starts + paths[OLDER_COLUMNS[days]] if days else starts
    return TouchSlices(begins, starts + paths[Column.LENGTHS])


def select_amounts_of_paths(paths: PathData) -> IntArray:
    """Return ten-thousandths, 0 if missing or left out."""
    stored_amounts = paths[Column.AMOUNTS]
    return np.where((stored_amounts <= -ROUNDED_AWAY) | (stored_amounts >= ROUNDED_AWAY), 0, stored_amounts)


def count_names(paths: PathData, is_counted: BoolArray | None = None) -> dict[str, int]:
    places = paths[Column.NAMES] if is_counted is None else paths[Column.NAMES][is_counted]
    counts = np.bincount(places, minlength=len(paths.event_names))
    pairs = zip(paths.event_names, counts.tolist(), strict=False)
    return {name: count for name, count in pairs if count}


def join_counts(several: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total_counts: Counter[str] = Counter()
    for counts in several:
        total_counts.update(counts)
    return dict(total_counts)


_NO_TIME = datetime(1970, 1, 1)  # noqa: DTZ001 - a local time
NEVER = (1 << 63) - 1
"""The time of a missing order."""
NO_MARK = -(1 << 63)
"""The mark of a contact without an order."""


@dataclass(frozen=True)
class FirstOrders:
    marks: NumberMap
    marked_by: Column
    """Times, or ids if several orders share the first time."""
    scan: ScanPlan
    customers: Customers = CONTACTS
    event_names: frozenset[str] = frozenset()
    """Empty means all."""
    seconds: tuple[NumberMap, NumberMap] | None = None
    """Of each customer's first and second order, in Unix seconds; NEVER if missing."""

    def orders_until(self, paths: PathData) -> IntArray:
        """Return the customer's orders by then: 0, 1 or 2 for more."""
        if paths.orders_until is not None:
            return paths.orders_until
        assert self.seconds is not None
        customers, seconds = self.customers.keys(paths), paths[Column.SECONDS]
        first, second = (orders.find(customers) <= seconds for orders in self.seconds)
        return first.astype(np.int64) + second

    def include(self, paths: PathData) -> BoolArray:
        is_first = paths.first_orders
        if is_first is None:
            marks = self.marks.find(self.customers.keys(paths))
            is_first = marks == paths[self.marked_by]
        return is_first & (paths[Column.AMOUNTS] > 0)


@dataclass(frozen=True, eq=False)
class ReportScope:
    """The events of a period's reports, and the touches whose credit counts. Shared by reports that differ
    only in groups and measures.
    """

    query: ReportQuery
    """Without measures and groups."""
    period: range
    """In Unix seconds."""
    conditions: EventConditions
    source_ids: frozenset[int] = frozenset()
    """Empty means all."""
    tag_sets: IntArray | None = None
    """Ascending; None means all."""
    touch_keys: tuple[KeyFilter, ...] = ()
    kinds: EventKinds = EVERY_NAME
    first_orders: FirstOrders | None = None
    """Only for new customers."""
    half_life_days: int | None = None
    """Only for credit by age."""
    trained_model: ChosenModel | None = None
    """Only for credit by a trained model."""
    visit_tag_sets: IntArray | None = None
    """Of touches made by page views, ascending; only for conversion rates."""

    @property
    def touch_columns(self) -> tuple[Column, ...]:
        columns = [column for touch_key in self.touch_keys for column in touch_key.dimension.columns]
        if self.tag_sets is not None or self.visit_tag_sets is not None:
            columns.append(Column.TAG_SETS)
        if self.query.of_touch_dates:
            columns.append(time_column(of_touch=True))
        return tuple(columns)


@dataclass(frozen=True, eq=False)
class Plan:
    query: ReportQuery
    scope: ReportScope
    dimensions: tuple[Dimension, ...]

    @property
    def is_about_touches(self) -> bool:
        return self.query.is_about_touches

    @property
    def reads_company_paths(self) -> bool:
        """True if paths are the companies'."""
        return self.query.by_company and self.is_about_touches

    def needs(self, *measures: Measure) -> bool:
        return not set(measures).isdisjoint(self.query.measures)

    @property
    def event_sums(self) -> tuple[Sum, ...]:
        forms = [FORMS[measure] for measure in self.query.measures if measure in FORMS]
        return tuple(dict.fromkeys(sum_name for form in forms for sum_name in form.sums))

    @property
    def status_sums(self) -> tuple[Sum, ...]:
        basis = [Sum.EVENTS, Sum.GROSS, Sum.REFUNDS]
        basis += [Sum.REACHED, Sum.REACHED_REVENUE] if self.touched else []
        basis += [Sum.CONVERSIONS] if Measure.CREDITED_CONVERSIONS in self.credited else []
        return tuple(dict.fromkeys([*self.event_sums, *basis]))

    @property
    def columns(self) -> tuple[Column, ...]:
        columns = [
            *self.scope.conditions.columns,
            *(column for dimension in self.dimensions for column in dimension.columns),
            *self.scope.touch_columns,
        ]
        if self.needs(Measure.CONTACTS, Measure.NEW_CUSTOMERS):
            columns.append(Column.CONTACTS)
        if self._counts_kinds:
            columns.append(Column.KINDS)
        if self.is_about_touches:
            columns += [*window_columns(self.query.window_days), Column.SOURCES]
            if self.scope.half_life_days is not None:
                columns.append(Column.TOUCH_SECONDS)
        if self.needs(Measure.DAYS_TO_CONVERSION):
            columns.append(Column.TOUCH_SECONDS)
        return tuple(dict.fromkeys(columns))

    @property
    def _counts_kinds(self) -> bool:
        needs_kinds = self.needs(Measure.CONTACTS) or Measure.CREDITED_CONVERSIONS in self.credited
        return needs_kinds or not BY_KIND.isdisjoint(self.event_sums)

    @property
    def credited(self) -> tuple[Measure, ...]:
        """The measures with sums of credit. A conversion rate also needs the sums of all conversions."""
        rate_measures = [Measure.CREDITED_CONVERSIONS] if self.needs(Measure.CONVERSION_RATE) else []
        measures = [*self.query.measures, *rate_measures]
        return tuple(dict.fromkeys(measure for measure in measures if measure in BY_MODEL))

    @property
    def credits(self) -> bool:
        return bool(self.credited)

    @property
    def is_weighed(self) -> bool:
        """True if some credit depends on weights."""
        return self.credits and any(MODELS[model].is_weighted for model in self.query.models)

    @property
    def credits_each(self) -> bool:
        """True if every touch of a path is credited or counted."""
        takes = {MODELS[model].take for model in self.query.models}
        return self.is_about_touches and (self.touched or CreditedTouches.EACH in takes)

    @property
    def touched(self) -> bool:
        return self.needs(*TOUCHED)

    @property
    def timeless(self) -> Plan:
        """The plan without order, limit and what `clip` returns."""
        time_values = {"start": _NO_TIME, "end": _NO_TIME, "compare": Comparison.NONE, "unit": None}
        listing_values = {"order_by": None, "descending": True, "limit": 0, "complete_on": None, "now": None}
        scope = replace(
            self.scope,
            query=replace(self.scope.query, **time_values),
            period=self.scope.period if self.query.of_touch_dates else range(0),
            conditions=self.scope.conditions.with_seconds(None),
        )
        dimensions = tuple(
            dimension.timeless if isinstance(dimension, Step) else dimension for dimension in self.dimensions
        )
        return Plan(replace(self.query, **time_values, **listing_values), scope, dimensions)

    # Take a report by day of 3 to 30 June, one of 1 June to 31 July, and the block 1 to 30 June. The first is
    # clipped to the seconds from 3 June; the second covers the block. Their buckets have different numbers,
    # so they have different cache keys. Without buckets, cached sums serve every range that covers the block.

    def clip(self, block: Block) -> Key | None:
        """Return the period's part in a block, with its time buckets; None if no event there counts."""
        seconds, period = block.seconds, self.scope.conditions.seconds
        if period is None:
            period = seconds
        clipped_seconds = range(max(seconds.start, period.start), min(seconds.stop, period.stop))
        if not clipped_seconds:
            return None
        buckets = [
            dimension.cut(seconds)
            for dimension in self.dimensions
            if isinstance(dimension, Step) and not dimension.of_touch
        ]
        return None if clipped_seconds == seconds else clipped_seconds, *buckets
