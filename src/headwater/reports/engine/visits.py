"""Count visits by their own sources, in sums that join the sums of a report's events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from psycopg import AsyncConnection

from headwater.attribution.paths.lookup import are_among
from headwater.attribution.paths.path_data import BoolArray, Column, IntArray, PathData
from headwater.database.queries import Queries, fetch_all, fetch_one
from headwater.reports.engine.addition import BatchSums
from headwater.reports.engine.chosen_events import COUNTS, LEFT_OUT_STATUS
from headwater.reports.engine.dimensions import NO_KEY, ClockPart, Dimension, Step
from headwater.reports.engine.group_sums import NO_PAIRS, GroupSums, make_grouping
from headwater.reports.engine.measures import VISITS, credit_sum
from headwater.reports.engine.plan import Plan
from headwater.reports.query import OF_VISITS, Measure

queries = Queries(__name__, "visits.sql")

_QUARTER = 900


class _Counting(Struct, frozen=True):
    """The groups and time buckets of a count of visits."""

    by_source: bool
    by_tag_set: bool
    by_quarter: bool
    bounds: tuple[int, ...]
    """The starts of time buckets and the end of the last, in Unix seconds."""


VisitRow = tuple[int, int | None, int, int]
"""The time that visits count as, in Unix seconds, their source and tag set, and their number."""


async def fetch_visit_tag_sets(connection: AsyncConnection, space_id: int) -> IntArray:
    """Return, ascending, the tag sets of touchpoints made by page views."""
    (ids,) = await fetch_one(connection, queries["visit_tag_sets"], {"space_id": space_id})
    return np.array(ids, dtype=np.int64)


async def fetch_visit_facts(
    connection: AsyncConnection, space_id: int, seconds: range
) -> tuple[int, datetime | None]:
    """Return the page views by bots in the quarters of an hour that begin in a period, and the time before
    which visits were deleted.
    """
    values = {"space_id": space_id, "start": _instant(seconds.start), "end": _instant(seconds.stop)}
    views, deleted_before = await fetch_one(connection, queries["visit_facts"], values)
    return views, deleted_before


class VisitLoader:
    """Loads each count once: several reports, such as opened rows, use the same."""

    def __init__(self, connection: AsyncConnection, space_id: int) -> None:
        self._connection, self._space_id = connection, space_id
        self._loaded: dict[_Counting, list[VisitRow]] = {}

    async def load(self, plan: Plan) -> list[BatchSums]:
        """Count the period's visits; none if the plan does not measure them."""
        if not plan.needs(*OF_VISITS):
            return []
        counting = _choose_counting(plan)
        if counting not in self._loaded:
            self._loaded[counting] = await self._fetch(counting)
        return [add_up_visits(plan, self._loaded[counting])]

    async def _fetch(self, counting: _Counting) -> list[VisitRow]:
        whole_quarters, partial_quarters = split_quarters(
            counting.bounds, uses_counts=not counting.by_tag_set
        )
        values = {
            "space_id": self._space_id,
            "by_source": counting.by_source,
            "by_tag_set": counting.by_tag_set,
            "by_quarter": counting.by_quarter,
        }
        rows: list[VisitRow] = []
        for name, parts in (("counted_visits", whole_quarters), ("visits", partial_quarters)):
            if parts:
                rows += await fetch_all(self._connection, queries[name], values | _bind_parts(parts))
        return rows


def _choose_counting(plan: Plan) -> _Counting:
    dimensions = _list_dimensions(plan)
    columns = {column for dimension in dimensions for column in dimension.columns}
    return _Counting(
        by_source=bool(plan.scope.source_ids) or Column.SOURCES in columns,
        by_tag_set=plan.scope.tag_sets is not None or Column.TAG_SETS in columns,
        by_quarter=any(isinstance(dimension, ClockPart) for dimension in dimensions),
        bounds=(*_list_instants(dimensions, plan.scope.period), plan.scope.period.stop),
    )


Part = tuple[int, int, int]
"""The start and the end of a part of a time bucket, and the start of the bucket."""


def split_quarters(bounds: Sequence[int], *, uses_counts: bool) -> tuple[list[Part], list[Part]]:
    """Split the buckets between these bounds into whole quarters of an hour, which are counted already if
    the report needs only their sources, and the rest.

        bounds      9:40                   10:10
        whole            9:45        10:00
        rest        9:40 9:45        10:00 10:10
    """
    whole_quarters: list[Part] = []
    partial_quarters: list[Part] = []
    for start, end in pairwise(bounds):
        first, last = -(-start // _QUARTER) * _QUARTER, end // _QUARTER * _QUARTER
        if not uses_counts or first >= last:
            partial_quarters.append((start, end, start))
            continue
        whole_quarters.append((first, last, start))
        partial_quarters += [
            part for part in ((start, first, start), (last, end, start)) if part[0] < part[1]
        ]
    return whole_quarters, partial_quarters


def _bind_parts(parts: Sequence[Part]) -> dict[str, Any]:
    starts, ends, buckets = (list(column) for column in zip(*parts, strict=True))
    return {"starts": starts, "ends": ends, "buckets": buckets}


def add_up_visits(plan: Plan, rows: Sequence[VisitRow]) -> BatchSums:
    seconds, sources, tag_sets, counts = (
        np.array(
            [(second, source or NO_KEY, tag_set, count) for second, source, tag_set, count in rows],
            dtype=np.int64,
        )
        .reshape(-1, 4)
        .T
    )
    columns = {
        Column.SECONDS: seconds,
        Column.TOUCH_SECONDS: seconds,
        Column.SOURCES: sources,
        Column.TAG_SETS: tag_sets,
    }
    visits = PathData(columns, (), len(rows), len(rows))
    is_in_period = np.ones(len(rows), dtype=np.bool_)
    for condition in plan.scope.conditions.keys:
        is_in_period &= condition.matches(visits)
    is_counted = is_in_period & _have_counted_touches(plan, visits)
    statuses = {VISITS: np.array([counts[is_counted].sum(), counts[is_in_period & ~is_counted].sum()])}
    by_status = GroupSums((np.array([COUNTS, LEFT_OUT_STATUS]),), 2, statuses, NO_PAIRS)
    return BatchSums(
        _group(plan, visits, counts, np.flatnonzero(is_counted)),
        dict.fromkeys(plan.query.models, by_status),
        {},
    )


def _group(plan: Plan, visits: PathData, counts: IntArray, indexes: IntArray) -> GroupSums:
    keys = {position: dimension.keys(visits)[indexes] for position, dimension in enumerate(plan.dimensions)}
    grouping = make_grouping(keys, len(indexes))
    sums = grouping.sums({VISITS: counts[indexes]})
    if plan.needs(Measure.CONVERSION_RATE):
        zeros = np.zeros(grouping.size, dtype=np.int64)
        sums |= {credit_sum(Measure.CONVERSION_RATE, model): zeros for model in plan.query.models}
    return grouping.to_group_sums(sums)


def _have_counted_touches(plan: Plan, visits: PathData) -> BoolArray:
    """Apply the filters on touches to the visits' own sources."""
    scope, sources = plan.scope, visits[Column.SOURCES]
    mask = np.ones(visits.touches, dtype=np.bool_)
    if scope.source_ids:
        mask &= np.isin(sources, list(scope.source_ids))
    if scope.tag_sets is not None:
        mask &= are_among(scope.tag_sets, visits[Column.TAG_SETS])
    for touch_key in scope.touch_keys:
        mask &= touch_key.matches(visits)
    return mask


def _list_dimensions(plan: Plan) -> list[Dimension]:
    filters = (*plan.scope.conditions.keys, *plan.scope.touch_keys)
    return [*plan.dimensions, *(condition.dimension for condition in filters)]


# Instants that divide the period wherever a key changes: the starts of its days, weeks or months. For
# weekdays and hours the statements count by quarter, because the hours of a time zone begin with one:
#
#     period from 9:40      9:40 │ 9:45 │ 10:00 │ …
#     visits at            ▲     │      │ ▲   ▲ │
#     counted as at         9:40 │      │ 10:00 │
def _list_instants(dimensions: Sequence[Dimension], seconds: range) -> list[int]:
    instants = [np.array([seconds.start])]
    instants += [dimension.starts for dimension in dimensions if isinstance(dimension, Step)]
    unique_instants = np.unique(np.concatenate(instants))
    return unique_instants[(unique_instants >= seconds.start) & (unique_instants < seconds.stop)].tolist()


def _instant(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC)
