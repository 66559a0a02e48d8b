"""The ripeness of recent days: the share of a day's final figure that is usually in by its age, and
the final figure to expect, with an interval. By the Space's own past days alone. Pure.

    came in at age   0    1    2    3    final    history: days of which everything is in
    Mon 2 Nov        60   25   10    5     100    by age 1, 85 were in
    Tue 3 Nov        80   21   12    7     120    by age 1, 101
    Sat 21 Nov       44   20    ·    ·       ?    84.5 % are usually in by age 1; expected 76
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.8
"""Of the interval: so many of the days end up in it."""
LEAST_HISTORY = 28
"""The past days, of which everything is in, from which something can be said."""
MOST_HISTORY = 120
RIPE = 0.999
"""The usual share from which a day counts as ripe."""

Numbers = NDArray[np.float64]


class NotJudged(StrEnum):
    """The reasons for which nothing is said."""

    TOO_LITTLE_HISTORY = "too_little_history"
    """Fewer than LEAST_HISTORY days with anything are old enough."""


@dataclass(frozen=True)
class DayRipeness:
    """A day that is not ripe."""

    day: date
    value: float
    """The figure as it was at the last midnight."""
    share_in: float
    """The share of the final figure that is usually in by this age."""
    expected: float
    """The final figure."""
    low: float
    high: float
    """Between these two it ends up on LEVEL of days."""


@dataclass(frozen=True)
class Ripeness:
    """The final figures to expect of a report's days, as of the last midnight."""

    as_of: date
    """The day that began then, which is not over and not judged."""
    horizon_days: int
    """The age from which everything counts as in."""
    history_days: int
    """The past days that it is judged by."""
    days: tuple[DayRipeness, ...] = ()
    """Those that are not ripe, the earliest first."""
    reason: NotJudged | None = None
    """The reason for which nothing is said."""

    @property
    def value(self) -> float:
        """The figures of the days that are not ripe, together."""
        return sum(day.value for day in self.days)

    @property
    def expected(self) -> float:
        """Their final figures."""
        return sum(day.expected for day in self.days)

    @property
    def share_in(self) -> float | None:
        """The part of these that is in; None of nothing."""
        return self.value / self.expected if self.expected > 0 else None


@dataclass(frozen=True)
class ArrivedFigures:
    """A figure by the day that it belongs to, and by the age of that day when it came in."""

    days: Sequence[date]
    """All days until yesterday, the earliest first."""
    by_age: Numbers
    """A row for each day; a column for each age in whole days, from 0 to the horizon. What came in
    later stands in the last column, and ages that a day has not reached are 0."""
    known_from: int = 0
    """The place of the first day that was seen as it came in."""

    @property
    def horizon(self) -> int:
        return self.by_age.shape[1] - 1


def judge(arrivals: ArrivedFigures, as_of: date, wanted: Collection[date]) -> Ripeness:
    """Return the final figures to expect of those of the wanted days that are not ripe."""
    so_far = arrivals.by_age.cumsum(axis=1)
    horizon, last = arrivals.horizon, len(arrivals.days) - 1
    ripe = last - horizon + 1
    history = so_far[max(arrivals.known_from, ripe - MOST_HISTORY) : max(ripe, 0)]
    history = history[history[:, -1] != 0]
    if len(history) < LEAST_HISTORY or history[:, -1].sum() <= 0:
        reason = NotJudged.TOO_LITTLE_HISTORY
        return Ripeness(as_of, horizon, len(history), reason=reason)
    judged = [
        _judge_day(day, float(so_far[place, last - place]), history, last - place)
        for place, day in enumerate(arrivals.days)
        if day in wanted and place >= ripe
    ]
    unripe = tuple(day for day in judged if day.share_in < RIPE)
    return Ripeness(as_of, horizon, len(history), unripe)


# What is left to come is taken to grow with what is in, and with what usually comes: a day of which
# nearly everything should be in is judged by itself, one of which hardly anything is by the others.
# In history, what was left is measured in this unit; the rank of the measures gives the interval,
# whatever their distribution.
#
#     unit = in + (1 - share) · mean       left = unit · measure
#
def _judge_day(day: date, value: float, history: Numbers, age: int) -> DayRipeness:
    reached, final = history[:, age], history[:, -1]
    share = min(1.0, float(reached.sum() / final.sum()))
    usual = (1 - share) * float(final.mean())
    units, unit = np.maximum(reached, 0) + usual, max(value, 0.0) + usual
    left, total = final - reached, float(units.sum())
    measures = np.sort(np.divide(left, units, out=np.zeros_like(left), where=units > 0))
    mean = float(left.sum()) / total if total > 0 else 0.0
    low, high = (value + unit * measure for measure in _middle(measures))
    return DayRipeness(day, value, share, value + unit * mean, low, high)


# Where many days have nothing left, the lowest measures are equal, and no day falls below them:
# then the upper end has that tail, too, and the other way round.
#
#     0 0 0 0 0 0 .1 .2 .2 .4        of ten, one should be below and one above; none is below 0,
#     └─ low      └─ high            so two may be above
#
def _middle(measures: Numbers) -> tuple[float, float]:
    """Return the ends between which LEVEL of further measures are, of measures in order."""
    count = len(measures)
    tail = (1 - LEVEL) / 2 * (count + 1)  # more than one, as there are LEAST_HISTORY measures

    def at(place: float) -> float:
        return float(np.interp(place, np.arange(count), measures))

    low, high = at(tail - 1), at(count - tail)
    spare_below = max(0.0, tail - 1 - np.count_nonzero(measures < low))
    spare_above = max(0.0, tail - 1 - np.count_nonzero(measures > high))
    ends = at(tail - 1 + spare_above), at(count - tail - spare_below)
    return min(ends), max(ends)
