"""A report: the groups of a time, the unattributed events, and everything; and the same of the time
it is compared with.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from psycopg import AsyncConnection

from headwater.attribution.fits.choice import ChosenFit
from headwater.base.allocator import give_freed_memory_back
from headwater.reports.engine.addition import PieceSums
from headwater.reports.engine.chosen_events import NoCredit
from headwater.reports.engine.conversion import LeftOutMoney
from headwater.reports.engine.groups import ReportDimension, fetch_labels
from headwater.reports.engine.measures import (
    Figure,
    Figures,
    MeasureChange,
    Sums,
    changes_between,
    figures_of,
)
from headwater.reports.engine.passes import LeftOutLoader, PeriodPlan, PlanLoader, add_up_plans, subject_of
from headwater.reports.engine.report_reader import ReportReader, in_thread, open_reader
from headwater.reports.engine.result import Keys, PeriodSums, Ranking, counterparts
from headwater.reports.engine.ripeness import Ripeness, load_ripeness
from headwater.reports.engine.snapshots import fetch_present, make_snapshot
from headwater.reports.engine.time_buckets import ReportPeriod, named
from headwater.reports.query import DateBasis, DateTimeSpan, FigureColumn, ReportQuery, check, columns_of


@dataclass(frozen=True)
class GroupKey:
    """One property that a group has in common."""

    value: str | None
    """An id or a name; the first day for days, weeks and months. None: has none."""
    label: str | None
    """The name that people know it by."""


@dataclass(frozen=True)
class ReportRow:
    """A group, or everything, and its figures."""

    keys: tuple[GroupKey, ...]
    """One key for each of `group_by`; empty for rows that are not of one group."""
    figures: Figures
    compared: Figures | None = None
    """None without a comparison, and where the other time has no counterpart."""
    changes: Mapping[FigureColumn, MeasureChange] | None = None
    """The changes of the measures that both have."""


@dataclass(frozen=True)
class Unattributed:
    """The events without a credited touch, as credited to nobody. Where several models are
    compared, it has only the figures that each of them has of its own.
    """

    row: ReportRow
    reasons: Mapping[NoCredit, ReportRow]
    """Its parts by reason; those that add up, add up to it."""


@dataclass(frozen=True)
class ReportResult:
    """The result of a query, the listed groups first."""

    columns: tuple[FigureColumn, ...]
    rows: tuple[ReportRow, ...]
    left_out: int
    """Groups beyond the limit."""
    total: ReportRow
    """Over everything that counts, listed or not, and each event once."""
    unattributed: Unattributed | None
    """None when the query is not about credit, is only about that of some touches, or has a period
    of touches. Otherwise credit in total and here is the overall one.
    """
    overall: ReportRow | None
    """Over every event of the period, whatever its touches; None for a period of touches."""
    event_counts: Mapping[str, int]
    """The names of the events that were added up, and how many there are of each."""
    conversion_names: tuple[str, ...]
    """Those of them that convert and bring revenue."""
    first_event: datetime | None
    last_event: datetime | None
    """The times of the Space's first and last event on its clock, where the range, or the one that
    it is compared with, reaches past them.
    """
    began: bool
    """False where the range ends before the Space's first event."""
    span: DateTimeSpan
    compared_span: DateTimeSpan | None
    is_comparable: bool
    """False where the range compared with ends before the Space's first event: then rows have no
    compared figures.
    """
    timezone: str
    currency: str
    """Of all amounts."""
    reading: str
    """The moment that it is of: with another of the same question it tells what has changed."""
    ripeness: Ripeness | None = None
    """Where the query asks for it: of the first measure, in total."""
    fit: ChosenFit | None = None
    """The fit that credit depends on."""
    left_out_money: tuple[LeftOutMoney, ...] = ()
    """Of the events of the period, that no sum includes."""
    compared_left_out_money: tuple[LeftOutMoney, ...] | None = None
    """Likewise of the period that it is compared with."""


def make_row(
    query: ReportQuery, keys: tuple[GroupKey, ...], now: Sums, whole: Sums, then: tuple[Sums, Sums] | None
) -> ReportRow:
    """Return a row; `then` has the compared sums, and what shares of them are of."""
    figures = figures_of(query, now, whole)
    if then is None:
        return ReportRow(keys, figures)
    compared = figures_of(query, *then)
    return ReportRow(keys, figures, compared, changes_between(figures, compared))


def make_unattributed(query: ReportQuery, now: PeriodSums, then: PeriodSums | None) -> Unattributed | None:
    """Return the events without credit, and their parts by reason."""
    if not query.is_about_touches or query.of_some_touches:
        return None
    return Unattributed(
        _unattributed_row(query, now, then, tuple(NoCredit)),
        {reason: _unattributed_row(query, now, then, (reason,)) for reason in NoCredit},
    )


def _unattributed_row(
    query: ReportQuery, now: PeriodSums, then: PeriodSums | None, reasons: tuple[NoCredit, ...]
) -> ReportRow:
    figures: dict[FigureColumn, Figure] = {}
    compared: dict[FigureColumn, Figure] = {}
    for model in query.models:
        single = len(query.models) == 1
        columns = [column for column in columns_of(query) if single or column.model == model]
        figures |= figures_of(query, now.unattributed(model, reasons), now.whole, columns)
        if then is not None:
            sums = then.unattributed(model, reasons)
            compared |= figures_of(query, sums, then.whole, columns)
    if then is None:
        return ReportRow((), figures)
    return ReportRow((), figures, compared, changes_between(figures, compared))


MANY_GROUPS = 250_000
"""Groups, and pairs of a group and a contact, that take some ten megabytes when they are joined."""


async def query_report(connection: AsyncConnection, space_id: int, query: ReportQuery) -> ReportResult:
    """The report of a query. Needs a transaction in which nothing has been read yet, on a
    connection that it may have for CONNECTION_SECONDS.

    Raises Invalid when the query breaks a rule, NotFound without such a Space, and ReportTooLarge
    when it takes longer than SECONDS.
    """
    (report,) = await query_reports(connection, space_id, [query])
    return report


async def query_reports(
    connection: AsyncConnection, space_id: int, queries: Sequence[ReportQuery]
) -> list[ReportResult]:
    """The reports of several queries, all of the same moment, so that what they have in common is
    equal, and is read and worked out once. Needs the same, raises the same, and takes no longer
    than SECONDS for all together.
    """
    for query in queries:
        check(query)
    currency, money = of_one_currency(queries)
    async with open_reader(connection, space_id, currency, money=money) as reader:
        plans = await _load_plans(reader, queries)
        sums = iter(await add_up_plans(reader, [plan for of_query in plans for plan in of_query]))
        reports, left_out = list[ReportResult](), LeftOutLoader(reader)
        for query, of_query in zip(queries, plans, strict=True):
            periods = [await in_thread(_joined, query, planned.period, next(sums)) for planned in of_query]
            report = await _make_report(reader, query, of_query[0], *periods)
            reports.append(await _with_left_out(report, left_out, of_query))
        return reports


async def _with_left_out(
    report: ReportResult, left_out: LeftOutLoader, plans: Sequence[PeriodPlan]
) -> ReportResult:
    """Return a report with the money that it leaves out, of its own time and the one compared."""
    now, *then = [await left_out.load(planned) for planned in plans]
    return replace(report, left_out_money=now, compared_left_out_money=then[0] if then else None)


def _joined(query: ReportQuery, period: ReportPeriod, pieces: Sequence[PieceSums]) -> PeriodSums:
    """Return the sums of all pieces together."""
    if sum(piece.groups.size for piece in pieces) > MANY_GROUPS:
        give_freed_memory_back()  # arrays of pieces leave gaps, and those of all need others
    return PeriodSums.join(query, period, pieces)


def of_one_currency(queries: Sequence[ReportQuery]) -> tuple[str | None, bool]:
    """Return the currency that all of some reports are in, and whether any of them is of money."""
    currencies = {query.currency for query in queries}
    assert len(currencies) == 1, "reports of one moment are in one currency"
    return currencies.pop(), any(query.is_about_money for query in queries)


async def _load_plans(reader: ReportReader, queries: Sequence[ReportQuery]) -> list[list[PeriodPlan]]:
    """Return the plans of each query, one for every period."""
    subjects = [subject_of(query) for query in queries]
    firsts = [subjects.index(subject) for subject in subjects]
    loaders = {
        first: PlanLoader(reader, [query for query, at in zip(queries, firsts, strict=True) if at == first])
        for first in firsts
    }
    return [await loaders[first].plans(query) for query, first in zip(queries, firsts, strict=True)]


async def _make_report(
    reader: ReportReader,
    query: ReportQuery,
    planned: PeriodPlan,
    now: PeriodSums,
    then: PeriodSums | None = None,
) -> ReportResult:
    """Return the report of what was added up, `then` over the range that is compared with."""
    dimensions = planned.dimensions
    places = await in_thread(Ranking(now, dimensions).first) if query.group_by else []
    keys_of = {place: now.keys(place) for place in places}
    names = await name_keys(reader, now.period, dimensions, keys_of.values())
    keys = {place: names[of] for place, of in keys_of.items()}
    span, compared_span = now.period.span, then and then.period.span
    is_comparable = compared_span is not None and reader.began_by(compared_span.end)
    then = then if is_comparable else None
    compared = _compared(now, then, places)
    first, last = reader.ends_within(DateTimeSpan((compared_span or span).start, span.end))
    present = await fetch_present(reader.connection, reader.space.id)
    ripeness = query.ripe_on and await load_ripeness(reader, query, query.ripe_on)
    return ReportResult(
        columns=columns_of(query),
        rows=tuple(
            make_row(query, keys[place], now.at(place), now.whole, compared.get(place)) for place in places
        ),
        left_out=max(0, now.groups.groups - len(places)) if query.group_by else 0,
        total=make_row(query, (), now.total, now.whole, then and (then.total, then.whole)),
        unattributed=make_unattributed(query, now, then),
        overall=None
        if query.date_basis is DateBasis.TOUCH
        else make_row(query, (), now.overall, now.whole, then and (then.overall, then.whole)),
        event_counts=now.names,
        conversion_names=tuple(
            sorted(name for name in now.names if name in reader.conversion_names(query.filters))
        ),
        first_event=first,
        last_event=last,
        began=reader.began_by(span.end),
        span=span,
        compared_span=compared_span,
        is_comparable=is_comparable,
        timezone=reader.space.timezone,
        currency=reader.currency,
        ripeness=ripeness,
        fit=planned.plan.scope.fit,
        reading=str(
            make_snapshot(present, planned.plan.scope, reader.space, reader.currency, now.event_count)
        ),
    )


async def name_keys(
    reader: ReportReader,
    period: ReportPeriod,
    dimensions: Sequence[ReportDimension],
    listed: Collection[Keys],
) -> dict[Keys, tuple[GroupKey, ...]]:
    """Return the keys of groups that are listed, in words."""
    labels = [
        await _labels(reader, period, dimension, at, {keys[at] for keys in listed})
        for at, dimension in enumerate(dimensions)
    ]
    return {
        keys: tuple(labels_of_group[key] for labels_of_group, key in zip(labels, keys, strict=True))
        for keys in listed
    }


async def _labels(
    reader: ReportReader, period: ReportPeriod, dimension: ReportDimension, at: int, keys: Collection[int]
) -> dict[int, GroupKey]:
    """Return some keys of one group in words."""
    if at in period.steps:
        return {key: GroupKey(*named(key, period.steps[at])) for key in keys}
    labels = await fetch_labels(reader.connection, reader.space.id, dimension, list(keys))
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
