"""Amounts in a report's currency, each at its own day's rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction

from tests.support.report_model.bounds import reason_beyond

DAYS_BACK = 7
MAX_REPORTED = 10**14
"""In a report's currency."""


@dataclass
class Money:
    """The currency of a report, and the exchange rates to it."""

    target: str
    currency: str
    """The Space's currency, which is the default for amounts without one."""
    rates: Mapping[tuple[date, str, str], Fraction] = field(
        default_factory=dict[tuple[date, str, str], Fraction]
    )
    """Units of the second currency for one unit of the first."""

    def convert(
        self, amount: Fraction, currency: str, day: date, target: str | None = None
    ) -> Fraction | None:
        """Convert an amount to hundredths, rounding halves to even. Return None without a rate."""
        target = target or self.target
        if currency == target:
            return amount
        for days_back in range(DAYS_BACK + 1):
            worth = self._read_day(day - timedelta(days=days_back), currency, target)
            if worth is not None:
                return Fraction(round(amount * worth * 100), 100)
        return None

    def count(self, amount: Fraction, currency: str, day: date, *, is_from_page: bool) -> Fraction | str:
        """Return an event's amount that counts, or the reason why it is left out."""
        value = self.convert(amount, currency, day)
        if value is None:
            return "no_rate"
        space_amount = self.convert(amount, currency, day, self.currency)
        size = abs(value if space_amount is None else space_amount)
        reason = reason_beyond(size, is_from_page=is_from_page)
        return reason or ("too_large" if abs(value) > MAX_REPORTED else value)

    def _read_day(self, day: date, currency: str, target: str) -> Fraction | None:
        """Return the day's rate: direct or inverse, otherwise through the first currency that connects
        both.
        """
        rates = {pair[1:]: worth for pair, worth in self.rates.items() if pair[0] == day}
        rates |= {
            (quote, base): 1 / worth for (base, quote), worth in rates.items() if (quote, base) not in rates
        }
        ways = [rates.get((currency, target))]
        for middle in sorted({base for base, _ in rates}):
            legs = rates.get((currency, middle)), rates.get((middle, target))
            ways.append(legs[0] * legs[1] if legs[0] and legs[1] else None)
        return next((way for way in ways if way is not None), None)
