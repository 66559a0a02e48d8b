"""Queries of cohorts, and their results. Money is exact: no float."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import accumulate

from headwater.attribution.fits.choice import ChosenFit
from headwater.http.inputs.timerange import months_after, months_between
from headwater.reports.engine.measures import plain, rounded
from headwater.reports.left_out_money import LeftOutMoney, LeftOutSpend
from headwater.reports.models import Filters, Group, KeyCondition, Measure, ReportQuery

GROUPS = (
    Group.SOURCE,
    Group.PLATFORM,
    Group.CHANNEL,
    Group.CAMPAIGN,
    Group.ADSET,
    Group.AD,
    Group.KEYWORD,
    Group.LANDING_PAGE,
)
"""The groups of touches that cohorts may be of."""
ONLY = (Group.SOURCE, Group.PLATFORM, Group.CHANNEL, Group.CAMPAIGN, Group.ADSET)
"""The groups whose keys a report may be narrowed by: spend has them, too."""
MOST_MONTHS = 60
"""From the first month of acquisition to the present one."""


class Payback(StrEnum):
    """The answers to whether a cohort has earned what it had cost."""

    REACHED = "reached"
    NOT_YET = "not_yet"
    NO_SPEND = "no_spend"
    """Nothing was spent, as far as the ledger says."""


@dataclass(frozen=True)
class CohortQuery:
    """One report of cohorts. `query_cohorts` refuses what does not fit together.

    What it has in common with a ReportQuery means the same; credit is that of first orders.
    """

    first: date
    """The first day of the first month of acquisition."""
    last: date
    """A day of the last one."""
    today: date
    """On the Space's clock; the month that it is in is not over."""
    group: Group | None = None
    """One of the groups of touches; None for no more than all together."""
    model: str = "last_touch"
    window_days: int = 30
    by_company: bool = False
    event_names: tuple[str, ...] = ()
    only: tuple[KeyCondition, ...] = ()
    """The touches whose credit counts."""
    limit: int = 50
    """The most keys of the group."""
    currency: str | None = None
    fit: str | None = None

    @property
    def report(self) -> ReportQuery:
        """The report of everything that is observed, from the first month to the present one."""
        return ReportQuery(
            datetime(self.first.year, self.first.month, 1),  # noqa: DTZ001 - on the Space's clock
            last_second(self.today),
            (Measure.CREDITED_REVENUE,),
            () if self.group is None else (self.group,),
            (self.model,),
            self.window_days,
            self.by_company,
            Filters(self.event_names, only=self.only),
            limit=self.limit,
            currency=self.currency,
            fit=self.fit,
        )


@dataclass(frozen=True)
class Acquisition:
    """The condition that an event's customer was acquired in a month, and by some touches."""

    month: date
    """Its first day."""
    only: tuple[KeyCondition, ...] = ()
    """The touches of which one has credit of the first order; empty is any order."""
    unattributed: bool = False
    """True for those whose first order no touch has credit of."""


@dataclass(frozen=True)
class Cohort:
    """The customers whose first order was in a month, as far as touches with a key have credit of
    it. What has a value for each month since begins with that month itself.
    """

    month: date
    """Its first day."""
    customers: tuple[int, ...]
    """Those with an order, each once; in the first month all of them."""
    revenue: tuple[Decimal, ...]
    """The part of all that they brought that these touches have."""
    spend: Decimal | None
    """What was spent on these touches in the month; None where no spend can be theirs."""
    cost_rate: Decimal | None
    """The Space's, in per cent of revenue."""
    key: str | None = None
    label: str | None = None

    @property
    def new_customers(self) -> int:
        return self.customers[0]

    @property
    def complete_months(self) -> int:
        """The number of months that are over: all but the present one."""
        return len(self.revenue) - 1

    @property
    def cumulative_revenue(self) -> tuple[Decimal, ...]:
        return tuple(map(plain, accumulate(self.revenue)))

    @property
    def total_revenue(self) -> Decimal:
        return self.cumulative_revenue[-1]

    @property
    def contribution(self) -> tuple[Decimal, ...] | None:
        """The rest of the revenue until each month after the cost rate and the month's spend,
        exactly; None where the Space has no cost rate.
        """
        return None if self.cost_rate is None else self._left(self.cost_rate)

    @property
    def cac(self) -> Decimal | None:
        """The spend for one new customer."""
        return ratio(self.spend, self.new_customers)

    @property
    def payback(self) -> Payback:
        if not self.spend:
            return Payback.NO_SPEND
        return Payback.NOT_YET if self.payback_month is None else Payback.REACHED

    @property
    def payback_month(self) -> int | None:
        """The first month, counted from 0, until which the contribution covers the spend; without a
        cost rate all revenue counts. None for none yet, and where nothing was spent.
        """
        left = self._left(self.cost_rate or Decimal(0)) if self.spend else ()
        return next((month for month, rest in enumerate(left) if rest >= 0), None)

    def _left(self, rate: Decimal) -> tuple[Decimal, ...]:
        spend = self.spend or Decimal(0)
        return tuple(plain(revenue * (100 - rate) / 100 - spend) for revenue in self.cumulative_revenue)


def ratio(spend: Decimal | None, customers: int) -> Decimal | None:
    """Return the spend for one customer; None where either is nothing."""
    return rounded(Fraction(spend) / customers) if spend and customers else None


@dataclass(frozen=True)
class CohortGroup:
    """The cohorts of one key, oldest first."""

    key: str | None
    label: str | None
    cohorts: tuple[Cohort, ...]

    @property
    def new_customers(self) -> int:
        return sum(each.new_customers for each in self.cohorts)

    @property
    def spend(self) -> Decimal | None:
        known = [each.spend for each in self.cohorts if each.spend is not None]
        return plain(sum(known, Decimal(0))) if known else None

    @property
    def revenue(self) -> Decimal:
        return plain(sum((each.total_revenue for each in self.cohorts), Decimal(0)))

    @property
    def contribution(self) -> Decimal | None:
        parts = [each.contribution[-1] for each in self.cohorts if each.contribution is not None]
        return plain(sum(parts, Decimal(0))) if parts else None

    @property
    def cac(self) -> Decimal | None:
        return ratio(self.spend, self.new_customers)


@dataclass(frozen=True)
class CohortReport:
    """The result of a query. Of each month, and each month since, the revenue of all groups and the
    unattributed one is the total's, to the last decimal; and so is the spend of all groups and the
    unmatched one.
    """

    group: Group | None
    groups: tuple[CohortGroup, ...]
    """By key, the most spend first, then the most revenue; each with all months."""
    left_out: int
    """Groups beyond the limit."""
    total: CohortGroup
    """Of everything that counts, each customer once."""
    unattributed: CohortGroup | None
    """Of customers whose first order no touch has credit of; None where only some touches count."""
    unmatched: tuple[Decimal, ...] | None
    """By month, the spend that is in no group; None without groups."""
    months: tuple[date, ...]
    """The first days of the months of acquisition."""
    today: date
    timezone: str
    currency: str
    cost_rate: Decimal | None
    fit: ChosenFit | None = None
    """The fit that credit depends on."""
    left_out_money: tuple[LeftOutMoney, ...] = ()
    """Of the events from the first month until today."""
    left_out_spend: tuple[LeftOutSpend, ...] = ()


def last_second(day: date) -> datetime:
    """Return the last second of the month that a day is in."""
    last = months_after(day, 1) - date.resolution
    return datetime(last.year, last.month, last.day, 23, 59, 59)  # noqa: DTZ001 - as above


def months_of(first: date, last: date) -> Sequence[date]:
    """Return the first days of the months from that of one day to that of another."""
    return [months_after(first, number) for number in range(months_between(first, last) + 1)]
