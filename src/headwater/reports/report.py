"""A report: the groups of a time, what is credited to none, and everything; and the same of the
time it is compared with. One statement a time, both of one snapshot.
"""

from __future__ import annotations

import time
from typing import Any

from psycopg import AsyncConnection
from psycopg.errors import QueryCanceled
from psycopg.sql import SQL, Composable

from headwater.attribution.query import Attribution, EventCondition, narrow
from headwater.database.allowance import seconds_left
from headwater.database.json_rows import rows
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
"""How long a report may take, with what its request spent on the database before."""
CONNECTION_SECONDS = SECONDS + 0.5
"""For how long a caller should have its connection."""


async def query_report(connection: AsyncConnection, space_id: int, asked: ReportQuery) -> Report:
    """The report asked for. Wants a transaction in which nothing has been read yet, on a
    connection that it may have for CONNECTION_SECONDS.

    Raises Invalid when the query breaks a rule, NotFound without such a Space, and TooMuch when
    adding up takes longer than SECONDS.
    """
    check(asked)
    await connection.execute(queries["snapshot"])
    space = await fetch_space(connection, space_id)
    asker = _Asker(connection, space, asked, time.monotonic() + seconds_left(SECONDS))
    period = _period(DateTimeSpan(asked.start, asked.end), asked, space)
    answer = await asker.first(period)
    if asked.compare is Comparison.NONE:
        return make_report(asked, space, answer, None, ())
    other = _period(compared_span(period.span, asked.compare), asked, space)
    wanted = counterparts(asked.compare, answer, other)
    return make_report(asked, space, answer, await asker.same(other, wanted), wanted)


class _Asker:
    """Puts the statements of one report to the database, while there is time."""

    def __init__(
        self, connection: AsyncConnection, space: Space, asked: ReportQuery, deadline: float
    ) -> None:
        self._connection, self._space, self._asked = connection, space, asked
        self._deadline = deadline
        self._shape = StatementShape(asked, _attribution(asked))

    async def first(self, period: ReportPeriod) -> PeriodResult:
        """The groups that come first in a period."""
        shown = first_groups(self._asked)
        return await self._ask(period, shown, {"limit": self._asked.limit})

    async def same(self, period: ReportPeriod, wanted: dict[int, Keys]) -> PeriodResult:
        """The groups of a period with these keys, by the places they are given for."""
        lines = [
            {"place": place, "key_1": key_1, "key_2": key_2}
            for place, (key_1, key_2) in wanted.items()
        ]
        return await self._ask(period, same_groups(), {"wanted": rows(lines)})

    async def _ask(
        self, period: ReportPeriod, shown: Composable, bound: dict[str, Any]
    ) -> PeriodResult:
        conditions, selected = conditions_of(self._selection(period))
        bound = bound | selected | self._tables(period)
        try:
            await self._bound_time()
            narrowed = await self._narrowing()
            if narrowed is not None:
                conditions.append(narrowed.only)
                bound |= narrowed.parameters
            statement = report(self._shape, SQL(" AND ").join(conditions), shown)
            # Not prepared: a plan for any range would be a bad one for most.
            cursor = await self._connection.execute(statement, bound, prepare=False)
        except QueryCanceled:
            raise ReportTooLarge from None
        return _answer(period, await cursor.fetchall())

    def _selection(self, period: ReportPeriod) -> EventSelection:
        filters, zone = self._asked.filters, self._space.zone
        instants = between(period.span.start, period.span.end, zone)
        return EventSelection(instants, filters.event_names, None, filters.conditions, ())

    def _tables(self, period: ReportPeriod) -> dict[str, Any]:
        attribution = self._shape.attribution
        return {
            "space_id": self._space.id, "source_names": list(SOURCES), "channels": CHANNELS,
            "campaign": self._asked.filters.campaign, "whole_event": WHOLE_EVENT,
            **(attribution.parameters() if attribution else {}),
            **{f"starts_{steps.group}": steps.starts for steps in period.steps if steps},
        }  # fmt: skip

    async def _bound_time(self) -> None:
        patience = max(1, round(1_000 * (self._deadline - time.monotonic())))
        await self._connection.execute(queries["patience"], {"patience": str(patience)})

    async def _narrowing(self) -> EventCondition | None:
        """Of events to those that can have the sources asked for. Without a filter on sources,
        events that have none are wanted as well.
        """
        attribution = self._shape.attribution
        if attribution is None or not self._asked.filters.sources:
            return None
        return await narrow(self._connection, self._space.id, attribution)


def _attribution(asked: ReportQuery) -> Attribution | None:
    """How credit is given, where any is needed."""
    if not needs_touches(asked):
        return None
    names = asked.filters.sources or SOURCES
    ids = tuple(SOURCE_IDS[name] for name in dict.fromkeys(names))
    return Attribution(asked.model, asked.window_days, ids, asked.by_company)


def _period(span: DateTimeSpan, asked: ReportQuery, space: Space) -> ReportPeriod:
    found = [
        cut(span, group, space.zone) if group in SHORTEST else None for group in asked.group_by
    ]
    first, second, *_ = (*found, None, None)
    return ReportPeriod(span, (first, second))


def _answer(period: ReportPeriod, found: list[tuple[Any, ...]]) -> PeriodResult:
    groups: dict[int, ReportGroup] = {}
    others: dict[str, tuple[int, MeasureSums]] = {}
    for part, place, key_1, label_1, key_2, label_2, *sums in found:
        if part == "group":
            groups[place] = ReportGroup((key_1, key_2), (label_1, label_2), sums_of(sums))
        else:
            others[part] = (place, sums_of(sums))
    count, total = others["total"]
    return PeriodResult(
        period, dict(sorted(groups.items())), count, others["unattributed"][1], total
    )
