"""Convert amounts between currencies on a day. Exact: no floats. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction

MAX_DAYS_BACK = 7
"""A day without rates, such as a Sunday, uses the latest rates of this many days before."""
EURO = "EUR"


@dataclass(frozen=True)
class RateTable:
    space_rates: Mapping[date, Mapping[tuple[str, str], Fraction]] = field(
        default_factory=dict[date, dict[tuple[str, str], Fraction]]
    )
    per_euro: Mapping[date, Mapping[str, Fraction]] = field(default_factory=dict[date, dict[str, Fraction]])
    _cache: dict[tuple[date, str, str], Fraction | None] = field(
        default_factory=dict[tuple[date, str, str], "Fraction | None"], compare=False, repr=False
    )

    def rate(self, day: date, source: str, target: str) -> Fraction | None:
        """Return the units of `target` equal to one of `source`, another currency; None if unknown."""
        key = day, source, target
        if key not in self._cache:
            self._cache[key] = self._find(day, source, target)
        return self._cache[key]

    def _find(self, day: date, source: str, target: str) -> Fraction | None:
        for days_back in range(MAX_DAYS_BACK + 1):
            earlier_day = day - timedelta(days=days_back)
            rate = self._space_rate(earlier_day, source, target) or self._reference_rate(
                earlier_day, source, target
            )
            if rate is not None:
                return rate
        return None

    def _space_rate(self, day: date, source: str, target: str) -> Fraction | None:
        """Return a day's rate from the Space's own rates: direct, or through the alphabetically first other
        currency.
        """
        rates = self.space_rates.get(day)
        if not rates:
            return None
        direct = _find_direct(rates, source, target)
        if direct is not None:
            return direct
        for middle in sorted({currency for pair in rates for currency in pair}):
            first, second = _find_direct(rates, source, middle), _find_direct(rates, middle, target)
            if first is not None and second is not None:
                return first * second
        return None

    def _reference_rate(self, day: date, source: str, target: str) -> Fraction | None:
        rates = self.per_euro.get(day)
        if not rates:
            return None
        source_rate, target_rate = (
            Fraction(1) if currency == EURO else rates.get(currency) for currency in (source, target)
        )
        return target_rate / source_rate if source_rate and target_rate else None


def _find_direct(rates: Mapping[tuple[str, str], Fraction], source: str, target: str) -> Fraction | None:
    if (source, target) in rates:
        return rates[source, target]
    inverse_rate = rates.get((target, source))
    return 1 / inverse_rate if inverse_rate else None


def convert(amount: int, rate: Fraction, step: int) -> int:
    """Return the converted amount, rounded half-even to a multiple of `step`."""
    divisor = rate.denominator * step
    steps, remainder = divmod(amount * rate.numerator, divisor)
    is_up = 2 * remainder > divisor or (2 * remainder == divisor and steps % 2 == 1)
    return step * (steps + is_up)


def add_fallback_days(days: Iterable[date]) -> list[date]:
    """Return the days together with the earlier days whose rates they may use."""
    return sorted({day - timedelta(days=days_back) for day in days for days_back in range(MAX_DAYS_BACK + 1)})
