"""Rules for amounts: those that count in a report, and the reasons to leave others out. Pure.

An amount counts with its value in the report's currency. It is left out when no exchange rate is
known, or when its value is beyond a bound: no sum can overflow, and a visitor who sends an absurd
amount cannot drown the figures of everybody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fractions import Fraction

from headwater.spend.rates.exchange import RateTable, converted

HUNDREDTH = 100
"""Ten-thousandths: to what a converted amount is rounded."""
UNIT = 10_000
"""Amounts are in ten-thousandths."""
MAX_AMOUNT = 10**11 * UNIT
"""In the Space's currency."""
MAX_PAGE_AMOUNT = 10**7 * UNIT
"""The same for an amount that only a page reported: anybody can send one."""
MAX_REPORTED = 10**14 * UNIT
"""In the report's currency, so that every amount fits 64 bits."""


class LeftOutReason(StrEnum):
    """The reasons to leave money out of a report."""

    NO_RATE = "no_rate"
    TOO_LARGE = "too_large"
    PAGE_AMOUNT_TOO_LARGE = "page_amount_too_large"

    @property
    def words(self) -> str:
        return _WORDS[self]


_WORDS = {
    LeftOutReason.NO_RATE: "no exchange rate",
    LeftOutReason.TOO_LARGE: "amount too large",
    LeftOutReason.PAGE_AMOUNT_TOO_LARGE: "amount too large to be trusted from a page",
}


Counted = int | LeftOutReason
"""The value of an amount in the report's currency, or why it is left out."""


@dataclass(frozen=True)
class _Value:
    """The value of one unit in another currency."""

    rate: Fraction | None
    """None where the currency is the same, in which amounts are not rounded."""

    def of(self, amount: int) -> int:
        return amount if self.rate is None else converted(amount, self.rate, HUNDREDTH)


@dataclass(frozen=True)
class AmountRule:
    """Counts the amounts of one currency on one day."""

    reported: _Value | None
    """In the report's currency; None where no rate is known."""
    bounded: _Value | None
    """In the currency of the bounds: the Space's, or the report's where no rate to that is known.
    """

    @classmethod
    def of(cls, rates: RateTable, day: date, currency: str, target: str, own: str) -> AmountRule:
        """Return the rule for a report in `target` of a Space whose currency is `own`."""
        reported = _value(rates, day, currency, target)
        return cls(reported, _value(rates, day, currency, own) or reported)

    def count(self, amount: int, *, from_page: bool) -> Counted:
        """Count an amount, which only a page reported or not."""
        if self.reported is None or self.bounded is None:
            return LeftOutReason.NO_RATE
        value = self.reported.of(amount)
        size = abs(value if self.bounded == self.reported else self.bounded.of(amount))
        if from_page and size > MAX_PAGE_AMOUNT:
            return LeftOutReason.PAGE_AMOUNT_TOO_LARGE
        if size > MAX_AMOUNT or abs(value) > MAX_REPORTED:
            return LeftOutReason.TOO_LARGE
        return value

    def count_all(self, amounts: Sequence[int], *, from_page: bool) -> Sequence[Counted]:
        """Count several amounts; a bound that the largest keeps is kept by all."""
        largest = max(map(abs, amounts), default=0)
        counted = self.count(largest, from_page=from_page)
        if self.reported is None:
            return [counted] * len(amounts)
        if isinstance(counted, LeftOutReason):
            return [self.count(amount, from_page=from_page) for amount in amounts]
        return [self.reported.of(amount) for amount in amounts]


def _value(rates: RateTable, day: date, currency: str, target: str) -> _Value | None:
    if currency == target:
        return _Value(None)
    rate = rates.rate(day, currency, target)
    return None if rate is None else _Value(rate)
