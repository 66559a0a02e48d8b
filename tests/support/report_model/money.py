"""Amounts in the currency of a report, each at the rate of its own day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction

CurrencyDay = tuple[str, date]
DAYS_BACK = 7


class MissingRates(Exception):
    """Some amounts cannot be converted."""

    def __init__(self, missing: set[CurrencyDay]) -> None:
        super().__init__(missing)
        self.missing = missing


@dataclass
class Money:
    """The currency of a report, and what others are worth in it."""

    target: str
    own: str
    """The Space's, which amounts without one are in."""
    rates: Mapping[tuple[date, str, str], Fraction] = field(
        default_factory=dict[tuple[date, str, str], Fraction]
    )
    """Units of the second currency for one of the first."""
    is_lenient: bool = False
    """True where amounts without a rate are 0."""

    def convert(self, amount: Fraction, currency: str, day: date) -> Fraction:
        """An amount, to hundredths, halves to the even one. Raises MissingRates."""
        if currency == self.target:
            return amount
        for back in range(DAYS_BACK + 1):
            worth = self._of_day(day - timedelta(days=back), currency)
            if worth is not None:
                return Fraction(round(amount * worth * 100), 100)
        if self.is_lenient:
            return Fraction(0)
        raise MissingRates({(currency, day)})

    def _of_day(self, day: date, currency: str) -> Fraction | None:
        """Directly or the other way round, else by way of the first currency that leads there."""
        known = {pair[1:]: worth for pair, worth in self.rates.items() if pair[0] == day}
        known |= {
            (there, here): 1 / worth
            for (here, there), worth in known.items()
            if (there, here) not in known
        }
        ways = [known.get((currency, self.target))]
        for middle in sorted({here for here, _ in known}):
            legs = known.get((currency, middle)), known.get((middle, self.target))
            ways.append(legs[0] * legs[1] if legs[0] and legs[1] else None)
        return next((way for way in ways if way is not None), None)
