"""Sum cohorts by acquisition month, months since, and group of the touches credited with the first order.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import accumulate
from typing import Self

import numpy as np
from msgspec import Struct

from headwater.attribution.paths.path_data import IntArray
from headwater.attribution.trained_models.choice import ChosenModel
from headwater.http.inputs.timerange import months_after, months_between
from headwater.reports.engine.acquisition import FollowedCustomers
from headwater.reports.engine.chosen_events import COUNTS, ChosenEvents, ModelCredit
from headwater.reports.engine.conversion import LeftOutMoney, LeftOutSpend
from headwater.reports.engine.dimensions import Dimension
from headwater.reports.engine.group_sums import Grouping, GroupSums, Numbers, cross_groupings, make_grouping
from headwater.reports.engine.measures import as_money, rounded, strip_zeros
from headwater.reports.engine.plan import Plan
from headwater.reports.engine.report_reader import ReportReader
from headwater.reports.query import Group, Measure, ReportQuery
from headwater.reports.questions.period_spend import MILLIONTHS, Key, PeriodSpend


class Payback(StrEnum):
    REACHED = "reached"
    NOT_YET = "not_yet"
    NO_SPEND = "no_spend"
    """The ledger has no spend."""


@dataclass(frozen=True)
class Cohort:
    """Customers by the month of their first order, weighted by the credit of touches with a key. Tuples have
    a value per month since.
    """

    month: date
    """Its first day."""
    customers: tuple[int, ...]
    """With an order; in the first month all."""
    revenue: tuple[Decimal, ...]
    """Credited to these touches."""
    spend: Decimal | None
    """In the month; None if it can't be assigned."""
    cost_rate: Decimal | None
    """In per cent of revenue."""
    key: str | None = None
    label: str | None = None

    @property
    def new_customers(self) -> int:
        return self.customers[0]

    @property
    def complete_months(self) -> int:
        return len(self.revenue) - 1

    @property
    def cumulative_revenue(self) -> tuple[Decimal, ...]:
        return tuple(map(strip_zeros, accumulate(self.revenue)))

    @property
    def total_revenue(self) -> Decimal:
        return self.cumulative_revenue[-1]

    @property
    def contribution(self) -> tuple[Decimal, ...] | None:
        """Cumulative revenue less cost rate and the month's spend; None without a rate."""
        return None if self.cost_rate is None else self._subtract_costs(self.cost_rate)

    @property
    def cac(self) -> Decimal | None:
        return ratio(self.spend, self.new_customers)

    @property
    def payback(self) -> Payback:
        if not self.spend:
            return Payback.NO_SPEND
        return Payback.NOT_YET if self.payback_month is None else Payback.REACHED

    @property
    def payback_month(self) -> int | None:
        """The first month, from 0, whose contribution covers the spend; without a cost rate all revenue
        counts. None if not reached or without spend.
        """
        remainders = self._subtract_costs(self.cost_rate or Decimal(0)) if self.spend else ()
        return next((month for month, remainder in enumerate(remainders) if remainder >= 0), None)

    def _subtract_costs(self, rate: Decimal) -> tuple[Decimal, ...]:
        spend = self.spend or Decimal(0)
        return tuple(strip_zeros(revenue * (100 - rate) / 100 - spend) for revenue in self.cumulative_revenue)


def ratio(spend: Decimal | None, customers: int) -> Decimal | None:
    return rounded(Fraction(spend) / customers) if spend and customers else None


@dataclass(frozen=True)
class CohortGroup:
    """Oldest first."""

    key: str | None
    label: str | None
    cohorts: tuple[Cohort, ...]

    def without_costs(self) -> Self:
        """Return the group with unknown spend, and so without contribution."""
        cohorts = (replace(cohort, spend=None, cost_rate=None) for cohort in self.cohorts)
        return replace(self, cohorts=tuple(cohorts))

    @property
    def new_customers(self) -> int:
        return sum(cohort.new_customers for cohort in self.cohorts)

    @property
    def spend(self) -> Decimal | None:
        amounts = [cohort.spend for cohort in self.cohorts if cohort.spend is not None]
        return strip_zeros(sum(amounts, Decimal(0))) if amounts else None

    @property
    def revenue(self) -> Decimal:
        return strip_zeros(sum((cohort.total_revenue for cohort in self.cohorts), Decimal(0)))

    @property
    def contribution(self) -> Decimal | None:
        parts = [cohort.contribution[-1] for cohort in self.cohorts if cohort.contribution is not None]
        return strip_zeros(sum(parts, Decimal(0))) if parts else None

    @property
    def cac(self) -> Decimal | None:
        return ratio(self.spend, self.new_customers)


REVENUE, CUSTOMERS = "revenue", "customers"
ACQUIRED, SINCE, KEY = range(3)
"""Acquisition month from 1, months since, and the report's group."""


class CohortSums(Struct, frozen=True):
    """A customer is in only one joined part."""

    groups: GroupSums
    """By group of the counted touches; empty without a group."""
    unattributed: GroupSums
    """By customers without credit for the first order."""
    total: GroupSums

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        return cls(
            *(
                GroupSums.join([getattr(sums, name) for sums in parts])
                for name in ("groups", "unattributed", "total")
            )
        )


def add_up_cohorts(plan: Plan, followed: FollowedCustomers) -> CohortSums:
    return _CohortAddition(plan, followed).sums()


class _CohortAddition:
    def __init__(self, plan: Plan, followed: FollowedCustomers) -> None:
        self._plan = plan
        self._events = ChosenEvents(plan.scope, followed.paths)
        self._credit: ModelCredit = self._events.credit(plan.query.models[0])
        keys = {ACQUIRED: followed.acquired, SINCE: followed.since}
        self._by_event = make_grouping(keys, self._events.count)
        self._is_buying = np.zeros(self._events.count, dtype=np.bool_)
        self._is_buying[followed.is_buying] = True

    def sums(self) -> CohortSums:
        if self._events.counted_touches is not None:
            total, unattributed = self._sum_credit(()), GroupSums.join([])
        else:
            everything = np.arange(self._events.count)
            total = self._sum_events(everything)
            unattributed = self._sum_events(np.flatnonzero(self._credit.statuses != COUNTS))
        groups = [self._sum_credit((dimension,)) for dimension in self._plan.dimensions]
        return CohortSums(GroupSums.join(groups), unattributed, total)

    def _sum_credit(self, group: tuple[Dimension, ...]) -> GroupSums:
        counted_pairs = self._credit.counted_pairs
        codes = self._by_event.codes[counted_pairs.events]
        grouping = Grouping(codes, self._by_event.size, self._by_event.keys)
        if group:
            grouping = cross_groupings(grouping, self._credit.groupings.combine(group).at_position(KEY))
        revenue = self._credit.sums(Measure.CREDITED_REVENUE, grouping)
        buying_indexes = np.flatnonzero(self._is_buying[counted_pairs.events])
        customers = Grouping(grouping.codes[buying_indexes], grouping.size, grouping.keys)
        _, customers = customers.distinct_pairs(counted_pairs.events[buying_indexes])
        return grouping.to_group_sums({REVENUE: revenue, CUSTOMERS: _counts(customers)})

    def _sum_events(self, selected: IntArray) -> GroupSums:
        grouping = Grouping(self._by_event.codes[selected], self._by_event.size, self._by_event.keys)
        sums = grouping.sums({REVENUE: self._events.amounts}, selected)
        buying_events = selected[self._is_buying[selected]]
        customers = Grouping(self._by_event.codes[buying_events], grouping.size, grouping.keys)
        return grouping.to_group_sums({**sums, CUSTOMERS: _counts(customers)})


def _counts(grouping: Grouping) -> Numbers:
    return np.bincount(grouping.codes, minlength=grouping.size)


@dataclass(frozen=True)
class CohortResult:
    """For every month and month since, the revenue of all groups and `unattributed` add up to `total`
    exactly. The spend of all groups and `unmatched` does too.
    """

    group: Group | None
    groups: tuple[CohortGroup, ...]
    """Ordered by spend, then revenue; each has all months."""
    left_out: int
    """Groups beyond the limit."""
    total: CohortGroup
    """Each customer once."""
    unattributed: CohortGroup | None
    """Of first orders without credit; None if only some touches count."""
    unmatched: tuple[Decimal, ...] | None
    """Spend outside all groups, by month; None without groups."""
    months: tuple[date, ...]
    """First days."""
    today: date
    timezone: str
    currency: str
    cost_rate: Decimal | None
    trained_model: ChosenModel | None = None
    left_out_money: tuple[LeftOutMoney, ...] = ()
    """From the first month until today."""
    left_out_spend: tuple[LeftOutSpend, ...] = ()


WITHOUT_SPEND = frozenset({Group.KEYWORD, Group.LANDING_PAGE})
"""Groups missing in the ledger."""
Figures = Mapping[int, tuple[Sequence[int], Sequence[int]]]
"""Customers and revenue per month since, by acquisition month from 1."""


class CohortKey(Struct, frozen=True):
    text: Key
    label: str | None


class CohortBuilder:
    def __init__(
        self,
        query: ReportQuery,
        months: Sequence[date],
        reader: ReportReader,
        keys: Mapping[int, CohortKey],
        spent: PeriodSpend,
    ) -> None:
        """`query` covers the whole observed range; `months` are the first days of the acquisition months."""
        self._query, self._reader, self._spent = query, reader, spent
        self._group = query.group_by[0] if query.group_by else None
        self._keys = {key.text: (number, key.label) for number, key in keys.items()}
        self._months = tuple(months)
        self._observed_months = len(list_months(query.start.date(), query.end.date()))
        self._skipped_months = 0
        self._cost_rate, self._sources = reader.space.cost_rate, reader.space.sources

    def make(self, sums: CohortSums, today: date, trained_model: ChosenModel | None) -> CohortResult:
        query, reader = self._query, self._reader
        by_month, total = self._spent_by_month(), _figures(sums.total)
        skipped_months = self._empty_months(total, by_month)
        self._months, by_month = self._months[skipped_months:], by_month[skipped_months:]
        self._skipped_months = skipped_months
        groups = sorted(self._groups(sums.groups, by_month), key=_order)
        totals = [sum(month_spend.values(), Decimal(0)) for month_spend in by_month]
        return CohortResult(
            group=self._group,
            groups=tuple(groups[: query.limit]),
            left_out=max(0, len(groups) - query.limit),
            total=self._make_group(None, None, total, totals),
            unattributed=None
            if query.of_some_touches
            else self._make_group(None, None, _figures(sums.unattributed)),
            unmatched=None
            if self._group is None
            else tuple(strip_zeros(month_spend.get(None, Decimal(0))) for month_spend in by_month),
            months=self._months,
            today=today,
            timezone=reader.space.timezone,
            currency=reader.currency,
            cost_rate=self._cost_rate,
            trained_model=trained_model,
        )

    def _empty_months(self, total: Figures, by_month: Sequence[Mapping[Key, Decimal]]) -> int:
        """Count the months before the first order or spend; 0 without any."""
        months_with_spend = [index for index, month_spend in enumerate(by_month) if any(month_spend.values())]
        return min([*months_with_spend, *(index - 1 for index in total)], default=0)

    def _spent_by_month(self) -> list[dict[Key, Decimal]]:
        """Return spend by month; None is spend outside all groups."""
        spend_by_month = self._spent.by_month()
        by_month: list[dict[Key, Decimal]] = []
        for month in self._months:
            month_spend = spend_by_month.get(month, PeriodSpend([], self._spent.names))
            money: dict[Key, Decimal] = {}
            for key, figures in month_spend.by_key(self._group, self._keys).items():
                own_key = key if self._has_own_spend(key) else None
                money[own_key] = money.get(own_key, Decimal(0)) + Decimal(figures[0]) / MILLIONTHS
            by_month.append(money)
        return by_month

    def _groups(
        self, group_sums: GroupSums, by_month: Sequence[Mapping[Key, Decimal]]
    ) -> Iterator[CohortGroup]:
        group = self._group
        if group is None:
            return
        figures = _figures_by_key(group_sums)
        names = self._spent.find_names(group)
        only_spent = {key for month_spend in by_month for key in month_spend} - {None, *self._keys}
        for key in (*self._keys, *only_spent):
            number, label = self._keys.get(key, (None, names.get(key or "", key)))
            cohort_group = self._make_group(
                key,
                label,
                figures.get(number, {}) if number is not None else {},
                [month_sums.get(key, Decimal(0)) if key else Decimal(0) for month_sums in by_month],
            )
            yield cohort_group if self._has_own_spend(key) else cohort_group.without_costs()

    def _has_own_spend(self, key: Key) -> bool:
        """Return whether a key's spend is known. The spend of sources that share a bill is outside all
        groups, even if the ledger has some of it by source.
        """
        if self._group is Group.SOURCE and key is not None:
            return self._sources.is_billed_alone(key)
        return self._group not in WITHOUT_SPEND

    def _make_group(
        self, key: Key, label: str | None, figures: Figures, spend: Sequence[Decimal] | None = None
    ) -> CohortGroup:
        cohorts: list[Cohort] = []
        for index, month in enumerate(self._months, self._skipped_months):
            observed = self._observed_months - index
            customers, revenue = figures.get(index + 1, ((), ()))
            padding = (0,) * (observed - len(customers))
            cohorts.append(
                Cohort(
                    month,
                    (*customers, *padding),
                    tuple(map(as_money, (*revenue, *padding))),
                    None if spend is None else strip_zeros(spend[index - self._skipped_months]),
                    self._cost_rate,
                    key,
                    label,
                )
            )
        return CohortGroup(key, label, tuple(cohorts))


def _figures_by_key(group_sums: GroupSums) -> dict[int, Figures]:
    if not group_sums.groups:
        return {}
    order = np.argsort(group_sums.keys[KEY], kind="stable")
    keys, starts = np.unique(group_sums.keys[KEY][order], return_index=True)
    parts = np.split(order, starts[1:])
    return {key: _figures(group_sums, sums) for key, sums in zip(keys.tolist(), parts, strict=True)}


def _figures(group_sums: GroupSums, places: IntArray | None = None) -> Figures:
    """Return figures with no gaps in months since."""
    figures: dict[int, tuple[list[int], list[int]]] = {}
    if not group_sums.groups:
        return figures
    for index in (np.arange(group_sums.groups) if places is None else places).tolist():
        month_figures = figures.setdefault(int(group_sums.keys[ACQUIRED][index]), ([], []))
        months_since = int(group_sums.keys[SINCE][index])
        for values, name in zip(month_figures, (CUSTOMERS, REVENUE), strict=True):
            values.extend([0] * (months_since + 1 - len(values)))
            values[months_since] = int(group_sums.sum(name)[index])
    return figures


def _order(group: CohortGroup) -> tuple[Decimal, Decimal, str]:
    """Most spend first, then most revenue."""
    return -(group.spend or Decimal(0)), -group.revenue, group.key or "\U0010ffff"


def list_months(first: date, last: date) -> Sequence[date]:
    """List first days."""
    return [months_after(first, number) for number in range(months_between(first, last) + 1)]
