"""The usual range of a count, from the same time in earlier weeks."""

from __future__ import annotations

from math import sqrt

import pytest

from headwater.alerts.series import DAYS, CountSeries, UsualRange

WEEKS = [10] * 7 + [20] * 7
"""Two weeks by day."""


def test_two_earlier_weeks_have_a_usual_range() -> None:
    series = CountSeries.of([*WEEKS, 5], DAYS)
    assert series.total(1) == 5
    assert series.usual(1) == UsualRange(15 - 2 * sqrt(15), 15, 15 + 2 * sqrt(15))
    assert series.usual(2) is None, "it would need a day before the first"


@pytest.mark.parametrize("series", [CountSeries.of(WEEKS, DAYS), CountSeries.of([0, *WEEKS], DAYS, began=1)])
def test_short_series_have_no_range(series: CountSeries) -> None:
    assert not series.is_known


def test_the_middle_of_five_weeks_and_their_ends() -> None:
    weeks = [999, 50, 100, 300, 80, 90]
    series = CountSeries.of([count for count in weeks for _ in range(7)] + [0], DAYS)
    assert series.usual(1) == UsualRange(50, 90, 300), "the sixth last week is left out"
