"""The plans of a report, for the range asked for and the one it is compared with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import date
from typing import TypeVar

from headwater.paths.path_data import IntArray, PathData
from headwater.paths.reader import PathReader
from headwater.reports.dimensions import steps
from headwater.reports.group_keys import step_keys
from headwater.reports.group_loader import GroupLoader, Subject
from headwater.reports.groups import ReportDimension, fetch_tag_sets_of_campaign
from headwater.reports.models import STEPS, DateBasis, DateTimeSpan, Group, Measure, ReportQuery
from headwater.reports.plan import FirstOrders, Plan
from headwater.reports.report_reader import ReportReader
from headwater.reports.result import ReportPeriod
from headwater.reports.selection import EventConditions
from headwater.reports.time_buckets import TimeBuckets, cut
from headwater.sources.catalogue import SOURCE_IDS

T = TypeVar("T")


@dataclass(frozen=True)
class PeriodPlan:
    """A report over one period, made ready."""

    plan: Plan
    period: ReportPeriod
    dimensions: tuple[ReportDimension, ...]
    """The groups in their order, steps as the period is cut."""
    days: tuple[date, date]
    """The first and the last day, in UTC, of the events to read."""


class PlanLoader:
    """Loads what a report needs of the database besides paths."""

    def __init__(self, reader: ReportReader, query: ReportQuery) -> None:
        self._reader, self._query = reader, query
        self._of_touch_dates = query.date_basis is DateBasis.TOUCH
        span = DateTimeSpan(query.start, query.end)
        self._groups = GroupLoader(
            reader, Subject(span, query.filters, self._of_touch_dates, query.compare)
        )
        self._conditions = EventConditions(query.filters)
        self._tag_sets: IntArray | None = None
        self._first_orders: FirstOrders | None = None
        """Only for counting new customers."""

    async def load(self) -> None:
        """Load what both periods need."""
        await self._reader.bound_time()
        filters = self._query.filters
        self._conditions = await self._reader.load_conditions(filters)
        if filters.campaign is not None:
            self._tag_sets = await fetch_tag_sets_of_campaign(
                self._reader.connection, self._reader.space.id, filters.campaign
            )
        if Measure.NEW_CUSTOMERS in self._query.measures:
            self._first_orders = await self._groups.first_orders()

    async def plan(self, span: DateTimeSpan) -> PeriodPlan:
        """Return the report over a period made ready. Raises Invalid for too many steps."""
        query, bounds = self._query, self._reader.bounds(span)
        buckets = {
            place: cut(span, group, self._reader.space.zone)
            for place, group in enumerate(query.group_by)
            if group in STEPS
        }
        dimensions = tuple([
            await self._dimension(group, buckets.get(place))
            for place, group in enumerate(query.group_by)
        ])  # fmt: skip
        only = await self._groups.filters(span)
        conditions = self._conditions.with_keys(only).within(
            None if self._of_touch_dates else bounds.seconds
        )
        plan = Plan(
            query, bounds.seconds, conditions,
            tuple(dimension.dimension for dimension in dimensions),
            frozenset(SOURCE_IDS[name] for name in query.filters.sources), self._tag_sets,
            tuple(each for each in only if each.of_touch), self._first_orders,
        )  # fmt: skip
        days = self._groups.days(span, only)
        return PeriodPlan(plan, ReportPeriod(span, buckets), dimensions, days)

    def pieces(self, planned: PeriodPlan, work: Callable[[PathData], T]) -> AsyncIterator[T]:
        """Yield what the work on each piece of a period's paths comes to, in any order."""
        return self._reader.pieces(self.paths(planned.plan), planned.days, work)

    def paths(self, plan: Plan) -> PathReader:
        """Return the reader of the paths that a plan is about."""
        return PathReader(
            self._reader.connection, self._reader.space.id, plan.columns,
            by_company=self._query.by_company and plan.is_about_touches,
        )  # fmt: skip

    async def _dimension(self, group: Group, buckets: TimeBuckets | None) -> ReportDimension:
        if buckets is None:
            return await self._groups.load(group)
        dimension = steps(buckets, of_touch=self._of_touch_dates)
        return ReportDimension(group, dimension, step_keys(buckets))
