from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import sqrt
from typing import Self

from msgspec import Struct

LAGS = 5
"""The number of earlier weeks to compare."""
FEWEST_LAGS = 2
"""Fewer weeks give no usual range."""
HOURS, DAYS = 168, 7


class UsualRange(Struct, frozen=True):
    low: float
    middle: float
    high: float


class CountSeries(Struct, frozen=True):
    """Hourly or daily counts up to the judged step."""

    totals: Sequence[int]
    """Prefix sums: before each step, and the total."""
    end: int
    """The number of steps before the end of the judged period."""
    week: int = HOURS
    began: int = 0

    @classmethod
    def of(cls, counts: Iterable[int], week: int = HOURS, began: int = 0) -> Self:
        """Build from counts, the last of them judged."""
        totals = list(accumulate(counts, initial=0))
        return cls(totals, len(totals) - 1, week, began)

    def total(self, steps: int, steps_back: int = 0) -> int:
        """Sum `steps` counts, ending `steps_back` steps before the end."""
        last = max(self.end - steps_back, 0)
        return self.totals[last] - self.totals[max(last - steps, 0)]

    def usual(self, steps: int, steps_back: int = 0) -> UsualRange | None:
        """Return `total` in other weeks; None without enough weeks."""
        lags = min(LAGS, (self.end - steps_back - steps - self.began) // self.week)
        if lags < FEWEST_LAGS:
            return None
        totals, last, week = self.totals, self.end - steps_back, self.week
        ends = range(last - week, last - week * lags - 1, -week)
        sums = sorted([totals[end] - totals[end - steps] for end in ends])
        middle_index = lags // 2
        middle = float(sums[middle_index]) if lags % 2 else (sums[middle_index - 1] + sums[middle_index]) / 2
        low = min(sums[0], max(middle - 2 * sqrt(middle), 0.0))
        return UsualRange(low, middle, max(sums[-1], middle + 2 * sqrt(middle)))

    @property
    def is_known(self) -> bool:
        """True if there are enough weeks for a usual range."""
        return self.usual(1) is not None


NO_COUNTS = CountSeries((0,), 0)
