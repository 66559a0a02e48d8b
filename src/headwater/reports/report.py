"""A report: the groups of a time, the unattributed events, and everything; and the same of the time
it is compared with. One statement for each time, both in one snapshot.
"""

from __future__ import annotations

import time
from typing import Any

from psycopg import AsyncConnection
from psycopg.errors import QueryCanceled
from psycopg.sql import SQL, Composable

from headwater.attribution.query import Attribution, EventCondition, narrow
from headwater.database.allowance import seconds_left
from headwater.database.bulk_values import rows
from headwater.events.models import EventSelection
from headwater.events.queries import conditions_of
from headwater.http.timerange import between
from headwater.reports.dimensions import CHANNELS
from headwater.reports.errors import ReportTooLarge
from headwater.reports.measures import MeasureSums, sums_of
from headwater.reports.models import Comparison, DateTimeSpan, Report, ReportQuery
from headwater.reports.result import (
    Keys,
    PeriodResult,
    ReportGroup,
    ReportPeriod,
    counterparts,
    make_report,
)
from headwater.reports.statement import (
    WHOLE_EVENT,
    StatementShape,
    first_groups,
    needs_touches,
    queries,
    report,
    same_groups,
)
from headwater.reports.time_buckets import SHORTEST, compared_span, cut
from headwater.reports.validation import check
from headwater.sources.catalogue import SOURCE_IDS, SOURCES
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space

SECONDS = 19.0
"""The longest time of a report, with the time its request has spent on the database before."""
CONNECTION_SECONDS = SECONDS + 0.5
"""The time for which a caller should have its connection."""


async def query_report(connection: AsyncConnection, space_id: int, query: ReportQuery) -> Report:
    """The report of a query. Needs a transaction in which nothing has been read yet, on a
    connection that it may have for CONNECTION_SECONDS.

    Raises Invalid when the query breaks a rule, NotFound without such a Space, and ReportTooLarge
    when it takes longer than SECONDS.
    """
    check(query)
    await connection.execute(queries["snapshot"])
    space = await fetch_space(connection, space_id)
    reader = _PeriodReader(connection, space, query, time.monotonic() + seconds_left(SECONDS))
    period = _period(DateTimeSpan(query.start, query.end), query, space)
    answer = await reader.first(period)
    if query.compare is Comparison.NONE:
        return make_report(query, space, answer, None, ())
    other = _period(compared_span(period.span, query.compare), query, space)
    keys = counterparts(query.compare, answer, other)
    return make_report(query, space, answer, await reader.same(other, keys), keys)


class _PeriodReader:
    """The reader of one report's periods from the database, until a deadline."""

    def __init__(
        self, connection: AsyncConnection, space: Space, query: ReportQuery, deadline: float
    ) -> None:
        self._connection, self._space, self._query = connection, space, query
        self._deadline = deadline
        self._shape = StatementShape(query, _attribution(query))

    async def first(self, period: ReportPeriod) -> PeriodResult:
        """The groups that come first in a period."""
        groups = first_groups(self._query)
        return await self._read(period, groups, {"limit": self._query.limit})

    async def same(self, period: ReportPeriod, keys: dict[int, Keys]) -> PeriodResult:
        """The groups of a period with these keys, by the places of the keys."""
        lines = [
            {"place": place, "key_1": key_1, "key_2": key_2}
            for place, (key_1, key_2) in keys.items()
        ]
        return await self._read(period, same_groups(), {"wanted": rows(lines)})

    async def _read(
        self, period: ReportPeriod, groups: Composable, bound: dict[str, Any]
    ) -> PeriodResult:
        conditions, selected = conditions_of(self._selection(period))
        bound = bound | selected | self._tables(period)
        try:
            await self._bound_time()
            narrowed = await self._narrowing()
            if narrowed is not None:
                conditions.append(narrowed.only)
                bound |= narrowed.parameters
            statement = report(self._shape, SQL(" AND ").join(conditions), groups)
            # Not prepared: a plan for any range would be a bad one for most.
            cursor = await self._connection.execute(statement, bound, prepare=False)
        except QueryCanceled:
            raise ReportTooLarge from None
        return _answer(period, await cursor.fetchall())

    def _selection(self, period: ReportPeriod) -> EventSelection:
        filters, zone = self._query.filters, self._space.zone
        instants = between(period.span.start, period.span.end, zone)
        return EventSelection(instants, filters.event_names, None, filters.conditions, ())

    def _tables(self, period: ReportPeriod) -> dict[str, Any]:
        attribution = self._shape.attribution
        return {
            "space_id": self._space.id, "source_names": list(SOURCES), "channels": CHANNELS,
            "campaign": self._query.filters.campaign, "whole_event": WHOLE_EVENT,
            **(attribution.parameters() if attribution else {}),
            **{f"starts_{steps.group}": steps.starts for steps in period.steps if steps},
        }  # fmt: skip

    async def _bound_time(self) -> None:
        patience = max(1, round(1_000 * (self._deadline - time.monotonic())))
        await self._connection.execute(queries["patience"], {"patience": str(patience)})

    async def _narrowing(self) -> EventCondition | None:
        """The condition on events that can have the query's sources. Without a filter on sources
        there is none, as events without a source count as well.
        """
        attribution = self._shape.attribution
        if attribution is None or not self._query.filters.sources:
            return None
        return await narrow(self._connection, self._space.id, attribution)


def _attribution(query: ReportQuery) -> Attribution | None:
    """The attribution by which credit is shared out; None for a query without credit."""
    if not needs_touches(query):
        return None
    names = query.filters.sources or SOURCES
    ids = tuple(SOURCE_IDS[name] for name in dict.fromkeys(names))
    return Attribution(query.model, query.window_days, ids, query.by_company)


def _period(span: DateTimeSpan, query: ReportQuery, space: Space) -> ReportPeriod:
    steps = [
        cut(span, group, space.zone) if group in SHORTEST else None for group in query.group_by
    ]
    first, second, *_ = (*steps, None, None)
    return ReportPeriod(span, (first, second))


def _answer(period: ReportPeriod, records: list[tuple[Any, ...]]) -> PeriodResult:
    groups: dict[int, ReportGroup] = {}
    others: dict[str, tuple[int, MeasureSums]] = {}
    for part, place, key_1, label_1, key_2, label_2, *sums in records:
        if part == "group":
            groups[place] = ReportGroup((key_1, key_2), (label_1, label_2), sums_of(sums))
        else:
            others[part] = (place, sums_of(sums))
    count, total = others["total"]
    return PeriodResult(
        period, dict(sorted(groups.items())), count, others["unattributed"][1], total
    )
