"""Decide which amounts count in a report, and why others are left out. Pure.

An amount without an exchange rate or above a limit is left out, so that no sum can overflow and no visitor
can distort the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct

from headwater.spend.rates.exchange import RateTable, convert

HUNDREDTH = 100
"""In ten-thousandths: converted amounts are rounded to this."""
UNIT = 10_000
"""Amounts are in ten-thousandths."""
MAX_AMOUNT = 10**11 * UNIT
"""In the Space's currency."""
MAX_PAGE_AMOUNT = 10**7 * UNIT
"""For an amount that only a page reported, which anyone can send."""
MAX_REPORTED = 10**14 * UNIT
"""In the report's currency. Keeps every amount within 64 bits."""


class LeftOutReason(StrEnum):
    """The reason money is left out of a report."""

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


class _Value(Struct, frozen=True):
    rate: Fraction | None
    """None for the same currency, whose amounts aren't rounded."""

    def convert(self, amount: int) -> int:
        return amount if self.rate is None else convert(amount, self.rate, HUNDREDTH)


class AmountRule(Struct, frozen=True):
    reported: _Value | None
    bounded: _Value | None
    """To the currency of the limits: the Space's, or without a rate the report's."""

    @classmethod
    def for_day(
        cls, rates: RateTable, day: date, currency: str, target: str, space_currency: str
    ) -> AmountRule:
        reported = _value(rates, day, currency, target)
        return cls(reported, _value(rates, day, currency, space_currency) or reported)

    def count(self, amount: int, *, from_page: bool) -> Counted:
        if self.reported is None or self.bounded is None:
            return LeftOutReason.NO_RATE
        value = self.reported.convert(amount)
        size = abs(value if self.bounded == self.reported else self.bounded.convert(amount))
        if from_page and size > MAX_PAGE_AMOUNT:
            return LeftOutReason.PAGE_AMOUNT_TOO_LARGE
        if size > MAX_AMOUNT or abs(value) > MAX_REPORTED:
            return LeftOutReason.TOO_LARGE
        return value

    def count_all(self, amounts: Sequence[int], *, from_page: bool) -> Sequence[Counted]:
        """Count several amounts. If the largest is within the limits, all are."""
        largest = max(map(abs, amounts), default=0)
        counted_amount = self.count(largest, from_page=from_page)
        if self.reported is None:
            return [counted_amount] * len(amounts)
        if isinstance(counted_amount, LeftOutReason):
            return [self.count(amount, from_page=from_page) for amount in amounts]
        return [self.reported.convert(amount) for amount in amounts]


def _value(rates: RateTable, day: date, currency: str, target: str) -> _Value | None:
    if currency == target:
        return _Value(None)
    rate = rates.rate(day, currency, target)
    return None if rate is None else _Value(rate)
