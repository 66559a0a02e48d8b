"""The cost of ads beside what they brought: a report's credit, and the spend ledger, by the groups
that both know. Money is exact, and ratios are of sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

from psycopg import AsyncConnection

from headwater.fits.choice import ChosenFit
from headwater.http.errors import Invalid
from headwater.reports.errors import ReportTooLarge
from headwater.reports.left_out_money import LeftOutMoney, LeftOutSpend
from headwater.reports.measures import change_between, plain, rounded
from headwater.reports.models import (
    Comparison,
    DateTimeSpan,
    Figure,
    FigureColumn,
    Group,
    KeyCondition,
    Measure,
    MeasureChange,
    Report,
    ReportQuery,
    ReportRow,
)
from headwater.reports.report import query_reports
from headwater.reports.spent import MILLIONTHS, Key, Spent, load_spent, sum_of
from headwater.reports.time_buckets import SHORTEST, compared_span, counterpart, cut
from headwater.reports.validation import MOST_ROWS
from headwater.spaces.spaces import fetch_space
from headwater.spend.breakdown import NOTHING, Figures

GROUPS = (
    Group.SOURCE, Group.CAMPAIGN, Group.ADSET, Group.AD, Group.COUNTRY, Group.DAY, Group.WEEK,
    Group.MONTH,
)  # fmt: skip
"""The groups that both events and spend have."""
ONLY = (Group.SOURCE, Group.CAMPAIGN, Group.ADSET)
"""The groups whose keys a report may be narrowed by."""
MEASURES = (Measure.CREDITED_REVENUE, Measure.CREDITED_EVENTS, Measure.NEW_CUSTOMERS)
_SMALLEST = 10**4
"""Amounts of events have four decimals."""
_FIRST_ORDERS = KeyCondition(Group.CUSTOMER, "new")


@dataclass(frozen=True)
class CostFigures:
    """Sums of what was spent, what the platforms claim for it, and what we credit."""

    spent: Figures = NOTHING
    credited_revenue: Decimal = Decimal(0)
    credited_events: Fraction = Fraction(0)
    new_customers: int = 0
    new_customer_revenue: Decimal = Decimal(0)
    """The credited revenue of first orders."""
    cost_rate: Decimal | None = None
    """The Space's, in per cent of revenue."""

    @property
    def spend(self) -> Decimal:
        return plain(Decimal(self.spent[0]) / MILLIONTHS)

    @property
    def impressions(self) -> int:
        return self.spent[1]

    @property
    def clicks(self) -> int:
        return self.spent[2]

    @property
    def platform_conversions(self) -> Decimal:
        return plain(Decimal(self.spent[3]) / MILLIONTHS)

    @property
    def platform_revenue(self) -> Decimal:
        return plain(Decimal(self.spent[4]) / MILLIONTHS)

    @property
    def contribution(self) -> Decimal | None:
        """The rest of the credited revenue after the Space's cost rate and spend, exactly; None
        where the Space has no cost rate.
        """
        if self.cost_rate is None:
            return None
        return plain(self.credited_revenue * (100 - self.cost_rate) / 100 - self.spend)

    @property
    def roas(self) -> Decimal | None:
        """The credited revenue for one unit of spend; None where nothing is spent."""
        return _ratio(Fraction(self.credited_revenue), Fraction(self.spent[0], MILLIONTHS))

    @property
    def cpa(self) -> Decimal | None:
        """The spend for one credited event."""
        return _ratio(Fraction(self.spent[0], MILLIONTHS), self.credited_events)

    @property
    def cac(self) -> Decimal | None:
        """The spend for one new customer."""
        return _ratio(Fraction(self.spent[0], MILLIONTHS), Fraction(self.new_customers))

    @property
    def is_nothing(self) -> bool:
        """True where all sums are 0."""
        return self.spent == NOTHING and not any((
            self.credited_revenue, self.credited_events, self.new_customers,
            self.new_customer_revenue,
        ))  # fmt: skip

    def less(self, other: CostFigures) -> CostFigures:
        """Return what these sums are more than others."""
        return CostFigures(
            tuple(new - old for new, old in zip(self.spent, other.spent, strict=True)),
            self.credited_revenue - other.credited_revenue,
            self.credited_events - other.credited_events,
            self.new_customers - other.new_customers,
            self.new_customer_revenue - other.new_customer_revenue, self.cost_rate,
        )  # fmt: skip

    def change(self, name: str, then: CostFigures) -> MeasureChange | None:
        """Return how the figure of a name has changed since then; None from or to none."""
        new: Figure = getattr(self, name)
        old: Figure = getattr(then, name)
        return None if new is None or old is None else change_between(new, old)


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
    """Of everything, with and without spend."""
    with_spend: CostFigures
    """The sum of the rows that have spend."""
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

    def at_cost_rate(self, rate: Decimal | None) -> CostReport:
        """Return the report with the contribution at a cost rate."""

        def at(figures: CostFigures) -> CostFigures:
            return replace(figures, cost_rate=rate)

        return replace(
            self, rows=tuple(replace(row, figures=at(row.figures)) for row in self.rows),
            total=at(self.total), with_spend=at(self.with_spend),
            without_place=at(self.without_place), cost_rate=rate,
        )  # fmt: skip


async def query_spend(connection: AsyncConnection, space_id: int, query: ReportQuery) -> CostReport:
    """Return the report of a query, of which group and measures are those that spend has. Needs and
    raises the same as `query_report`.
    """
    check_only(query)
    periods = _periods(query)
    credits_of = await query_reports(
        connection, space_id, [each for period in periods for each in of_credit(period)]
    )
    if any(report.left_out for report in credits_of):
        raise ReportTooLarge
    pairs = zip(credits_of[::2], credits_of[1::2], strict=True)
    space = await fetch_space(connection, space_id)
    now, *before = [
        _joined(
            period, pair,
            await load_spent(
                connection, space_id, (period.start.date(), period.end.date()), pair[0].currency,
                query.filters.only,
            ),
        ).at_cost_rate(space.cost_rate)
        for period, pair in zip(periods, pairs, strict=True)
    ]  # fmt: skip
    if before:
        now = _compared(now, before[0], query.compare, space.zone)
    return replace(now, rows=now.rows[: query.limit], left_out=max(0, len(now.rows) - query.limit))


def check_only(query: ReportQuery) -> None:
    """Raise Invalid for conditions on keys that spend does not know."""
    if not {condition.group for condition in query.filters.only} <= set(ONLY):
        raise Invalid.of("only", f"must be of {', '.join(ONLY)}.")


def _periods(query: ReportQuery) -> list[ReportQuery]:
    """Return the query for its own time, and for that which it is compared with."""
    alone = replace(query, compare=Comparison.NONE)
    if query.compare is Comparison.NONE:
        return [alone]
    span = compared_span(DateTimeSpan(query.start, query.end), query.compare)
    return [alone, replace(alone, start=span.start, end=span.end)]


def of_credit(query: ReportQuery) -> tuple[ReportQuery, ReportQuery]:
    """Return the report of all credit, and that of first orders alone."""
    of_all = replace(query, measures=MEASURES, limit=MOST_ROWS, order_by=None, descending=True)
    only = (*query.filters.only, _FIRST_ORDERS)
    filters = replace(query.filters, only=only)
    return of_all, replace(of_all, measures=MEASURES[:1], filters=filters)


def _joined(query: ReportQuery, reports: tuple[Report, Report], spent: Spent) -> CostReport:
    """Return spend and credit in one; the second report is of first orders alone."""
    report, of_firsts = reports
    group = query.group_by[0] if query.group_by else None
    listed = {row.keys[0].value: row for row in report.rows} if group is not None else {}
    by_key = spent.by_key(group, listed)
    whole = sum_of(by_key.values())
    nowhere = NOTHING if group is None else by_key.pop(None, NOTHING)
    firsts = {row.keys[0].value: row for row in of_firsts.rows} if group is not None else {}
    rows = [
        CostRow(key, row.keys[0].label, _figures(row, firsts.get(key), by_key.pop(key, NOTHING)))
        for key, row in listed.items()
    ]
    if group is not None:
        rows += [
            CostRow(key, spent.names_of(group).get(key or "", key), CostFigures(figures))
            for key, figures in by_key.items()
        ]
    rows.sort(key=_order)
    return CostReport(
        group, tuple(rows), 0, _figures(report.total, of_firsts.total, whole),
        _total([row.figures for row in rows if row.figures.spent != NOTHING]),
        CostFigures(nowhere), report.span, report.timezone, report.currency, fit=report.fit,
        reading=report.reading, left_out_money=report.left_out_money,
        left_out_spend=spent.left_out,
    )  # fmt: skip


def _compared(now: CostReport, then: CostReport, compare: Comparison, zone: ZoneInfo) -> CostReport:
    """Return a report beside that of the time it is compared with: a row beside the row of its key,
    a day, week or month beside that of the other time. Beside a key that it has no row of stands
    nothing in all figures.
    """
    figures = {row.key: row.figures for row in then.rows}
    nothing = CostFigures(cost_rate=then.cost_rate)
    keys = _counterparts(now, then, compare, zone)
    rows = tuple(
        replace(row, compared=figures.get(keys[row.key], nothing)) if row.key in keys else row
        for row in now.rows
    )
    return replace(now, rows=rows, compared=then)


def _counterparts(
    now: CostReport, then: CostReport, compare: Comparison, zone: ZoneInfo
) -> dict[Key, Key]:
    """Return the keys that rows are compared with; a time that has no counterpart is left out."""
    group = now.group
    if group is None or group not in SHORTEST:
        return {row.key: row.key for row in now.rows}
    steps, others = (cut(report.span, group, zone) for report in (now, then))
    places = {
        day: counterpart(place, compare, steps, others)
        for place, day in enumerate(steps.days, start=1)
    }
    return {
        f"{day}": f"{others.days[place - 1]}" for day, place in places.items() if place is not None
    }


def _figures(row: ReportRow, firsts: ReportRow | None, spent: Figures) -> CostFigures:
    revenue, events, customers = (_of(row, measure) for measure in MEASURES)
    of_firsts = _of(firsts, MEASURES[0]) if firsts is not None else Fraction(0)
    return CostFigures(spent, money_of(revenue), events, int(customers), money_of(of_firsts))


def money_of(amount: Fraction) -> Decimal:
    return Decimal(int(amount * _SMALLEST)) / _SMALLEST


def _of(row: ReportRow, measure: Measure) -> Fraction:
    figure = row.figures[FigureColumn(measure)]
    return Fraction(0) if figure is None else Fraction(figure)


def _total(several: Sequence[CostFigures]) -> CostFigures:
    return CostFigures(
        sum_of(each.spent for each in several),
        sum((each.credited_revenue for each in several), Decimal(0)),
        sum((each.credited_events for each in several), Fraction(0)),
        sum(each.new_customers for each in several),
        sum((each.new_customer_revenue for each in several), Decimal(0)),
    )


def _order(row: CostRow) -> tuple[int, Decimal, str]:
    """The most spend first, then the most revenue."""
    return -row.figures.spent[0], -row.figures.credited_revenue, row.key or "\U0010ffff"


def _ratio(part: Fraction, whole: Fraction) -> Decimal | None:
    return rounded(part / whole) if whole else None
