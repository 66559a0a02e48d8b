"""Ad spend compared with its results: ROAS, CPA, CAC and contribution of every report and page. Pure and
exact.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from msgspec import Struct

from headwater.attribution.models import MODELS, CreditedTouches
from headwater.reports.engine.measures import (
    Figure,
    MeasureChange,
    change_between,
    round_money,
    rounded,
    strip_zeros,
)
from headwater.reports.engine.measures import Figures as ReportFigures
from headwater.reports.engine.report import ReportResult
from headwater.reports.query import (
    ALL_ROWS,
    MOST_CREDITED_GROUPS,
    OF_TOUCHES,
    FigureColumn,
    Group,
    KeyCondition,
    Measure,
    ReportQuery,
)
from headwater.reports.questions.period_spend import MILLIONTHS, Key
from headwater.sources.source_names import SourceNames
from headwater.spend.breakdown import NOTHING, Figures


@dataclass(frozen=True)
class Credit:
    revenue: Decimal = Decimal(0)
    """Net of refunds."""
    conversions: Fraction = Fraction(0)
    new_customers: int = 0
    new_customer_revenue: Decimal = Decimal(0)
    """Revenue of first orders, net of refunds."""

    def plus(self, addend: Credit) -> Credit:
        return Credit(
            self.revenue + addend.revenue,
            self.conversions + addend.conversions,
            self.new_customers + addend.new_customers,
            self.new_customer_revenue + addend.new_customer_revenue,
        )


NO_CREDIT = Credit()


@dataclass(frozen=True)
class CostFigures:
    spent: Figures = NOTHING
    credit: Credit = NO_CREDIT
    paid: Credit | None = None
    """The credit of platforms with spend, from which ratios are calculated. If None, as in rows of sources,
    they are calculated from all credit.
    """
    cost_rate: Decimal | None = None
    """In per cent of revenue."""
    has_ratios: bool = True
    """True if the spend led to the credit."""

    @property
    def spend(self) -> Decimal:
        return strip_zeros(Decimal(self.spent[0]) / MILLIONTHS)

    @property
    def impressions(self) -> int:
        return self.spent[1]

    @property
    def clicks(self) -> int:
        return self.spent[2]

    @property
    def platform_conversions(self) -> Decimal:
        return strip_zeros(Decimal(self.spent[3]) / MILLIONTHS)

    @property
    def platform_revenue(self) -> Decimal:
        return strip_zeros(Decimal(self.spent[4]) / MILLIONTHS)

    @property
    def credited_revenue(self) -> Decimal:
        return self.credit.revenue

    @property
    def credited_conversions(self) -> Fraction:
        return self.credit.conversions

    @property
    def new_customers(self) -> int:
        return self.credit.new_customers

    @property
    def new_customer_revenue(self) -> Decimal:
        return self.credit.new_customer_revenue

    @property
    def contribution(self) -> Decimal | None:
        """Revenue after cost rate and spend; None without a cost rate."""
        if self.cost_rate is None or not self.has_ratios:
            return None
        return strip_zeros(self.credited_revenue * (100 - self.cost_rate) / 100 - self.spend)

    @property
    def roas(self) -> Decimal | None:
        return self._per_spend(Fraction(self._paid.revenue))

    @property
    def cpa(self) -> Decimal | None:
        return self._divide_spend(self._paid.conversions)

    @property
    def cac(self) -> Decimal | None:
        return self._divide_spend(Fraction(self._paid.new_customers))

    def change(self, name: str, previous: CostFigures) -> MeasureChange | None:
        """Return None if either figure is missing."""
        new: Figure = getattr(self, name)
        old: Figure = getattr(previous, name)
        return None if new is None or old is None else change_between(new, old)

    @property
    def _paid(self) -> Credit:
        return self.credit if self.paid is None else self.paid

    @property
    def _spend(self) -> Fraction:
        return Fraction(self.spent[0], MILLIONTHS)

    def _per_spend(self, numerator: Fraction) -> Decimal | None:
        return rounded(numerator / self._spend) if self.has_ratios and self._spend else None

    def _divide_spend(self, count: Fraction) -> Decimal | None:
        return rounded(self._spend / count) if self.has_ratios and self._spend and count else None


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
"""Groups of both events and spend."""
NOT_OF_SPEND = (Group.COUNTRY, Group.KEYWORD, Group.LANDING_PAGE)
"""Filters that spend lacks; such reports have no ratios."""
MEASURES = (Measure.CREDITED_REVENUE, Measure.CREDITED_CONVERSIONS, Measure.NEW_CUSTOMERS)
_FIRST_ORDERS = KeyCondition(Group.CUSTOMER, "new")


class CreditQueries(Struct, frozen=True):
    """The reports behind a report of spend: all orders, and new customers' orders."""

    of_all: ReportQuery
    of_new: ReportQuery
    paid: ReportQuery
    """By platform: only platforms with spend count in ratios."""
    paid_new: ReportQuery

    @property
    def members(self) -> tuple[ReportQuery, ...]:
        return self.of_all, self.of_new, self.paid, self.paid_new


def credit_queries(query: ReportQuery) -> CreditQueries:
    of_all = replace(query, measures=MEASURES, limit=MOST_CREDITED_GROUPS, order_by=None, descending=True)
    conditions = (*query.filters.only, _FIRST_ORDERS)
    of_new = replace(of_all, measures=MEASURES[:1], filters=replace(query.filters, only=conditions))
    groups = (*(group for group in query.group_by if group not in OF_TOUCHES), Group.PLATFORM)
    paid, paid_new = (replace(query_, group_by=groups, limit=ALL_ROWS) for query_ in (of_all, of_new))
    return CreditQueries(of_all, of_new, paid, paid_new)


def customers_query(query: ReportQuery, platforms: Collection[Key]) -> ReportQuery | None:
    """Return the report of the new customers of several platforms; None if it equals the sum over platforms.
    A customer whose first order two platforms share counts once:

        Anna's first order   meta 1/2, google 1/2   meta 1 + google 1, and 1 of both
    """
    shares_credit = any(MODELS[model].take is CreditedTouches.EACH for model in query.models)
    if len(platforms) < 2 or not shares_credit:
        return None
    conditions = (condition for condition in query.filters.only if condition.group is not Group.PLATFORM)
    key_conditions = (*conditions, *(KeyCondition(Group.PLATFORM, key) for key in sorted(platforms, key=str)))
    return replace(
        query,
        measures=(Measure.NEW_CUSTOMERS,),
        group_by=tuple(group for group in query.group_by if group not in OF_TOUCHES),
        filters=replace(query.filters, only=key_conditions),
        limit=ALL_ROWS,
        order_by=None,
        descending=True,
    )


Keys = tuple[Key, ...]
FiguresByKeys = Mapping[Keys, ReportFigures]
CreditByKeys = Mapping[Keys, Credit]
CustomersByKeys = Mapping[Keys, int]


class CreditByKey:
    """A period's credit by group key and by platform."""

    def __init__(
        self,
        queries: CreditQueries,
        reports: Sequence[ReportResult],
        platforms: Collection[Key],
        customers: ReportResult | None,
    ) -> None:
        """`reports` belong to `queries`, in order. `platforms` have spend; `customers` is their report of
        `customers_query`.
        """
        of_all, of_new, paid, paid_new = reports
        self.listed_keys = [row.keys[0] for row in of_all.rows if row.keys]
        self.total = make_credit(of_all.total.figures, of_new.total.figures)
        self._rows = join_credit(_figures_by_keys(of_all), _figures_by_keys(of_new))
        self._has_own_platform = bool(queries.of_all.by_touch)
        counts = (
            None
            if customers is None
            else count_customers({**_figures_by_keys(customers), (): customers.total.figures})
        )
        by_platform = join_credit(_figures_by_keys(paid), _figures_by_keys(paid_new))
        self._paid = add_up_paid(by_platform, platforms, counts)

    def at(self, key: Key) -> Credit:
        return self._rows.get((key,), NO_CREDIT)

    def get_paid(self, key: Key) -> Credit | None:
        """Return credit from platforms with spend; None in a report by touches."""
        return None if self._has_own_platform else self._paid.get((key,), NO_CREDIT)

    @property
    def paid(self) -> Credit:
        return self._paid[()]


def _figures_by_keys(report: ReportResult) -> FiguresByKeys:
    return {tuple(key.value for key in row.keys): row.figures for row in report.rows}


def count_customers(figures: FiguresByKeys) -> CustomersByKeys:
    return {keys: int(_number(row, Measure.NEW_CUSTOMERS)) for keys, row in figures.items()}


def join_credit(of_all: FiguresByKeys, of_new: FiguresByKeys) -> CreditByKeys:
    return {keys: make_credit(of_all.get(keys, {}), of_new.get(keys, {})) for keys in {**of_all, **of_new}}


def add_up_paid(
    by_platform: CreditByKeys, platforms: Collection[Key], customers: CustomersByKeys | None
) -> CreditByKeys:
    """Sum the credit of platforms, the last of the keys, by the other keys, with the total under no keys.
    `customers` has each new customer of these platforms once; None if they are the sum.
    """
    paid: dict[Keys, Credit] = {(): NO_CREDIT}
    for keys, credit in by_platform.items():
        if keys[-1] in platforms:
            for other_keys in {keys[:-1], ()}:
                paid[other_keys] = paid.get(other_keys, NO_CREDIT).plus(credit)
    if customers is None:
        return paid
    return {keys: replace(credit, new_customers=customers.get(keys, 0)) for keys, credit in paid.items()}


def make_credit(figures: ReportFigures, of_new: ReportFigures) -> Credit:
    """Count a missing figure as 0."""
    revenue, conversions, customers = (_number(figures, measure) for measure in MEASURES)
    new_revenue = round_money(_number(of_new, MEASURES[0]))
    return Credit(round_money(revenue), conversions, int(customers), new_revenue)


def _number(figures: ReportFigures, measure: Measure) -> Fraction:
    return Fraction(figures.get(FigureColumn(measure)) or 0)


def spend_problem(conditions: Sequence[KeyCondition], sources: SourceNames) -> Group | None:
    """Return the first filter's group that spend lacks."""
    for group, key in ((condition.group, condition.key) for condition in conditions):
        is_together = group is Group.SOURCE and key and not sources.is_billed_alone(key)
        if group in NOT_OF_SPEND or is_together:
            return group
    return None
