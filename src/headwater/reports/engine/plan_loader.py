"""The plans of reports of one subject, for their range and those it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from headwater.attribution.fits.choice import ChosenFit, FitChoice, fetch_chosen
from headwater.attribution.paths.path_data import IntArray
from headwater.http.errors import Invalid
from headwater.reports.engine.group_loader import GroupLoader, Subject
from headwater.reports.engine.report_reader import ReportReader
from headwater.reports.engine.result import ReportPeriod
from headwater.reports.models import STEPS, Comparison, DateBasis, DateTimeSpan, Group, Measure, ReportQuery
from headwater.reports.plan.dimensions import steps
from headwater.reports.plan.group_keys import step_keys
from headwater.reports.plan.groups import ReportDimension, fetch_tag_sets_of_campaign
from headwater.reports.plan.plan import Plan, ReportScope
from headwater.reports.plan.selection import EventConditions, KeyFilter
from headwater.reports.plan.time_buckets import TimeBuckets, compared_span, cut
from headwater.spaces.known_values import refuse_source


@dataclass(frozen=True)
class PeriodPlan:
    """A report over one period, made ready."""

    plan: Plan
    period: ReportPeriod
    dimensions: tuple[ReportDimension, ...]
    """The groups in their order, steps as the period is cut."""
    days: tuple[date, date]
    """The first and the last day, in UTC, of the events to read."""


def subject_of(query: ReportQuery) -> ReportQuery:
    """Return what a report has in common with those that differ by groups and measures alone."""
    return replace(
        query,
        measures=(),
        group_by=(),
        compare=Comparison.NONE,
        order_by=None,
        descending=True,
        limit=0,
        ripe_on=None,
        now=None,
        unit=None,
    )


class PlanLoader:
    """Loads what the reports of one subject need of the database besides paths."""

    def __init__(
        self, reader: ReportReader, queries: Sequence[ReportQuery], also: Sequence[KeyFilter] = ()
    ) -> None:
        """The queries have one subject; events meet some more conditions than theirs."""
        self._also = also
        self._reader, self._subject = reader, subject_of(queries[0])
        self._span = DateTimeSpan(self._subject.start, self._subject.end)
        self._of_touch_dates = self._subject.date_basis is DateBasis.TOUCH
        self._measures = frozenset(measure for query in queries for measure in query.measures)
        self._groups = GroupLoader(
            reader,
            Subject(self._span, self._subject.filters, self._subject.window_days, self._of_touch_dates),
        )
        self._scopes: dict[tuple[DateTimeSpan, Comparison], ReportScope] = {}
        self._known_steps: dict[tuple[DateTimeSpan, Group], ReportDimension] = {}
        self._selection: tuple[EventConditions, IntArray | None] | None = None

    async def plans(self, query: ReportQuery) -> list[PeriodPlan]:
        """Return the report over its range made ready, and over the one that it is compared with.
        Raises Invalid for too many steps, and for a comparison that the calendar has not.
        """
        plans = [await self._plan(query, self._span, Comparison.NONE)]
        if query.compare is not Comparison.NONE:
            compared = compared_span(query)
            plans.append(await self._plan(query, compared, query.compare))
        return plans

    async def _plan(self, query: ReportQuery, span: DateTimeSpan, compare: Comparison) -> PeriodPlan:
        """Return the report over the range, or over one that it is compared with in some way."""
        buckets = {
            place: cut(span, group, self._reader.space.zone)
            for place, group in enumerate(query.group_by)
            if group in STEPS
        }
        dimensions = tuple(
            [
                self._steps(span, buckets[place]) if place in buckets else await self._groups.load(group)
                for place, group in enumerate(query.group_by)
            ]
        )
        only = await self._groups.filters(span, compare)
        if (span, compare) not in self._scopes:
            self._scopes[span, compare] = await self._scope(span, only)
        plan = Plan(
            query, self._scopes[span, compare], tuple(dimension.dimension for dimension in dimensions)
        )
        return PeriodPlan(plan, ReportPeriod(span, buckets), dimensions, self._groups.days(span, only))

    async def _scope(self, span: DateTimeSpan, only: Sequence[KeyFilter]) -> ReportScope:
        filters, seconds = self._subject.filters, self._reader.bounds(span).seconds
        of_events = None if self._of_touch_dates else seconds
        conditions, tag_sets = await self._selected()
        return ReportScope(
            self._subject,
            seconds,
            conditions.with_keys([*only, *self._also]).within(of_events),
            self._source_ids(filters.sources),
            tag_sets,
            tuple(each for each in only if each.of_touch),
            self._groups.kinds,
            await self._groups.first_orders() if Measure.NEW_CUSTOMERS in self._measures else None,
            self._reader.space.half_life_days if self._subject.goes_by_age else None,
            await self._load_fit(),
        )

    def _source_ids(self, names: Sequence[str]) -> frozenset[int]:
        """Return the numbers of sources. Raises Invalid for an unknown one."""
        sources = self._reader.space.sources
        for name in names:
            if name not in sources.numbers:
                raise Invalid.of("sources", refuse_source(name, sources.sources) or "")
        return frozenset(sources.numbers[name] for name in names)

    async def _load_fit(self) -> ChosenFit | None:
        """Return the fit that credit goes by, if it does. Raises Invalid where there is none."""
        subject = self._subject
        if not subject.goes_by_fit:
            return None
        await self._reader.bound_time()
        choice = FitChoice(subject.fit, subject.filters.event_names)
        return await fetch_chosen(self._reader.connection, self._reader.space.id, choice)

    async def _selected(self) -> tuple[EventConditions, IntArray | None]:
        """Return what the filters select in any range: events, and the tag sets of touches."""
        if self._selection is None:
            await self._reader.bound_time()
            filters, tag_sets = self._subject.filters, None
            conditions = await self._reader.load_conditions(filters)
            if filters.campaign is not None:
                tag_sets = await fetch_tag_sets_of_campaign(
                    self._reader.connection, self._reader.space.id, filters.campaign
                )
            self._selection = conditions, tag_sets
        return self._selection

    def _steps(self, span: DateTimeSpan, buckets: TimeBuckets) -> ReportDimension:
        """Return the days, weeks or months of a range, the same for all reports."""
        group = buckets.group
        if (span, group) not in self._known_steps:
            dimension = steps(buckets, of_touch=self._of_touch_dates)
            of_report = ReportDimension(group, dimension, step_keys(buckets))
            self._known_steps[span, group] = of_report
        return self._known_steps[span, group]
