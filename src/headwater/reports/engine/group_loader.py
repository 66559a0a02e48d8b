"""The groups of a report made ready, each once, and the conditions on their keys: an event or touch
meets one exactly when it would be in the row with that key.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np

from headwater.attribution.paths.path_data import IntArray
from headwater.reports.engine.first_orders import OF_ORDERS, OfCustomer, OrderScope, first_of
from headwater.reports.engine.report_reader import ReportReader, in_thread
from headwater.reports.models import STEPS, Comparison, DateTimeSpan, Filters, Group
from headwater.reports.plan.customers import CONTACTS, Customers
from headwater.reports.plan.dimensions import Dimension, Step, steps
from headwater.reports.plan.group_keys import CUSTOMERS, KINDS, number_of, step_keys
from headwater.reports.plan.groups import ReportDimension, load_dimension
from headwater.reports.plan.kinds import KindOfEvent
from headwater.reports.plan.plan import FirstOrders
from headwater.reports.plan.selection import KeyFilter
from headwater.reports.plan.time_buckets import counterpart, cut

FIELD = "only"
"""The field that a condition on keys is named by."""


@dataclass(frozen=True)
class Subject:
    """The events and touches that a report's groups are of."""

    span: DateTimeSpan
    """The range asked for."""
    filters: Filters
    window_days: int
    of_touch_dates: bool = False
    """True when the range, and times as groups, are of touches."""


class GroupLoader:
    """Loads the groups of a report."""

    def __init__(self, reader: ReportReader, subject: Subject) -> None:
        self._reader, self._subject = reader, subject
        self._loaded: dict[Group, ReportDimension] = {}

    @property
    def kinds(self) -> KindOfEvent:
        """The kinds of the events: with names to choose from, all events have one of those."""
        filters = self._subject.filters
        return KindOfEvent(() if filters.event_names else self._reader.conversion_names(filters))

    async def load(self, group: Group) -> ReportDimension:
        """Return a group other than a step of the period."""
        if group not in self._loaded:
            self._loaded[group] = await self._load(group)
        return self._loaded[group]

    async def first_orders(self, customers: Customers = CONTACTS) -> FirstOrders:
        """Return the first order of every customer until the end of the range. A compared range is
        before it, and has the same.
        """
        last_day = self.last_day(self._subject.span)
        names = self._reader.conversion_names(self._subject.filters)
        scope = OrderScope(frozenset(names), customers)
        read = self._reader.first_orders
        if (scope, last_day) not in read:
            read[scope, last_day] = await self._load_first_orders(scope, last_day)
        return read[scope, last_day]

    def last_day(self, span: DateTimeSpan) -> date:
        """Return the last day, in UTC, of the events that a range is about. Where it is of touches,
        those are as long after it as the window is.
        """
        bounds, days = self._reader.bounds(span), self._subject.window_days
        if not self._subject.of_touch_dates:
            return bounds.last_day
        if not days or bounds.last_day > date.max - timedelta(days=days):
            return date.max
        return bounds.last_day + timedelta(days=days)

    def days(self, span: DateTimeSpan, only: Collection[KeyFilter]) -> tuple[date, date]:
        """Return the first and the last day, in UTC, on which there can be events of a range that
        meet conditions on keys.
        """
        bounds = self._reader.bounds(span)
        first, last = bounds.first_day, self.last_day(span)
        for each in only:
            if isinstance(each.dimension, Step) and not each.of_touch:
                seconds = each.dimension.seconds_of(each.keys, bounds.seconds)
                first = max(first, _day_of(seconds.start))
                last = min(last, _day_of(max(seconds.start, seconds.stop - 1)))
        return first, last

    async def filters(
        self, span: DateTimeSpan, compare: Comparison = Comparison.NONE
    ) -> tuple[KeyFilter, ...]:
        """Return the conditions on keys, for the range, or for one that it is compared with in some
        way. Raises Invalid for a range with too many days, weeks or months.
        """
        wanted: dict[Group, set[str | None]] = {}
        for condition in self._subject.filters.only:
            wanted.setdefault(condition.group, set()).add(condition.key)
        return tuple(
            [
                KeyFilter(*self._steps(group, texts, span, compare))
                if group in STEPS
                else await self._filter(group, texts)
                for group, texts in wanted.items()
            ]
        )

    async def _load(self, group: Group) -> ReportDimension:
        if group is Group.KIND:
            return ReportDimension(group, self.kinds, KINDS)
        if group is Group.CUSTOMER:
            customers = OfCustomer(await self.first_orders(), self.kinds)
            return ReportDimension(group, customers, CUSTOMERS)
        return await load_dimension(
            self._reader.connection,
            self._reader.space,
            group,
            of_touch_dates=self._subject.of_touch_dates,
            window_days=self._subject.window_days,
        )

    async def _load_first_orders(self, scope: OrderScope, last_day: date) -> FirstOrders:
        reader = self._reader
        paths = reader.path_reader(scope.columns)
        survey = await reader.survey(paths, (date.min, last_day))

        async def load() -> FirstOrders:
            sums = reader.sums(paths, survey, [scope], OF_ORDERS, signs=True)
            orders = [of async for (of,) in sums]
            return await in_thread(first_of, orders, survey, scope.customers)

        return await reader.remembered((scope, survey.history(last_day)), load)

    async def _filter(self, group: Group, texts: Collection[str | None]) -> KeyFilter:
        loaded = await self.load(group)
        numbers = [number_of(loaded.keys, text) for text in texts]
        return KeyFilter(loaded.dimension, _ascending(numbers))

    def _steps(
        self, group: Group, texts: Collection[str | None], span: DateTimeSpan, compare: Comparison
    ) -> tuple[Dimension, IntArray]:
        """Return steps of a range, and those that have a key; of a compared range, the ones that
        rows with such a key are compared with.
        """
        subject, zone = self._subject, self._reader.space.zone
        main = cut(subject.span, group, zone, FIELD)
        keys = step_keys(main)
        places = [keys.find(text) for text in texts if text is not None]
        if compare is Comparison.NONE:
            return steps(main, of_touch=subject.of_touch_dates), _ascending(places)
        others = cut(span, group, zone, FIELD)
        theirs = [counterpart(place, compare, main, others) for place in places if place is not None]
        return steps(others, of_touch=subject.of_touch_dates), _ascending(theirs)


def _ascending(numbers: Collection[int | None]) -> IntArray:
    return np.array(sorted(number for number in numbers if number is not None), dtype=np.int64)


def _day_of(second: int) -> date:
    return datetime.fromtimestamp(second, UTC).date()
