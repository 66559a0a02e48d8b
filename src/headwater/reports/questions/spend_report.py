"""The cost of ads beside what they brought: a report's credit, and the spend ledger, by the groups
that both know. Money is exact, and ratios are of sums.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

from psycopg import AsyncConnection

from headwater.attribution.fits.choice import ChosenFit
from headwater.http.errors import Invalid
from headwater.reports.errors import ReportTooLarge
from headwater.reports.left_out_money import LeftOutMoney, LeftOutSpend
from headwater.reports.models import (
    ALL_ROWS,
    OF_TOUCHES,
    Comparison,
    DateTimeSpan,
    FigureColumn,
    Group,
    KeyCondition,
    Measure,
    Report,
    ReportQuery,
    ReportRow,
)
from headwater.reports.models import Figures as ReportFigures
from headwater.reports.plan.time_buckets import SHORTEST, compared_span, counterpart, cut
from headwater.reports.questions.cost_figures import NO_CREDIT, CostFigures, Credit
from headwater.reports.questions.report import query_reports
from headwater.reports.questions.spent import Key, Spent, load_spent, sum_of
from headwater.reports.validation import MOST_ROWS
from headwater.sources.source_names import SourceNames
from headwater.spaces.spaces import fetch_space
from headwater.spend.breakdown import NOTHING

GROUPS = (
    Group.PLATFORM,
    Group.SOURCE,
    Group.CHANNEL,
    Group.CAMPAIGN,
    Group.ADSET,
    Group.AD,
    Group.COUNTRY,
    Group.DAY,
    Group.WEEK,
    Group.MONTH,
)
"""The groups that both events and spend have."""
NOT_OF_SPEND = (Group.COUNTRY, Group.KEYWORD, Group.LANDING_PAGE)
"""Groups that spend cannot be narrowed by: with one, there are no ratios."""
ONLY = (Group.PLATFORM, Group.SOURCE, Group.CHANNEL, Group.CAMPAIGN, Group.ADSET, Group.AD, *NOT_OF_SPEND)
"""The groups whose keys a report may be narrowed by."""
MEASURES = (Measure.CREDITED_REVENUE, Measure.CREDITED_CONVERSIONS, Measure.NEW_CUSTOMERS)
_SMALLEST = 10**4
"""Amounts of events have four decimals."""
_FIRST_ORDERS = KeyCondition(Group.CUSTOMER, "new")


@dataclass(frozen=True)
class CostRow:
    """A group, what was spent on it and what it brought."""

    key: Key
    label: str | None
    figures: CostFigures
    compared: CostFigures | None = None
    """Of the row that it is compared with; None where there is none."""


@dataclass(frozen=True)
class CostReport:
    """The result of a query. The spend of all rows and that without a place is the ledger's."""

    group: Group | None
    rows: tuple[CostRow, ...]
    left_out: int
    total: CostFigures
    """Of everything, with and without spend; ratios are those of `with_spend`."""
    with_spend: CostFigures
    """All spend, and the credit of the sources of platforms with spend: the same however the report
    is grouped.
    """
    without_place: CostFigures
    """Spend that is not broken down by the group, or of a platform that is no source."""
    span: DateTimeSpan
    timezone: str
    currency: str
    cost_rate: Decimal | None = None
    """The Space's, in per cent of revenue."""
    fit: ChosenFit | None = None
    """The fit that credit depends on."""
    reading: str = ""
    """The moment that it is of: whoever has two can ask what has changed between them."""
    left_out_money: tuple[LeftOutMoney, ...] = ()
    """Of events, that no sum includes."""
    left_out_spend: tuple[LeftOutSpend, ...] = ()
    """Likewise of the ledger."""
    compared: CostReport | None = None
    """Of the time compared with, with all of its rows."""
    unsplit: tuple[str, ...] = ()
    """Platforms with several sources whose spend is not broken down by source: in a report by
    source, their sources have no ratios.
    """
    problem: Group | None = None
    """The group of a condition that spend cannot meet; then there are no ratios."""
    ends: tuple[datetime | None, datetime | None] = (None, None)
    """The Space's first and last event, where the range reaches past them."""
    began: bool = True
    """False where the range ends before the Space's first event."""

    @property
    def comparable(self) -> CostReport | None:
        """The report of the time compared with, where there was anything then."""
        return self.compared if self.compared is not None and self.compared.began else None

    def at_cost_rate(self, rate: Decimal | None) -> CostReport:
        """Return the report with the contribution at a cost rate."""

        def at(figures: CostFigures) -> CostFigures:
            return replace(figures, cost_rate=rate)

        return replace(
            self,
            rows=tuple(replace(row, figures=at(row.figures)) for row in self.rows),
            total=at(self.total),
            with_spend=at(self.with_spend),
            without_place=at(self.without_place),
            cost_rate=rate,
        )


async def query_spend(connection: AsyncConnection, space_id: int, query: ReportQuery) -> CostReport:
    """Return the report of a query, of which group and measures are those that spend has. Needs and
    raises the same as `query_report`.
    """
    check_only(query)
    periods = _periods(query)
    queries = [credit_queries(period) for period in periods]
    reports = await query_reports(
        connection, space_id, [each for of_period in queries for each in of_period.all]
    )
    if any(report.left_out for report in reports):
        raise ReportTooLarge
    space = await fetch_space(connection, space_id)
    made: list[CostReport] = []
    for period, of_period in zip(periods, queries, strict=True):
        answers = [reports.pop(0) for _ in of_period.all]
        days = (period.start.date(), period.end.date())
        only = query.filters.only
        spent = await load_spent(connection, space_id, days, answers[0].currency, only)
        credit = CreditByKey(of_period, answers)
        report = _join(period, answers[0], credit, spent, space.sources)
        made.append(report.at_cost_rate(space.cost_rate))
    now, *before = made
    if before:
        now = _compared(now, before[0], query, space.zone)
    return replace(now, rows=now.rows[: query.limit], left_out=max(0, len(now.rows) - query.limit))


def check_only(query: ReportQuery) -> None:
    """Raise Invalid for conditions on keys that touches and spend do not have."""
    if not {condition.group for condition in query.filters.only} <= set(ONLY):
        raise Invalid.of("only", f"must be of {', '.join(ONLY)}.")


def _periods(query: ReportQuery) -> list[ReportQuery]:
    """Return the query for its own time, and for that which it is compared with."""
    alone = replace(query, compare=Comparison.NONE)
    if query.compare is Comparison.NONE:
        return [alone]
    span = compared_span(query)
    return [alone, replace(alone, start=span.start, end=span.end)]


@dataclass(frozen=True)
class CreditQueries:
    """The reports of credit that a report of spend is made of, one subject for all orders and one
    for those of new customers.
    """

    of_all: ReportQuery
    of_new: ReportQuery
    paid: ReportQuery
    """The same by platform, too: of ratios, only the credit of platforms with spend counts."""
    paid_new: ReportQuery

    @property
    def all(self) -> tuple[ReportQuery, ...]:
        return self.of_all, self.of_new, self.paid, self.paid_new


def credit_queries(query: ReportQuery) -> CreditQueries:
    """Return the reports of credit for a query."""
    of_all = replace(query, measures=MEASURES, limit=MOST_ROWS, order_by=None, descending=True)
    only = (*query.filters.only, _FIRST_ORDERS)
    of_new = replace(of_all, measures=MEASURES[:1], filters=replace(query.filters, only=only))
    groups = (*(group for group in query.group_by if group not in OF_TOUCHES), Group.PLATFORM)
    paid, paid_new = (replace(each, group_by=groups, limit=ALL_ROWS) for each in (of_all, of_new))
    return CreditQueries(of_all, of_new, paid, paid_new)


class CreditByKey:
    """The credit of a period, by the keys of its group and by platform."""

    def __init__(self, queries: CreditQueries, reports: Sequence[Report]) -> None:
        """`reports` are those of all queries, in their order."""
        of_all, of_new, *paid = reports
        self.listed = [row.keys[0] for row in of_all.rows if row.keys]
        self.total = _credit_of(of_all.total, of_new.total)
        self._rows, self._by_platform = _by_keys(of_all, of_new), _by_keys(*paid)
        self._has_own_platform = bool(queries.of_all.by_touch)

    def at(self, key: Key) -> Credit:
        """Return the credit of a group."""
        return self._rows.get((key,), NO_CREDIT)

    def paid_at(self, key: Key, platforms: Collection[Key]) -> Credit | None:
        """Return the part of a group's credit that sources of some platforms have; None for a group
        of touches, whose credit is its own.
        """
        return None if self._has_own_platform else self._paid(platforms, key)

    def paid(self, platforms: Collection[Key]) -> Credit:
        """Return the credit of the sources of some platforms."""
        return self._paid(platforms)

    def _paid(self, platforms: Collection[Key], *key: Key) -> Credit:
        return Credit.sum_of(
            credit
            for keys, credit in self._by_platform.items()
            if keys[-1] in platforms and keys[: len(key)] == key
        )


def _by_keys(of_all: Report, of_new: Report) -> dict[tuple[Key, ...], Credit]:
    """Return the credit of every row, by its keys."""
    firsts = {_keys_of(row): row for row in of_new.rows}
    rows = {_keys_of(row): _credit_of(row, firsts.get(_keys_of(row))) for row in of_all.rows}
    new_alone = {keys: _credit_of(None, row) for keys, row in firsts.items() if keys not in rows}
    return rows | new_alone


def _keys_of(row: ReportRow) -> tuple[Key, ...]:
    return tuple(key.value for key in row.keys)


def _credit_of(row: ReportRow | None, of_new: ReportRow | None) -> Credit:
    return credit_of(row.figures if row else {}, of_new.figures if of_new else {})


def credit_of(figures: ReportFigures, of_new: ReportFigures) -> Credit:
    """Return credit as figures of reports have it; a missing figure is 0."""
    revenue, conversions, customers = (_number(figures, measure) for measure in MEASURES)
    new_revenue = money_of(_number(of_new, MEASURES[0]))
    return Credit(money_of(revenue), conversions, int(customers), new_revenue)


def _number(figures: ReportFigures, measure: Measure) -> Fraction:
    return Fraction(figures.get(FigureColumn(measure)) or 0)


def _join(
    query: ReportQuery, report: Report, credit: CreditByKey, spent: Spent, sources: SourceNames
) -> CostReport:
    """Join spend and credit."""
    group = query.group_by[0] if query.group_by else None
    listed = {key.value: key.label for key in credit.listed}
    by_key = spent.by_key(group, listed)
    whole = sum_of(by_key.values())
    nowhere = NOTHING if group is None else by_key.pop(None, NOTHING)
    platforms, unsplit = spent.platforms, spent.unsplit(group)
    names = spent.names_of(group)
    keys = {**listed, **{key: names.get(key or "", key) for key in by_key}} if group else {}
    problem = spend_problem(query.filters.only, sources)
    rows = [
        CostRow(
            key,
            listed.get(key) or label,
            CostFigures(
                by_key.get(key, NOTHING),
                credit.at(key),
                credit.paid_at(key, platforms),
                has_ratios=problem is None and _platform_of(group, key, sources) not in unsplit,
            ),
        )
        for key, label in keys.items()
    ]
    paid = credit.paid(platforms)
    has_ratios = problem is None
    return CostReport(
        group,
        tuple(sorted(rows, key=_order)),
        0,
        CostFigures(whole, credit.total, paid, has_ratios=has_ratios),
        CostFigures(whole, paid, has_ratios=has_ratios),
        CostFigures(nowhere, has_ratios=has_ratios),
        report.span,
        report.timezone,
        report.currency,
        fit=report.fit,
        reading=report.reading,
        left_out_money=report.left_out_money,
        left_out_spend=spent.left_out,
        unsplit=tuple(sorted(unsplit)),
        problem=problem,
        began=report.began,
        ends=(report.first_event, report.last_event),
    )


def _platform_of(group: Group | None, key: Key, sources: SourceNames) -> str | None:
    return sources.platform_of(key) if group is Group.SOURCE and key else None


def spend_problem(only: Sequence[KeyCondition], sources: SourceNames) -> Group | None:
    """Return the group of a condition that credit can meet and spend cannot."""
    for group, key in ((condition.group, condition.key) for condition in only):
        is_together = group is Group.SOURCE and key and not sources.is_billed_alone(key)
        if group in NOT_OF_SPEND or is_together:
            return group
    return None


def _compared(now: CostReport, then: CostReport, query: ReportQuery, zone: ZoneInfo) -> CostReport:
    """Return a report beside that of the time it is compared with: a row beside the row of its key,
    a day, week or month beside that of the other time. Beside a key that it has no row of stands
    nothing in all figures. A time before the Space's first event is compared with nothing at all.
    """
    if not then.began:
        return replace(now, compared=then, rows=tuple(now.rows))
    figures = {row.key: row.figures for row in then.rows}
    nothing = CostFigures(cost_rate=then.cost_rate)
    keys = _counterparts(now, then, query.compare, zone)
    rows = tuple(
        replace(row, compared=figures.get(keys[row.key], nothing)) if row.key in keys else row
        for row in now.rows
    )
    return replace(now, rows=rows, compared=then)


def _counterparts(now: CostReport, then: CostReport, compare: Comparison, zone: ZoneInfo) -> dict[Key, Key]:
    """Return the keys that rows are compared with; a time that has no counterpart is left out."""
    group = now.group
    if group is None or group not in SHORTEST:
        return {row.key: row.key for row in now.rows}
    steps, others = (cut(report.span, group, zone) for report in (now, then))
    places = {
        day: counterpart(place, compare, steps, others) for place, day in enumerate(steps.days, start=1)
    }
    return {f"{day}": f"{others.days[place - 1]}" for day, place in places.items() if place is not None}


def money_of(amount: Fraction) -> Decimal:
    """Return an amount of events as money."""
    return Decimal(int(amount * _SMALLEST)) / _SMALLEST


def _order(row: CostRow) -> tuple[int, Decimal, str]:
    """The most spend first, then the most revenue."""
    return -row.figures.spent[0], -row.figures.credited_revenue, row.key or "\U0010ffff"
