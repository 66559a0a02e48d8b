"""Counts over time, and what is usual at the same time of the week. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt
from typing import Self

LAGS = 5
"""The weeks before that are looked at."""
FEWEST_LAGS = 2
"""With fewer of them, nothing is usual yet."""
HOURS, DAYS = 168, 7
"""The steps of a week."""


@dataclass(frozen=True, slots=True)
class UsualRange:
    """The counts of the same time in other weeks."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class CountSeries:
    """Counts of one thing, hour by hour or day by day, up to the step that is judged."""

    totals: Sequence[int]
    """The sums of all counts before each step, and of all of them."""
    end: int
    """The number of steps before the end of what is judged."""
    week: int = HOURS
    began: int = 0
    """The first step of which anything is known."""

    @classmethod
    def of(cls, counts: Iterable[int], week: int = HOURS, began: int = 0) -> Self:
        """Return the series of some counts, the last of which is judged."""
        totals = list(accumulate(counts, initial=0))
        return cls(totals, len(totals) - 1, week, began)

    def total(self, steps: int, back: int = 0) -> int:
        """Return the sum of so many steps, which end `back` steps before the end."""
        last = max(self.end - back, 0)
        return self.totals[last] - self.totals[max(last - steps, 0)]

    def usual(self, steps: int, back: int = 0) -> UsualRange | None:
        """Return what `total` is in other weeks; None while too few of them are known."""
        lags = min(LAGS, (self.end - back - steps - self.began) // self.week)
        if lags < FEWEST_LAGS:
            return None
        totals, last, week = self.totals, self.end - back, self.week
        ends = range(last - week, last - week * lags - 1, -week)
        sums = sorted([totals[end] - totals[end - steps] for end in ends])
        half = lags // 2
        middle = float(sums[half]) if lags % 2 else (sums[half - 1] + sums[half]) / 2
        low = min(sums[0], max(middle - 2 * sqrt(middle), 0.0))
        return UsualRange(low, middle, max(sums[-1], middle + 2 * sqrt(middle)))

    @property
    def is_known(self) -> bool:
        """True when there are weeks enough to know what is usual."""
        return self.usual(1) is not None
