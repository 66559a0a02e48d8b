"""A report: the groups of a time, the unattributed events, and everything; and the same of the time
it is compared with. Paths are read piece by piece in one snapshot, and added up in threads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta

from psycopg import AsyncConnection
from psycopg.errors import QueryCanceled

from headwater.database.allowance import seconds_left
from headwater.database.queries import Queries, fetch_one
from headwater.http.timerange import between
from headwater.paths.path_data import Column, IntArray
from headwater.paths.reader import PathReader
from headwater.reports.addition import PieceSums, add_up
from headwater.reports.dimensions import steps
from headwater.reports.errors import ReportTooLarge
from headwater.reports.first_orders import first_of, orders_in
from headwater.reports.groups import (
    ReportDimension,
    fetch_contacts_meeting,
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
from headwater.reports.result import (
    PeriodSums,
    Ranking,
    ReportPeriod,
    counterparts,
    make_row,
    make_unattributed,
)
from headwater.reports.tally import Tally
from headwater.reports.time_buckets import compared_span, cut, named
from headwater.reports.validation import check
from headwater.sources.catalogue import SOURCE_IDS
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space

queries = Queries(__name__, "reports.sql")

SECONDS = 19.0
"""The longest time of a report, with the time its request has spent on the database before."""
CONNECTION_SECONDS = SECONDS + 0.5
"""The time for which a caller should have its connection."""
_PATIENCE_STEP = 0.2
"""The seconds by which a statement may take longer than the report still may."""
_AT_ONCE = 3
"""Pieces of the paths that are in memory at once: in work, and read ahead."""
_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="reports")


async def query_report(connection: AsyncConnection, space_id: int, query: ReportQuery) -> Report:
    """The report of a query. Needs a transaction in which nothing has been read yet, on a
    connection that it may have for CONNECTION_SECONDS.

    Raises Invalid when the query breaks a rule, NotFound without such a Space, and ReportTooLarge
    when it takes longer than SECONDS.
    """
    check(query)
    await connection.execute(queries["snapshot"])
    space = await fetch_space(connection, space_id)
    builder = _ReportBuilder(connection, space, query, time.monotonic() + seconds_left(SECONDS))
    try:
        return await builder.build()
    except QueryCanceled:
        raise ReportTooLarge from None


class _ReportBuilder:
    """Makes one report out of what the database has, until a deadline."""

    def __init__(
        self, connection: AsyncConnection, space: Space, query: ReportQuery, deadline: float
    ) -> None:
        self._connection, self._space, self._query = connection, space, query
        self._deadline = deadline
        self._of_touch_dates = query.date_basis is DateBasis.TOUCH
        self._loaded: dict[int, ReportDimension] = {}
        """The groups other than steps of the period, by their place."""
        self._contacts: IntArray | None = None
        self._tag_sets: IntArray | None = None
        self._patience = float("inf")
        """The seconds that a statement may take."""

    async def build(self) -> Report:
        """Return the report. Raises QueryCanceled or ReportTooLarge when it takes too long."""
        query = self._query
        await self._load()
        now = await self._add_up(DateTimeSpan(query.start, query.end))
        then = None
        if query.compare is not Comparison.NONE:
            then = await self._add_up(compared_span(now.period.span, query.compare))
        dimensions = self._dimensions(now.period)
        places = Ranking(now, dimensions).first() if query.group_by else []
        labels = [await self._labels(now, at, places) for at in range(len(dimensions))]
        keys = {
            place: tuple(
                labels_of_group[key]
                for labels_of_group, key in zip(labels, now.keys(place), strict=True)
            )
            for place in places
        }
        compared = _compared(now, then, places)
        first, last = await self._bounds(now.period.span)
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
        await self._bound_time()
        query, space = self._query, self._space
        for place, group in enumerate(query.group_by):
            if group not in STEPS:
                self._loaded[place] = await load_dimension(
                    self._connection, space, group, of_touch_dates=self._of_touch_dates
                )
        filters = query.filters
        if filters.conditions:
            self._contacts = await fetch_contacts_meeting(
                self._connection, space.id, filters.conditions
            )
        if filters.campaign is not None:
            self._tag_sets = await fetch_tag_sets_of_campaign(
                self._connection, space.id, filters.campaign
            )

    async def _add_up(self, span: DateTimeSpan) -> PeriodSums:
        query, zone = self._query, self._space.zone
        buckets = {
            place: cut(span, group, zone)
            for place, group in enumerate(query.group_by)
            if group in STEPS
        }
        period = ReportPeriod(span, buckets)
        instants = between(span.start, span.end, zone)
        first_day = instants.start.astimezone(UTC).date()
        last_day = date.max if self._of_touch_dates else instants.end.astimezone(UTC).date()
        plan = Plan(
            query,
            int(instants.start.timestamp()), int(instants.end.timestamp()),
            tuple(dimension.dimension for dimension in self._dimensions(period)),
            frozenset(SOURCE_IDS[name] for name in query.filters.sources),
            self._tag_sets, self._contacts,
            await self._first_orders(last_day) if self._counts_new_customers else None,
        )  # fmt: skip
        pieces = await self._pieces(plan, first_day, last_day)
        return await asyncio.get_running_loop().run_in_executor(
            _threads, _joined, query, period, pieces
        )

    async def _pieces(self, plan: Plan, first_day: date, last_day: date) -> list[PieceSums]:
        reader = PathReader(
            self._connection, self._space.id, plan.columns,
            by_company=self._query.by_company and plan.is_about_touches,
        )  # fmt: skip
        loop = asyncio.get_running_loop()
        under_way: set[asyncio.Future[PieceSums]] = set()
        finished: set[asyncio.Future[PieceSums]] = set()
        async for paths in reader.read(first_day, last_day):
            await self._bound_time()
            under_way.add(loop.run_in_executor(_threads, add_up, plan, paths))
            if len(under_way) >= _AT_ONCE:
                done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                finished |= done
        return await asyncio.gather(*finished, *under_way)

    async def _first_orders(self, last_day: date) -> FirstOrders:
        """Return the first order of every contact, of all time."""
        columns = (Column.CONTACTS, Column.NAMES, Column.AMOUNTS, Column.SECONDS)
        reader = PathReader(self._connection, self._space.id, columns)
        names = self._query.filters.event_names
        orders = [orders_in(paths, names) async for paths in reader.read(date.min, last_day)]
        return await asyncio.get_running_loop().run_in_executor(_threads, first_of, orders)

    @property
    def _counts_new_customers(self) -> bool:
        return Measure.NEW_CUSTOMERS in self._query.measures

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

    async def _bounds(self, span: DateTimeSpan) -> tuple[datetime | None, datetime | None]:
        """Return the times of the first and the last event, where a period reaches past them."""
        values = {"space_id": self._space.id}
        bounds = await fetch_one(self._connection, queries["bounds"], values)
        if bounds[0] is None:
            return None, None
        first, last = (moment.replace(microsecond=0) for moment in bounds)
        zone = self._space.zone
        instants = between(span.start, span.end, zone)
        return (
            first.astimezone(zone).replace(tzinfo=None) if instants.start < first else None,
            last.astimezone(zone).replace(tzinfo=None)
            if last < instants.end - timedelta(seconds=1) else None,
        )  # fmt: skip

    async def _bound_time(self) -> None:
        """Let the statements from now on take as long as the report still may."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise ReportTooLarge
        if left < self._patience - _PATIENCE_STEP:
            self._patience = left
            await self._connection.execute(
                queries["patience"], {"patience": str(round(1_000 * left))}
            )


def _joined(query: ReportQuery, period: ReportPeriod, pieces: Sequence[PieceSums]) -> PeriodSums:
    names: dict[str, int] = {}
    for piece in pieces:
        for name, count in piece.names.items():
            names[name] = names.get(name, 0) + count
    statuses = {
        model: Tally.join([piece.statuses[model] for piece in pieces]) for model in query.models
    }
    return PeriodSums(
        query, period, Tally.join([piece.groups for piece in pieces]), statuses, names
    )


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
