"""A report: the groups of a time, the unattributed events, and everything; and the same of the time
it is compared with.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from psycopg import AsyncConnection

from headwater.base.allocator import give_freed_memory_back
from headwater.reports.engine.addition import PieceSums
from headwater.reports.engine.left_out_loader import LeftOutLoader
from headwater.reports.engine.measures import Sums
from headwater.reports.engine.path_pass import add_up_plans
from headwater.reports.engine.plan_loader import PeriodPlan, PlanLoader, subject_of
from headwater.reports.engine.report_reader import ReportReader, in_thread, open_reader
from headwater.reports.engine.result import (
    Keys,
    PeriodSums,
    Ranking,
    ReportPeriod,
    counterparts,
    make_row,
    make_unattributed,
)
from headwater.reports.models import DateBasis, DateTimeSpan, GroupKey, Report, ReportQuery, columns_of
from headwater.reports.plan.groups import ReportDimension, fetch_labels
from headwater.reports.plan.time_buckets import named
from headwater.reports.questions.arrivals import load_ripeness
from headwater.reports.readings import fetch_present, make_reading
from headwater.reports.validation import check

MANY_GROUPS = 250_000
"""Groups, and pairs of a group and a contact, that take some ten megabytes when they are joined."""


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
    equal, and is read and worked out once. Needs the same, raises the same, and takes no longer
    than SECONDS for all together.
    """
    for query in queries:
        check(query)
    currency, money = of_one_currency(queries)
    async with open_reader(connection, space_id, currency, money=money) as reader:
        plans = await _load_plans(reader, queries)
        sums = iter(await add_up_plans(reader, [plan for of_query in plans for plan in of_query]))
        reports, left_out = list[Report](), LeftOutLoader(reader)
        for query, of_query in zip(queries, plans, strict=True):
            periods = [await in_thread(_joined, query, planned.period, next(sums)) for planned in of_query]
            report = await _make_report(reader, query, of_query[0], *periods)
            reports.append(await _with_left_out(report, left_out, of_query))
        return reports


async def _with_left_out(report: Report, left_out: LeftOutLoader, plans: Sequence[PeriodPlan]) -> Report:
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
) -> Report:
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
    return Report(
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
            make_reading(present, planned.plan.scope, reader.space, reader.currency, now.event_count)
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
