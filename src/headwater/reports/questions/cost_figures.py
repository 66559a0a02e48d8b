"""Figures of what ads cost beside what they brought. Every report, page and list takes its ROAS,
CPA, CAC and contribution from here. Pure; money is exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from headwater.reports.engine.measures import change_between, plain, rounded
from headwater.reports.models import Figure, MeasureChange
from headwater.spend.breakdown import NOTHING, Figures

MILLIONTHS = 10**6


@dataclass(frozen=True)
class Credit:
    """The credit of some touches."""

    revenue: Decimal = Decimal(0)
    """Net of refunds."""
    conversions: Fraction = Fraction(0)
    new_customers: int = 0
    new_customer_revenue: Decimal = Decimal(0)
    """The revenue of first orders, net of their refunds."""

    def plus(self, other: Credit, sign: int = 1) -> Credit:
        """Return the sum of both, or their difference."""
        return Credit(
            self.revenue + sign * other.revenue,
            self.conversions + sign * other.conversions,
            self.new_customers + sign * other.new_customers,
            self.new_customer_revenue + sign * other.new_customer_revenue,
        )

    @classmethod
    def sum_of(cls, several: Iterable[Credit]) -> Credit:
        """Return the sum of all."""
        total = cls()
        for credit in several:
            total = total.plus(credit)
        return total


NO_CREDIT = Credit()


@dataclass(frozen=True)
class CostFigures:
    """Sums of what was spent, what the platforms claim for it, and what is credited."""

    spent: Figures = NOTHING
    credit: Credit = NO_CREDIT
    paid: Credit | None = None
    """The part of the credit that ratios are of: that of platforms with spend. None is all of it,
    as in a row of touches.
    """
    cost_rate: Decimal | None = None
    """The Space's, in per cent of revenue."""
    has_ratios: bool = True
    """False where the spend is not the one that led to the credit."""

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
        """The rest of the credited revenue after the Space's cost rate and spend, exactly; None
        where the Space has no cost rate.
        """
        if self.cost_rate is None or not self.has_ratios:
            return None
        return plain(self.credited_revenue * (100 - self.cost_rate) / 100 - self.spend)

    @property
    def roas(self) -> Decimal | None:
        """The credited revenue for one unit of spend; None without spend."""
        return self._per_spend(Fraction(self._paid.revenue))

    @property
    def cpa(self) -> Decimal | None:
        """The spend for one conversion; None without spend or conversions."""
        return self._cost_of(self._paid.conversions)

    @property
    def cac(self) -> Decimal | None:
        """The spend for one new customer; None without spend or new customers."""
        return self._cost_of(Fraction(self._paid.new_customers))

    @property
    def is_nothing(self) -> bool:
        """True where all sums are 0."""
        return self.spent == NOTHING and self.credit == NO_CREDIT

    def less(self, other: CostFigures) -> CostFigures:
        """Return the difference of the sums."""
        spent = tuple(new - old for new, old in zip(self.spent, other.spent, strict=True))
        credit = self.credit.plus(other.credit, -1)
        return CostFigures(spent, credit, None, self.cost_rate, self.has_ratios)

    def change(self, name: str, then: CostFigures) -> MeasureChange | None:
        """Return how the figure of a name has changed since then; None from or to none."""
        new: Figure = getattr(self, name)
        old: Figure = getattr(then, name)
        return None if new is None or old is None else change_between(new, old)

    @property
    def _paid(self) -> Credit:
        return self.credit if self.paid is None else self.paid

    @property
    def _spend(self) -> Fraction:
        return Fraction(self.spent[0], MILLIONTHS)

    def _per_spend(self, part: Fraction) -> Decimal | None:
        return rounded(part / self._spend) if self.has_ratios and self._spend else None

    def _cost_of(self, count: Fraction) -> Decimal | None:
        return rounded(self._spend / count) if self.has_ratios and self._spend and count else None
