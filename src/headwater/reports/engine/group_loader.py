"""Load each dimension of a report once, and the filters on its keys. An event or touch meets a filter exactly
if it belongs to that row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np
from msgspec import Struct

from headwater.attribution.paths.cache import Key
from headwater.attribution.paths.lookup import NumberMap, distinct_values
from headwater.attribution.paths.path_data import BoolArray, Column, IntArray, PathData, join_numbers
from headwater.attribution.paths.scan_plan import Block, ScanPlan
from headwater.reports.engine.block_sums import Addition
from headwater.reports.engine.dimensions import (
    CONTACTS,
    NO_KEY,
    Customers,
    Dimension,
    EventKinds,
    Kind,
    Step,
    steps,
)
from headwater.reports.engine.groups import (
    CUSTOMERS,
    KINDS,
    ReportDimension,
    fetch_ad_names,
    find_key,
    load_dimension,
    step_keys,
)
from headwater.reports.engine.plan import NEVER, NO_MARK, FirstOrders, KeyFilter
from headwater.reports.engine.report_reader import ReportReader, run_in_thread
from headwater.reports.engine.time_buckets import counterpart, cut
from headwater.reports.query import STEPS, Comparison, DateTimeSpan, Group, ReportQuery

_SPARSE = 16
"""Dense contact ids have at least one order per this many."""
NEW, RETURNING = range(2)


@dataclass(frozen=True, eq=False)
class NewOrReturning:
    """New and returning customers: a paid event is a first order or a later one; a refund follows its
    customer's latest order. Other events have no key.
    """

    first_orders: FirstOrders
    kinds: EventKinds
    of_touch = False

    @property
    def columns(self) -> tuple[Column, ...]:
        customer_columns = self.first_orders.customers.columns
        return (
            *customer_columns,
            Column.AMOUNTS,
            Column.EVENT_IDS,
            Column.NAMES,
            Column.SECONDS,
            Column.KINDS,
        )

    def keys(self, paths: PathData) -> IntArray:
        is_first, kinds = self.first_orders.include(paths), self.kinds.keys(paths)
        has_revenue = (paths[Column.AMOUNTS] > 0) & (kinds != NO_KEY)
        keys = np.where(has_revenue, np.where(is_first, NEW, RETURNING), NO_KEY)
        refunds = np.flatnonzero(kinds == Kind.REFUND)
        if len(refunds):
            orders_until = self.first_orders.orders_until(paths.select(refunds))
            keys[refunds] = np.choose(orders_until, [NO_KEY, NEW, RETURNING])
        return keys


class OrderScope(Struct, frozen=True):
    event_names: frozenset[str]
    """Empty means all."""
    customers: Customers = CONTACTS

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*self.customers.columns, Column.NAMES, Column.AMOUNTS, Column.SECONDS)

    @property
    def timeless(self) -> OrderScope:
        return self

    def clip(self, _block: Block, /) -> Key:
        """Return an empty key: orders have no period."""
        return ()

    def orders(self, paths: PathData) -> IntArray:
        """Return customers, seconds and event ids."""
        is_order = paths[Column.AMOUNTS] > 0
        if self.event_names:
            is_order &= paths.have_names(self.event_names)
        columns = [self.customers.keys(paths), paths[Column.SECONDS], paths[Column.EVENT_IDS]]
        return np.stack([column[is_order].astype(np.int64) for column in columns])


def gather_orders(scopes: Sequence[OrderScope], paths: PathData) -> list[IntArray]:
    return [scope.orders(paths) for scope in scopes]


ORDERS = Addition[OrderScope, IntArray]("orders", gather_orders, nothing=np.empty((3, 0), dtype=np.int64))


def find_first_orders(orders: Sequence[IntArray], scan: ScanPlan, scope: OrderScope) -> FirstOrders:
    """Find each customer's earliest order, by the lowest id within a second."""
    contacts, seconds = (_join_column(orders, column) for column in (0, 1))
    numbers, places = _number_contacts(contacts)
    earliest = _find_least(places, seconds, len(numbers))
    is_earliest = earliest[places] == seconds
    has_order = earliest != NEVER
    second = _find_second_orders(places, seconds, is_earliest, earliest)
    order_seconds = NumberMap(numbers, earliest, NEVER), NumberMap(numbers, second, NEVER)
    if np.count_nonzero(is_earliest) == np.count_nonzero(has_order):
        marks = NumberMap(numbers[has_order], earliest[has_order], NO_MARK)
        return FirstOrders(marks, Column.SECONDS, scan, scope.customers, scope.event_names, order_seconds)
    ids = _find_least(places[is_earliest], _join_column(orders, 2)[is_earliest], len(numbers))
    marks = NumberMap(numbers[has_order], ids[has_order], NO_MARK)
    return FirstOrders(marks, Column.EVENT_IDS, scan, scope.customers, scope.event_names, order_seconds)


def _find_second_orders(
    places: IntArray, seconds: IntArray, at_first: BoolArray, earliest: IntArray
) -> IntArray:
    """Return each customer's second order time, which may equal the first."""
    later_indexes = np.flatnonzero(~at_first)
    second = _find_least(places[later_indexes], seconds[later_indexes], len(earliest))
    is_shared = np.bincount(places[at_first], minlength=len(earliest)) > 1
    return np.where(is_shared, earliest, second)


def _number_contacts(contacts: IntArray) -> tuple[IntArray, IntArray]:
    """Return ascending contacts, and the index of each order's contact. Dense ids, the usual case, give the
    full range without sorting.
    """
    least, greatest = (int(contacts.min()), int(contacts.max())) if len(contacts) else (0, -1)
    if greatest - least < _SPARSE * len(contacts):
        return np.arange(least, greatest + 1), contacts - least
    numbers = distinct_values(contacts)
    return numbers, np.searchsorted(numbers, contacts)


def _find_least(places: IntArray, values: IntArray, size: int) -> IntArray:
    """Return NEVER at an index without a value."""
    minimums = np.full(size, NEVER, dtype=np.int64)
    np.minimum.at(minimums, places, values)
    return minimums


def _join_column(orders: Sequence[IntArray], column: int) -> IntArray:
    return join_numbers(piece_orders[column] for piece_orders in orders)


FIELD = "only"


class GroupLoader:
    def __init__(self, reader: ReportReader, query: ReportQuery) -> None:
        self._reader, self._query = reader, query
        self._loaded: dict[Group, ReportDimension] = {}

    @property
    def kinds(self) -> EventKinds:
        """A query with event names has only those."""
        filters = self._query.filters
        return EventKinds(() if filters.event_names else self._reader.conversion_names(filters))

    async def load(self, group: Group) -> ReportDimension:
        if group not in self._loaded:
            self._loaded[group] = await self._load(group)
        return self._loaded[group]

    async def first_orders(self, customers: Customers = CONTACTS) -> FirstOrders:
        """Return every customer's first order up to the end of the range, which no compared range exceeds, or
        up to a later day: that of a customer who ordered in the range is the same.
        """
        last_day = self.last_day(self._query.span)
        names = self._reader.conversion_names(self._query.filters)
        scope = OrderScope(frozenset(names), customers)
        loaded = self._reader.first_orders
        if scope not in loaded or loaded[scope][0] < last_day:
            loaded[scope] = last_day, await self._load_first_orders(scope, last_day)
        return loaded[scope][1]

    def last_day(self, span: DateTimeSpan) -> date:
        """Return the last UTC day; a range of touches ends a window later."""
        bounds, days = self._reader.bounds(span), self._query.window_days
        if not self._query.of_touch_dates:
            return bounds.last_day
        if not days or bounds.last_day > date.max - timedelta(days=days):
            return date.max
        return bounds.last_day + timedelta(days=days)

    def days(self, span: DateTimeSpan, conditions: Collection[KeyFilter]) -> tuple[date, date]:
        """Return the UTC days of events that can meet the filters."""
        bounds = self._reader.bounds(span)
        first, last = bounds.first_day, self.last_day(span)
        for condition in conditions:
            if isinstance(condition.dimension, Step) and not condition.of_touch:
                seconds = condition.dimension.find_seconds(condition.keys, bounds.seconds)
                first = max(first, _get_day(seconds.start))
                last = min(last, _get_day(max(seconds.start, seconds.stop - 1)))
        return first, last

    async def filters(
        self, span: DateTimeSpan, compare: Comparison = Comparison.NONE
    ) -> tuple[KeyFilter, ...]:
        """Return the key filters of the range, or of a compared one. Raises Invalid for too many time
        buckets.
        """
        texts_by_group: dict[Group, set[str | None]] = {}
        for condition in self._query.filters.only:
            texts_by_group.setdefault(condition.group, set()).add(condition.key)
        return tuple(
            [
                KeyFilter(*self._steps(group, texts, span, compare))
                if group in STEPS
                else await self._filter(group, texts)
                for group, texts in texts_by_group.items()
            ]
        )

    async def _load(self, group: Group) -> ReportDimension:
        if group is Group.KIND:
            return ReportDimension(group, self.kinds, KINDS)
        if group is Group.CUSTOMER:
            customers = NewOrReturning(await self.first_orders(), self.kinds)
            return ReportDimension(group, customers, CUSTOMERS)
        return await load_dimension(self._reader.connection, self._reader.space, group, self._query)

    async def _load_first_orders(self, scope: OrderScope, last_day: date) -> FirstOrders:
        reader = self._reader
        paths = reader.path_reader(scope.columns)
        scan = await reader.plan_scan(paths, (date.min, last_day))

        async def load() -> FirstOrders:
            sums = reader.sums(paths, scan, [scope], ORDERS, signs=True)
            orders = [scope_orders async for (scope_orders,) in sums]
            return await run_in_thread(find_first_orders, orders, scan, scope)

        history = scan.history(last_day)
        key = None if history is None else ("first orders", scope, history)
        return await reader.load_cached(key, load)

    async def _filter(self, group: Group, texts: Collection[str | None]) -> KeyFilter:
        """Return a filter by keys. The id of an ad without touches selects touches with its name in the ad
        catalogue, because spend is reported by id.
        """
        loaded = await self.load(group)
        keys = {text: find_key(loaded.keys, text) for text in texts}
        unknown_ids = [text for text, key in keys.items() if text is not None and key is None]
        names = await fetch_ad_names(self._reader.connection, self._reader.space.id, group, unknown_ids)
        return KeyFilter(
            loaded.dimension, _sort_keys([*keys.values(), *map(loaded.keys.find, names.values())])
        )

    def _steps(
        self, group: Group, texts: Collection[str | None], span: DateTimeSpan, compare: Comparison
    ) -> tuple[Dimension, IntArray]:
        """Return the range's time buckets and the selected ones, or a compared range's counterparts."""
        query, zone = self._query, self._reader.space.zone
        main = cut(query.span, group, zone, FIELD)
        keys = step_keys(main)
        places = [keys.find(text) for text in texts if text is not None]
        if compare is Comparison.NONE:
            return steps(main, of_touch=query.of_touch_dates), _sort_keys(places)
        compared_buckets = cut(span, group, zone, FIELD)
        counterparts = [
            counterpart(index, compare, main, compared_buckets) for index in places if index is not None
        ]
        return steps(compared_buckets, of_touch=query.of_touch_dates), _sort_keys(counterparts)


def _sort_keys(numbers: Collection[int | None]) -> IntArray:
    return np.array(sorted(number for number in numbers if number is not None), dtype=np.int64)


def _get_day(second: int) -> date:
    return datetime.fromtimestamp(second, UTC).date()
