"""Amounts of one currency in another, on a day. Exact: no float. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction

DAYS_BACK = 7
"""The rates of a day without any, such as a Sunday, are the latest of so many days before."""
EURO = "EUR"


@dataclass(frozen=True)
class RateTable:
    """The rates of some days."""

    own: Mapping[date, Mapping[tuple[str, str], Fraction]] = field(
        default_factory=dict[date, dict[tuple[str, str], Fraction]]
    )
    """By day, base and currency: a Space's."""
    per_euro: Mapping[date, Mapping[str, Fraction]] = field(default_factory=dict[date, dict[str, Fraction]])
    """By day and currency: those of all Spaces."""
    _cache: dict[tuple[date, str, str], Fraction | None] = field(
        default_factory=dict[tuple[date, str, str], "Fraction | None"], compare=False, repr=False
    )
    """Earlier look-ups: many amounts have the same day and currency."""

    def rate(self, day: date, source: str, target: str) -> Fraction | None:
        """Return how many units of `target` one of `source` is; None where nobody knows."""
        key = day, source, target
        if key not in self._cache:
            self._cache[key] = self._find(day, source, target)
        return self._cache[key]

    def _find(self, day: date, source: str, target: str) -> Fraction | None:
        if source == target:
            return Fraction(1)
        for back in range(DAYS_BACK + 1):
            earlier = day - timedelta(days=back)
            rate = self._own(earlier, source, target) or self._reference(earlier, source, target)
            if rate is not None:
                return rate
        return None

    def _own(self, day: date, source: str, target: str) -> Fraction | None:
        """Return the rate by a Space's own of one day: directly, or by way of one other currency,
        the first in the alphabet.
        """
        rates = self.own.get(day)
        if not rates:
            return None
        direct = _between(rates, source, target)
        if direct is not None:
            return direct
        for middle in sorted({currency for pair in rates for currency in pair}):
            first, second = _between(rates, source, middle), _between(rates, middle, target)
            if first is not None and second is not None:
                return first * second
        return None

    def _reference(self, day: date, source: str, target: str) -> Fraction | None:
        rates = self.per_euro.get(day)
        if not rates:
            return None
        per_source, per_target = (
            Fraction(1) if currency == EURO else rates.get(currency) for currency in (source, target)
        )
        return per_target / per_source if per_source and per_target else None


def _between(rates: Mapping[tuple[str, str], Fraction], source: str, target: str) -> Fraction | None:
    if (source, target) in rates:
        return rates[source, target]
    back = rates.get((target, source))
    return 1 / back if back else None


def converted(amount: int, rate: Fraction, step: int) -> int:
    """Return an amount in another currency, rounded half-even to a multiple of `step`."""
    divisor = rate.denominator * step
    steps, rest = divmod(amount * rate.numerator, divisor)
    is_up = 2 * rest > divisor or (2 * rest == divisor and steps % 2 == 1)
    return step * (steps + is_up)


def days_before(days: Iterable[date]) -> list[date]:
    """Return the days whose rates the rates of some days may be."""
    spread = {day - timedelta(days=back) for day in days for back in range(DAYS_BACK + 1)}
    return sorted(spread)
