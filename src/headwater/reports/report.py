"""A report: the groups of a time, the unattributed events, and everything; and the same of the time
it is compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from psycopg import AsyncConnection

from headwater.reports.addition import add_up
from headwater.reports.groups import ReportDimension, fetch_labels
from headwater.reports.measures import Sums
from headwater.reports.models import (
    Comparison,
    DateBasis,
    DateTimeSpan,
    GroupKey,
    Report,
    ReportQuery,
    columns_of,
)
from headwater.reports.plan_loader import PeriodPlan, PlanLoader
from headwater.reports.report_reader import ReportReader, in_thread, open_reader
from headwater.reports.result import (
    PeriodSums,
    Ranking,
    counterparts,
    make_row,
    make_unattributed,
)
from headwater.reports.time_buckets import compared_span, named
from headwater.reports.validation import check


async def query_report(connection: AsyncConnection, space_id: int, query: ReportQuery) -> Report:
    """The report of a query. Needs a transaction in which nothing has been read yet, on a
    connection that it may have for CONNECTION_SECONDS.

    Raises Invalid when the query breaks a rule, NotFound without such a Space, and ReportTooLarge
    when it takes longer than SECONDS.
    """
    (report,) = await query_reports(connection, space_id, [query])
    return report


async def query_reports(
    connection: AsyncConnection, space_id: int, queries: Sequence[ReportQuery]
) -> list[Report]:
    """The reports of several queries, all of the same moment, so that what they have in common is
    equal. Needs the same, raises the same, and takes no longer than SECONDS for all together.
    """
    for query in queries:
        check(query)
    async with open_reader(connection, space_id) as reader:
        return [await _ReportBuilder(reader, query).build() for query in queries]


class _ReportBuilder:
    """Makes one report out of what the database has."""

    def __init__(self, reader: ReportReader, query: ReportQuery) -> None:
        self._reader, self._query = reader, query
        self._connection, self._space = reader.connection, reader.space
        self._loader = PlanLoader(reader, query)

    async def build(self) -> Report:
        """Return the report. Raises QueryCanceled or ReportTooLarge when it takes too long."""
        query = self._query
        await self._loader.load()
        planned = await self._loader.plan(DateTimeSpan(query.start, query.end))
        now = await self._add_up(planned)
        then = None
        if query.compare is not Comparison.NONE:
            other = compared_span(now.period.span, query.compare)
            then = await self._add_up(await self._loader.plan(other))
        dimensions = planned.dimensions
        places = await in_thread(Ranking(now, dimensions).first) if query.group_by else []
        labels = [
            await self._labels(now, dimension, at, places)
            for at, dimension in enumerate(dimensions)
        ]
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
            overall=None if query.date_basis is DateBasis.TOUCH else make_row(
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

    async def _add_up(self, planned: PeriodPlan) -> PeriodSums:
        work = partial(add_up, planned.plan)
        pieces = [piece async for piece in self._loader.pieces(planned, work)]
        return await in_thread(PeriodSums.join, self._query, planned.period, pieces)

    async def _labels(
        self, now: PeriodSums, dimension: ReportDimension, at: int, places: Sequence[int]
    ) -> dict[int, GroupKey]:
        """Return the keys of one group in words, for the groups that are listed."""
        keys = {now.keys(place)[at] for place in places}
        if at in now.period.steps:
            return {key: GroupKey(*named(key, now.period.steps[at])) for key in keys}
        labels = await fetch_labels(self._connection, self._space.id, dimension, list(keys))
        return {key: GroupKey(dimension.key_text(key), labels.get(key)) for key in keys}


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
