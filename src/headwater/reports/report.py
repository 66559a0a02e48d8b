"""A report: the groups of a time, the unattributed events, and everything; and the same of the time
it is compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import partial

from psycopg import AsyncConnection

from headwater.paths.path_data import Column, IntArray
from headwater.paths.reader import PathReader
from headwater.reports.addition import PieceSums, add_up
from headwater.reports.dimensions import steps
from headwater.reports.first_orders import first_of, orders_in
from headwater.reports.groups import (
    ReportDimension,
    fetch_labels,
    fetch_tag_sets_of_campaign,
    load_dimension,
)
from headwater.reports.measures import Sums
from headwater.reports.models import (
    STEPS,
    Comparison,
    DateBasis,
    DateTimeSpan,
    GroupKey,
    Measure,
    Report,
    ReportQuery,
    columns_of,
)
from headwater.reports.plan import FirstOrders, Plan
from headwater.reports.report_reader import PeriodBounds, ReportReader, in_thread, open_reader
from headwater.reports.result import (
    PeriodSums,
    Ranking,
    ReportPeriod,
    counterparts,
    make_row,
    make_unattributed,
)
from headwater.reports.selection import EventConditions, join_counts
from headwater.reports.tally import Tally
from headwater.reports.time_buckets import compared_span, cut, named
from headwater.reports.validation import check
from headwater.sources.catalogue import SOURCE_IDS


async def query_report(connection: AsyncConnection, space_id: int, query: ReportQuery) -> Report:
    """The report of a query. Needs a transaction in which nothing has been read yet, on a
    connection that it may have for CONNECTION_SECONDS.

    Raises Invalid when the query breaks a rule, NotFound without such a Space, and ReportTooLarge
    when it takes longer than SECONDS.
    """
    check(query)
    async with open_reader(connection, space_id) as reader:
        return await _ReportBuilder(reader, query).build()


class _ReportBuilder:
    """Makes one report out of what the database has."""

    def __init__(self, reader: ReportReader, query: ReportQuery) -> None:
        self._reader, self._query = reader, query
        self._connection, self._space = reader.connection, reader.space
        self._of_touch_dates = query.date_basis is DateBasis.TOUCH
        self._loaded: dict[int, ReportDimension] = {}
        """The groups other than steps of the period, by their place."""
        self._conditions = EventConditions(query.filters)
        self._tag_sets: IntArray | None = None
        self._first_orders: FirstOrders | None = None
        """Only for counting new customers."""

    async def build(self) -> Report:
        """Return the report. Raises QueryCanceled or ReportTooLarge when it takes too long."""
        query = self._query
        await self._load()
        now = await self._add_up(DateTimeSpan(query.start, query.end))
        then = None
        if query.compare is not Comparison.NONE:
            then = await self._add_up(compared_span(now.period.span, query.compare))
        dimensions = self._dimensions(now.period)
        places = await in_thread(Ranking(now, dimensions).first) if query.group_by else []
        labels = [await self._labels(now, at, places) for at in range(len(dimensions))]
        keys = {
            place: tuple(
                labels_of_group[key]
                for labels_of_group, key in zip(labels, now.keys(place), strict=True)
            )
            for place in places
        }
        compared = _compared(now, then, places)
        first, last = self._reader.ends_within(now.period.span)
        return Report(
            columns=columns_of(query),
            rows=tuple(
                make_row(query, keys[place], now.at(place), now.whole, compared.get(place))
                for place in places
            ),
            left_out=max(0, now.groups.groups - len(places)) if query.group_by else 0,
            total=make_row(query, (), now.total, now.whole, then and (then.total, then.whole)),
            unattributed=make_unattributed(query, now, then),
            overall=None if self._of_touch_dates else make_row(
                query, (), now.overall, now.whole, then and (then.overall, then.whole)
            ),
            event_counts=now.names,
            first_event=first,
            last_event=last,
            span=now.period.span,
            compared_span=then and then.period.span,
            timezone=self._space.timezone,
            currency=self._space.currency,
        )  # fmt: skip

    async def _load(self) -> None:
        """Load what both periods need."""
        await self._reader.bound_time()
        query, space = self._query, self._space
        for place, group in enumerate(query.group_by):
            if group not in STEPS:
                self._loaded[place] = await load_dimension(
                    self._connection, space, group, of_touch_dates=self._of_touch_dates
                )
        filters = query.filters
        self._conditions = await self._reader.load_conditions(filters)
        if filters.campaign is not None:
            self._tag_sets = await fetch_tag_sets_of_campaign(
                self._connection, space.id, filters.campaign
            )
        if Measure.NEW_CUSTOMERS in query.measures:
            self._first_orders = await self._load_first_orders()

    async def _add_up(self, span: DateTimeSpan) -> PeriodSums:
        query, zone = self._query, self._space.zone
        buckets = {
            place: cut(span, group, zone)
            for place, group in enumerate(query.group_by)
            if group in STEPS
        }
        period = ReportPeriod(span, buckets)
        bounds = self._reader.bounds(span)
        plan = Plan(
            query, bounds.seconds,
            self._conditions.within(None if self._of_touch_dates else bounds.seconds),
            tuple(dimension.dimension for dimension in self._dimensions(period)),
            frozenset(SOURCE_IDS[name] for name in query.filters.sources),
            self._tag_sets, self._first_orders,
        )  # fmt: skip
        pieces = await self._pieces(plan, bounds.first_day, self._last_day(bounds))
        return await in_thread(_joined, query, period, pieces)

    async def _pieces(self, plan: Plan, first_day: date, last_day: date) -> list[PieceSums]:
        reader = PathReader(
            self._connection, self._space.id, plan.columns,
            by_company=self._query.by_company and plan.is_about_touches,
        )  # fmt: skip
        work = partial(add_up, plan)
        return [piece async for piece in self._reader.pieces(reader, (first_day, last_day), work)]

    async def _load_first_orders(self) -> FirstOrders:
        """Return the first order of every contact until the end of the period. A compared period is
        before it, and has the same.
        """
        columns = (Column.CONTACTS, Column.NAMES, Column.AMOUNTS, Column.SECONDS)
        reader = PathReader(self._connection, self._space.id, columns)
        bounds = self._reader.bounds(DateTimeSpan(self._query.start, self._query.end))
        days = (date.min, self._last_day(bounds))
        work = partial(orders_in, event_names=self._query.filters.event_names)
        orders = [piece async for piece in self._reader.pieces(reader, days, work)]
        return await in_thread(first_of, orders)

    def _last_day(self, bounds: PeriodBounds) -> date:
        """Return the last day, in UTC, of the events that a period is about."""
        return date.max if self._of_touch_dates else bounds.last_day

    def _dimensions(self, period: ReportPeriod) -> list[ReportDimension]:
        """Return the groups in their order, steps as the period is cut."""
        return [
            self._loaded[place] if place in self._loaded else ReportDimension(
                group, steps(period.steps[place], of_touch=self._of_touch_dates), str
            )
            for place, group in enumerate(self._query.group_by)
        ]  # fmt: skip

    async def _labels(self, now: PeriodSums, at: int, places: Sequence[int]) -> dict[int, GroupKey]:
        """Return the keys of one group in words, for the groups that are listed."""
        keys = {now.keys(place)[at] for place in places}
        if at in now.period.steps:
            return {key: GroupKey(*named(key, now.period.steps[at])) for key in keys}
        dimension = self._loaded[at]
        labels = await fetch_labels(self._connection, self._space.id, dimension, list(keys))
        return {key: GroupKey(dimension.key_text(key), labels.get(key)) for key in keys}


def _joined(query: ReportQuery, period: ReportPeriod, pieces: Sequence[PieceSums]) -> PeriodSums:
    statuses = {
        model: Tally.join([piece.statuses[model] for piece in pieces]) for model in query.models
    }
    groups = Tally.join([piece.groups for piece in pieces])
    names = join_counts(piece.names for piece in pieces)
    return PeriodSums(query, period, groups, statuses, names)


def _compared(
    now: PeriodSums, then: PeriodSums | None, places: Sequence[int]
) -> dict[int, tuple[Sums, Sums]]:
    """Return, for each listed group that is compared with one, the sums of that and what shares of
    them are of.
    """
    if then is None:
        return {}
    wanted = counterparts(now, then.period, places)
    sums = then.find(list(wanted.values()))
    return {place: (sums.get(keys, Sums({})), then.whole) for place, keys in wanted.items()}
