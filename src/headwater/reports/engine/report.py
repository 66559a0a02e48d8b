"""Build reports: grouped rows, unattributed events and totals, each with its comparison period."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction

from psycopg import AsyncConnection

from headwater.attribution.trained_models.choice import ChosenModel
from headwater.base.allocator import give_freed_memory_back
from headwater.reports.engine.addition import BatchSums
from headwater.reports.engine.chosen_events import NoCredit
from headwater.reports.engine.completeness import Completeness, load_completeness
from headwater.reports.engine.conversion import LeftOutMoney
from headwater.reports.engine.groups import ReportDimension, fetch_labels
from headwater.reports.engine.measures import (
    Figure,
    Figures,
    MeasureChange,
    Sums,
    changes_between,
    compute_figures,
)
from headwater.reports.engine.passes import LeftOutLoader, PeriodPlan, PlanLoader, add_up_plans, get_subject
from headwater.reports.engine.report_reader import ReportReader, open_reader, run_in_thread
from headwater.reports.engine.result import Keys, PeriodSums, Ranking, counterparts
from headwater.reports.engine.snapshots import Present, fetch_present, make_snapshot
from headwater.reports.engine.time_buckets import ReportPeriod, name_bucket
from headwater.reports.engine.visits import VisitLoader, fetch_visit_facts
from headwater.reports.query import (
    OF_VISITS,
    DateTimeSpan,
    FigureColumn,
    Measure,
    ReportQuery,
    check,
    list_columns,
)


@dataclass(frozen=True)
class GroupKey:
    value: str | None
    """An id, a name, or the first day of a bucket. None if missing."""
    label: str | None


@dataclass(frozen=True)
class ReportRow:
    keys: tuple[GroupKey, ...]
    """One per `group_by`; empty for total rows."""
    figures: Figures
    compared: Figures | None = None
    """None without a comparison or counterpart."""
    changes: Mapping[FigureColumn, MeasureChange] | None = None


@dataclass(frozen=True)
class Unattributed:
    """Events without a credited touch. Several models have only figures that depend on the model."""

    row: ReportRow
    reasons: Mapping[NoCredit, ReportRow]


@dataclass(frozen=True)
class ReportResult:
    columns: tuple[FigureColumn, ...]
    rows: tuple[ReportRow, ...]
    left_out: int
    """Groups beyond the limit."""
    total: ReportRow
    """Everything that counts, each event once."""
    unattributed: Unattributed | None
    """None if the query needs no credit, selects touches, or has a period of touches. Otherwise its credit
    and that in `total` add up to `overall`.
    """
    overall: ReportRow | None
    """Every event of the period; None for a period of touches."""
    event_counts: Mapping[str, int]
    """By event name."""
    conversion_names: tuple[str, ...]
    """Events that convert and bring revenue."""
    first_event: datetime | None
    last_event: datetime | None
    """Local; only if the ranges reach past them."""
    began: bool
    """False if the range ends before the Space's first event."""
    span: DateTimeSpan
    compared_span: DateTimeSpan | None
    is_comparable: bool
    """False if the compared range ends before the Space's first event."""
    timezone: str
    currency: str
    snapshot: str
    completeness: Completeness | None = None
    """For the first measure's total, if requested."""
    trained_model: ChosenModel | None = None
    left_out_money: tuple[LeftOutMoney, ...] = ()
    compared_left_out_money: tuple[LeftOutMoney, ...] | None = None
    visits: CountedVisits | None = None
    """Only if visits are measured."""


@dataclass(frozen=True)
class CountedVisits:
    bot_views: int
    """Page views by bots, which belong to no visit."""
    unvisited_share: Fraction | None
    """The share of conversions, by the first model, whose credited touch has no visit. None without
    conversions or conversion rate.
    """
    deleted_before: datetime | None
    """On the Space's clock; None if all visits of the period and of the compared one are kept."""


def make_row(
    query: ReportQuery,
    keys: tuple[GroupKey, ...],
    current: Sums,
    total: Sums,
    previous: tuple[Sums, Sums] | None,
) -> ReportRow:
    """`previous` has the compared sums and those that shares are relative to."""
    figures = compute_figures(query, current, total)
    if previous is None:
        return ReportRow(keys, figures)
    previous_figures = compute_figures(query, *previous)
    return ReportRow(keys, figures, previous_figures, changes_between(figures, previous_figures))


def make_unattributed(
    query: ReportQuery, current: PeriodSums, previous: PeriodSums | None
) -> Unattributed | None:
    if not query.is_about_touches or query.of_some_touches:
        return None
    return Unattributed(
        _unattributed_row(query, current, previous, tuple(NoCredit)),
        {reason: _unattributed_row(query, current, previous, (reason,)) for reason in NoCredit},
    )


def _unattributed_row(
    query: ReportQuery, current: PeriodSums, previous: PeriodSums | None, reasons: tuple[NoCredit, ...]
) -> ReportRow:
    figures: dict[FigureColumn, Figure] = {}
    previous_figures: dict[FigureColumn, Figure] = {}
    for model in query.models:
        has_single_model = len(query.models) == 1
        columns = [column for column in list_columns(query) if has_single_model or column.model == model]
        figures |= compute_figures(query, current.unattributed(model, reasons), current.base, columns)
        if previous is not None:
            sums = previous.unattributed(model, reasons)
            previous_figures |= compute_figures(query, sums, previous.base, columns)
    if previous is None:
        return ReportRow((), figures)
    return ReportRow((), figures, previous_figures, changes_between(figures, previous_figures))


MANY_GROUPS = 250_000
"""Joining more groups and pairs needs over 10 MB."""


async def query_report(connection: AsyncConnection, space_id: int, query: ReportQuery) -> ReportResult:
    """Return a query's report. Needs a fresh transaction available for CONNECTION_SECONDS.

    Raises Invalid for a broken rule, NotFound for an unknown Space, and ReportTooLarge after SECONDS.
    """
    (report,) = await query_reports(connection, space_id, [query])
    return report


async def query_reports(
    connection: AsyncConnection, space_id: int, queries: Sequence[ReportQuery]
) -> list[ReportResult]:
    """Return several reports from one snapshot, which read and compute shared data once. See `query_report`;
    SECONDS limits all together.
    """
    for query in queries:
        check(query)
    currency, money = get_common_currency(queries)
    async with open_reader(connection, space_id, currency, money=money) as reader:
        plans = await _load_plans(reader, queries)
        sums = iter(await add_up_plans(reader, [plan for query_plans in plans for plan in query_plans]))
        reports, left_out = list[ReportResult](), LeftOutLoader(reader)
        visits, present_state = VisitLoader(connection, space_id), await fetch_present(connection, space_id)
        for query, query_plans in zip(queries, plans, strict=True):
            periods = [
                await run_in_thread(
                    _join_sums, query, period_plan.period, [*next(sums), *await visits.load(period_plan.plan)]
                )
                for period_plan in query_plans
            ]
            report = await _make_report(reader, present_state, query, query_plans[0], *periods)
            reports.append(await _with_left_out(report, left_out, query_plans))
        return reports


async def _with_left_out(
    report: ReportResult, left_out: LeftOutLoader, plans: Sequence[PeriodPlan]
) -> ReportResult:
    current, *previous = [await left_out.load(period_plan) for period_plan in plans]
    return replace(report, left_out_money=current, compared_left_out_money=previous[0] if previous else None)


def _join_sums(query: ReportQuery, period: ReportPeriod, batches: Sequence[BatchSums]) -> PeriodSums:
    if sum(batch.groups.size for batch in batches) > MANY_GROUPS:
        give_freed_memory_back()  # freed batches leave gaps too small for the joined arrays
    return PeriodSums.join(query, period, batches)


def get_common_currency(queries: Sequence[ReportQuery]) -> tuple[str | None, bool]:
    """Return it, and whether any report has amounts."""
    currencies = {query.currency for query in queries}
    assert len(currencies) == 1, "reports of one moment are in one currency"
    return currencies.pop(), any(query.is_about_money for query in queries)


async def _load_plans(reader: ReportReader, queries: Sequence[ReportQuery]) -> list[list[PeriodPlan]]:
    subjects = [get_subject(query) for query in queries]
    first_indexes = [subjects.index(subject) for subject in subjects]
    loaders = {
        first: PlanLoader(
            reader,
            [
                query
                for query, first_index in zip(queries, first_indexes, strict=True)
                if first_index == first
            ],
        )
        for first in first_indexes
    }
    return [await loaders[first].plans(query) for query, first in zip(queries, first_indexes, strict=True)]


async def _make_report(
    reader: ReportReader,
    present_state: Present,
    query: ReportQuery,
    planned: PeriodPlan,
    current: PeriodSums,
    previous: PeriodSums | None = None,
) -> ReportResult:
    """`previous` has the compared period's sums."""
    dimensions = planned.dimensions
    places = await run_in_thread(Ranking(current, dimensions).first) if query.group_by else []
    keys_of = {group: current.keys(group) for group in places}
    names = await name_keys(reader, current.period, dimensions, keys_of.values())
    keys = {group: names[keys_of_row] for group, keys_of_row in keys_of.items()}
    span, compared_span = current.period.span, previous and previous.period.span
    is_comparable = compared_span is not None and reader.began_by(compared_span.end)
    previous = previous if is_comparable else None
    compared = _find_compared(current, previous, places)
    first, last = reader.ends_within(DateTimeSpan((compared_span or span).start, span.end))
    completeness = query.complete_on and await load_completeness(reader, query, query.complete_on)
    return ReportResult(
        columns=list_columns(query),
        rows=tuple(
            make_row(query, keys[group], current.at(group), current.base, compared.get(group))
            for group in places
        ),
        left_out=max(0, current.groups.groups - len(places)) if query.group_by else 0,
        total=make_row(query, (), current.total, current.base, previous and (previous.total, previous.base)),
        unattributed=make_unattributed(query, current, previous),
        overall=None
        if query.of_touch_dates
        else make_row(
            query, (), current.overall, current.base, previous and (previous.overall, previous.base)
        ),
        event_counts=current.names,
        conversion_names=tuple(
            sorted(name for name in current.names if name in reader.conversion_names(query.filters))
        ),
        first_event=first,
        last_event=last,
        began=reader.began_by(span.end),
        span=span,
        compared_span=compared_span,
        is_comparable=is_comparable,
        timezone=reader.space.timezone,
        currency=reader.currency,
        completeness=completeness,
        trained_model=planned.plan.scope.trained_model,
        visits=await _count_visits(reader, planned, current, (compared_span or span).start),
        snapshot=str(
            make_snapshot(
                present_state, planned.plan.scope, reader.space, reader.currency, current.event_count
            )
        ),
    )


async def _count_visits(
    reader: ReportReader, planned: PeriodPlan, current: PeriodSums, start: datetime
) -> CountedVisits | None:
    """`start` is the first moment of the earlier period, if two are compared."""
    if not planned.plan.needs(*OF_VISITS):
        return None
    period = planned.plan.scope.period
    bot_views, deleted_before = await fetch_visit_facts(reader.connection, reader.space.id, period)
    if deleted_before is not None:
        deleted_before = deleted_before.astimezone(reader.space.zone).replace(tzinfo=None)
        deleted_before = deleted_before if deleted_before > start else None
    is_rated = planned.plan.needs(Measure.CONVERSION_RATE)
    return CountedVisits(bot_views, current.unvisited_share if is_rated else None, deleted_before)


async def name_keys(
    reader: ReportReader,
    period: ReportPeriod,
    dimensions: Sequence[ReportDimension],
    group_keys: Collection[Keys],
) -> dict[Keys, tuple[GroupKey, ...]]:
    labels = [
        await _label_keys(reader, period, dimension, index, {keys[index] for keys in group_keys})
        for index, dimension in enumerate(dimensions)
    ]
    return {
        keys: tuple(labels_of_group[key] for labels_of_group, key in zip(labels, keys, strict=True))
        for keys in group_keys
    }


async def _label_keys(
    reader: ReportReader, period: ReportPeriod, dimension: ReportDimension, index: int, keys: Collection[int]
) -> dict[int, GroupKey]:
    if index in period.steps:
        return {key: GroupKey(*name_bucket(key, period.steps[index])) for key in keys}
    labels = await fetch_labels(reader.connection, reader.space.id, dimension, list(keys))
    return {key: GroupKey(dimension.key_text(key), labels.get(key)) for key in keys}


def _find_compared(
    current: PeriodSums, previous: PeriodSums | None, places: Sequence[int]
) -> dict[int, tuple[Sums, Sums]]:
    """Return the compared sums of listed groups, with those that shares are relative to."""
    if previous is None:
        return {}
    compared_keys = counterparts(current, previous.period, places)
    sums = previous.find(list(compared_keys.values()))
    return {group: (sums.get(keys, Sums({})), previous.base) for group, keys in compared_keys.items()}
