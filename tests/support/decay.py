"""The weights of time decay, implemented from the documented rule in plain Python. A reference for the
versions in the database and numpy, with which it shares no code.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decayed_fractions(moments: Sequence[datetime], half_life_days: int = 7) -> list[Fraction]:
    """Return each touch's fraction of the total, given the times of a path in order."""
    weights = [weight(age, half_life_days) for age in ages(moments)]
    return [Fraction(touch_weight, sum(weights)) for touch_weight in weights]


def ages(moments: Sequence[datetime]) -> list[int]:
    """Return how many seconds each moment is before the latest, in whole seconds of the clock."""
    seconds = [(moment - _EPOCH).total_seconds() // 1 for moment in moments]
    return [int(seconds[-1] - second) for second in seconds]


def weight(age: int, half_life_days: int) -> int:
    """Return the weight at an age in seconds. It starts at 2**20 and falls to half within a half-life, in
    1,024 equal steps. After whole half-lives it is a half, a quarter and so on of the weight within the
    first, rounded down.
    """
    steps = int(Fraction(age * 1024, half_life_days * 86_400))
    return _first_factor(steps % 1024) // 2 ** (steps // 1024)


@cache
def _first_factor(step: int) -> int:
    exact = Decimal(2) ** (20 - Decimal(step) / 1024)
    return int(exact.quantize(Decimal(1), ROUND_HALF_EVEN))
