"""Plan reports and sum them up. Reports over the same days share one pass over the paths, which reads each
column once. Also finds the money left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from headwater.attribution.paths.lookup import distinct_values
from headwater.attribution.paths.path_data import (
    LEFT_OUT,
    NO_NUMBERS,
    Column,
    IntArray,
    PathData,
    join_numbers,
)
from headwater.attribution.paths.reader import PathReader
from headwater.attribution.trained_models.choice import ChosenModel, ModelChoice, fetch_chosen
from headwater.http.errors import Invalid
from headwater.reports.engine.addition import BatchSums, add_up
from headwater.reports.engine.block_sums import Addition
from headwater.reports.engine.chosen_events import ChosenEvents
from headwater.reports.engine.conversion import LeftOutMoney
from headwater.reports.engine.dimensions import steps
from headwater.reports.engine.group_loader import GroupLoader
from headwater.reports.engine.groups import ReportDimension, fetch_campaign_tag_sets, step_keys
from headwater.reports.engine.plan import EventConditions, KeyFilter, Plan, ReportScope
from headwater.reports.engine.report_reader import ReportReader
from headwater.reports.engine.time_buckets import ReportPeriod, TimeBuckets, compared_span, cut
from headwater.reports.engine.visits import fetch_visit_tag_sets
from headwater.reports.query import STEPS, Comparison, DateTimeSpan, Group, Measure, ReportQuery
from headwater.spaces.known_values import refuse_source


@dataclass(frozen=True)
class PeriodPlan:
    plan: Plan
    period: ReportPeriod
    dimensions: tuple[ReportDimension, ...]
    days: tuple[date, date]
    """UTC days of the events to read."""


def get_subject(query: ReportQuery) -> ReportQuery:
    """Omit fields that differ between reports of the same events and credit."""
    return replace(
        query,
        measures=(),
        group_by=(),
        compare=Comparison.NONE,
        order_by=None,
        descending=True,
        limit=0,
        complete_on=None,
        now=None,
        unit=None,
    )


class PlanLoader:
    def __init__(
        self, reader: ReportReader, queries: Sequence[ReportQuery], extra_filters: Sequence[KeyFilter] = ()
    ) -> None:
        """All queries must have one subject. `extra_filters` filters events further."""
        self._extra_filters = extra_filters
        self._reader, self._subject = reader, get_subject(queries[0])
        self._span = self._subject.span
        self._measures = frozenset(measure for query in queries for measure in query.measures)
        self._groups = GroupLoader(reader, self._subject)
        self._scopes: dict[tuple[DateTimeSpan, Comparison], ReportScope] = {}
        self._cached_steps: dict[tuple[DateTimeSpan, Group], ReportDimension] = {}
        self._selection: tuple[EventConditions, IntArray | None] | None = None

    async def plans(self, query: ReportQuery) -> list[PeriodPlan]:
        """Return the plans of the range and the compared one. Raises Invalid for too many time buckets, or a
        comparison before the calendar begins.
        """
        plans = [await self._plan(query, self._span, Comparison.NONE)]
        if query.compare is not Comparison.NONE:
            previous_span = compared_span(query)
            plans.append(await self._plan(query, previous_span, query.compare))
        return plans

    async def _plan(self, query: ReportQuery, span: DateTimeSpan, compare: Comparison) -> PeriodPlan:
        buckets = {
            index: cut(span, group, self._reader.space.zone)
            for index, group in enumerate(query.group_by)
            if group in STEPS
        }
        dimensions = tuple(
            [
                self._steps(span, buckets[index]) if index in buckets else await self._groups.load(group)
                for index, group in enumerate(query.group_by)
            ]
        )
        conditions = await self._groups.filters(span, compare)
        if (span, compare) not in self._scopes:
            self._scopes[span, compare] = await self._scope(span, conditions)
        plan = Plan(
            query, self._scopes[span, compare], tuple(dimension.dimension for dimension in dimensions)
        )
        return PeriodPlan(plan, ReportPeriod(span, buckets), dimensions, self._groups.days(span, conditions))

    async def _scope(self, span: DateTimeSpan, key_filters: Sequence[KeyFilter]) -> ReportScope:
        filters, seconds = self._subject.filters, self._reader.bounds(span).seconds
        event_seconds = None if self._subject.of_touch_dates else seconds
        conditions, tag_sets = await self._load_selection()
        return ReportScope(
            self._subject,
            seconds,
            conditions.with_keys([*key_filters, *self._extra_filters]).with_seconds(event_seconds),
            self._source_ids(filters.sources),
            tag_sets,
            tuple(condition for condition in key_filters if condition.of_touch),
            self._groups.kinds,
            await self._groups.first_orders() if Measure.NEW_CUSTOMERS in self._measures else None,
            self._reader.space.half_life_days if self._subject.goes_by_age else None,
            await self._load_trained_model(),
            await fetch_visit_tag_sets(self._reader.connection, self._reader.space.id)
            if Measure.CONVERSION_RATE in self._measures
            else None,
        )

    def _source_ids(self, names: Sequence[str]) -> frozenset[int]:
        """Raises Invalid for an unknown source."""
        sources = self._reader.space.sources
        for name in names:
            if name not in sources.numbers:
                raise Invalid.of("sources", refuse_source(name, sources.sources) or "")
        return frozenset(sources.numbers[name] for name in names)

    async def _load_trained_model(self) -> ChosenModel | None:
        """Raises Invalid if a needed model is missing."""
        subject = self._subject
        if not subject.needs_trained_model:
            return None
        await self._reader.bound_time()
        choice = ModelChoice(subject.trained_model, subject.filters.event_names)
        return await fetch_chosen(self._reader.connection, self._reader.space.id, choice)

    async def _load_selection(self) -> tuple[EventConditions, IntArray | None]:
        if self._selection is None:
            await self._reader.bound_time()
            filters, tag_sets = self._subject.filters, None
            conditions = await self._reader.load_conditions(filters)
            if filters.campaign is not None:
                tag_sets = await fetch_campaign_tag_sets(
                    self._reader.connection, self._reader.space.id, filters.campaign
                )
            self._selection = conditions, tag_sets
        return self._selection

    def _steps(self, span: DateTimeSpan, buckets: TimeBuckets) -> ReportDimension:
        group = buckets.group
        if (span, group) not in self._cached_steps:
            dimension = steps(buckets, of_touch=self._subject.of_touch_dates)
            dimensions_entry = ReportDimension(group, dimension, step_keys(buckets))
            self._cached_steps[span, group] = dimensions_entry
        return self._cached_steps[span, group]


PLAN_SUMS = Addition[Plan, BatchSums | None]("report", add_up, nothing=None)


async def add_up_plans(reader: ReportReader, plans: Sequence[PeriodPlan]) -> list[list[BatchSums]]:
    """Return each plan's sums by batch. Raises ReportTooLarge."""
    sums: list[list[BatchSums]] = [[] for _ in plans]
    for indexes in _passes(plans):
        pass_plans = [plans[index] for index in indexes]
        paths = path_reader(reader, [period_plan.plan for period_plan in pass_plans])
        scan = await reader.plan_scan(paths, _cover_days(pass_plans))
        subjects = [period_plan.plan for period_plan in pass_plans]
        async for batch in reader.sums(paths, scan, subjects, PLAN_SUMS):
            for index, plan_sums in zip(indexes, batch, strict=True):
                sums[index] += [] if plan_sums is None else [plan_sums]
    return sums


def path_reader(reader: ReportReader, plans: Sequence[Plan]) -> PathReader:
    columns = dict.fromkeys(column for plan in plans for column in plan.columns)
    return reader.path_reader(columns, by_company=plans[0].reads_company_paths)


# June, June by day and June compared with May share one pass; March has its own:
#
#     plan        March ─── April ─── May ─── June ───
#     channels                               ████████
#       compared                    ████████
#     days                                   ████████
#     countries   ████████
#     passes      1═══════          2═════════════════
def _passes(plans: Sequence[PeriodPlan]) -> list[list[int]]:
    """Return each pass's plan indexes: days overlap or meet, paths are all by contact or by company."""
    passes: list[list[int]] = []
    pass_end = None
    for index in sorted(range(len(plans)), key=lambda index: _sort_key(plans[index])):
        (first, last), kind = plans[index].days, plans[index].plan.reads_company_paths
        if pass_end is not None and kind == pass_end[0] and (first - pass_end[1]).days <= 1:
            passes[-1].append(index)
            pass_end = (kind, max(pass_end[1], last))
        else:
            passes.append([index])
            pass_end = (kind, last)
    return passes


def _cover_days(plans: Sequence[PeriodPlan]) -> tuple[date, date]:
    return min(period_plan.days[0] for period_plan in plans), max(
        period_plan.days[1] for period_plan in plans
    )


def _sort_key(planned: PeriodPlan) -> tuple[bool, int]:
    return planned.plan.reads_company_paths, planned.days[0].toordinal()


class LeftOutLoader:
    """Loads once per scope."""

    def __init__(self, reader: ReportReader) -> None:
        self._reader = reader
        self._loaded: dict[ReportScope, tuple[LeftOutMoney, ...]] = {}

    async def load(self, planned: PeriodPlan) -> tuple[LeftOutMoney, ...]:
        """Return the money left out of the events; in a period of touches, of events with a counted touch."""
        scope = planned.plan.scope
        if scope not in self._loaded:
            self._loaded[scope] = await load_left_out(self._reader, planned)
        return self._loaded[scope]


async def load_left_out(
    reader: ReportReader, planned: PeriodPlan, omitted_ids: frozenset[int] = frozenset()
) -> tuple[LeftOutMoney, ...]:
    """Call it after the sums are loaded."""
    if not reader.leaves_out_money:
        return ()
    plan = _without_groups(planned.plan)
    by_company = plan.query.of_touch_dates and plan.query.by_company
    paths = reader.path_reader(_columns(plan), by_company=by_company)
    scan = await reader.plan_scan(paths, planned.days)
    amounts = await reader.left_out_amounts(scan)
    ids = join_numbers([ids async for (ids,) in reader.sums(paths, scan, [plan], _LEFT_OUT_EVENTS)])
    if omitted_ids:
        ids = ids[~np.isin(ids, np.fromiter(omitted_ids, dtype=np.int64))]
    return tuple(amounts.sum_money(ids))


def find_left_out(plans: Sequence[Plan], paths: PathData) -> list[IntArray]:
    left_out_paths = _select_left_out(paths)
    return [_find_ids(plan, left_out_paths) if left_out_paths.events else NO_NUMBERS for plan in plans]


def _select_left_out(paths: PathData) -> PathData:
    amounts = paths[Column.AMOUNTS]
    return paths.select((amounts == LEFT_OUT) | (amounts == -LEFT_OUT))


def _find_ids(plan: Plan, paths: PathData) -> IntArray:
    paths = _select_left_out(plan.scope.kinds.without_other_amounts(paths))
    events = ChosenEvents.of(plan.scope, paths)
    ids = events.paths[Column.EVENT_IDS]
    if not plan.query.of_touch_dates:
        return ids.astype(np.int64)
    return ids[distinct_values(events.touched.pairs.events)].astype(np.int64)


def _without_groups(plan: Plan) -> Plan:
    return Plan(replace(plan.query, measures=(), group_by=()), plan.scope, ())


def _columns(plan: Plan) -> tuple[Column, ...]:
    columns = plan.columns if plan.query.of_touch_dates else plan.scope.conditions.columns
    return tuple(dict.fromkeys([Column.EVENT_IDS, Column.NAMES, *columns]))


_LEFT_OUT_EVENTS = Addition[Plan, IntArray]("left out", find_left_out, nothing=NO_NUMBERS)
