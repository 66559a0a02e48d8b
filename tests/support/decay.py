"""The weights of time decay by the words of the rule, in plain Python: the judge of the database's
and numpy's, with which it shares nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decayed_fractions(moments: Sequence[datetime], half_life_days: int = 7) -> list[Fraction]:
    """The fraction of the whole of each touch of a path, by their times in order."""
    weights = [weight(age, half_life_days) for age in ages(moments)]
    return [Fraction(each, sum(weights)) for each in weights]


def ages(moments: Sequence[datetime]) -> list[int]:
    """By how many seconds each is before the latest, counting whole seconds of the clock."""
    seconds = [(moment - _EPOCH).total_seconds() // 1 for moment in moments]
    return [int(seconds[-1] - each) for each in seconds]


def weight(age: int, half_life_days: int) -> int:
    """The weight after so many seconds: it is 2**20 at first, falls in 1,024 equal steps to the
    half within a half-life, and after whole half-lives is the half, the quarter and so on of what
    it was, rounded down.
    """
    steps = int(Fraction(age * 1024, half_life_days * 86_400))
    return _first(steps % 1024) // 2 ** (steps // 1024)


@cache
def _first(step: int) -> int:
    exact = Decimal(2) ** (20 - Decimal(step) / 1024)
    return int(exact.quantize(Decimal(1), ROUND_HALF_EVEN))
