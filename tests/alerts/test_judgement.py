"""Judgements of single counts, in memory."""

from __future__ import annotations

import pytest

from headwater.alerts.judgement import judge_day, judge_hour
from headwater.alerts.models import Alertness, DayCounts, SpaceCounts
from headwater.alerts.rules import Rule
from headwater.alerts.series import DAYS, CountSeries

WEEKS = [11] * 168 * 5
"""Five weeks of the lowest hourly count that is judged."""


@pytest.mark.parametrize(("hourly", "alerts"), [(11, [(Rule.VISITS_FELL, 1)]), (6, [])])
def test_an_hour_is_judged_by_the_level_of_the_day_before(
    hourly: int, alerts: list[tuple[Rule, int]]
) -> None:
    """An hour without visits is an alert after an ordinary day; after a day with half of the usual visits it
    may be chance.
    """
    counts = SpaceCounts(visits=CountSeries.of([*WEEKS, *[hourly] * 24, 0]))
    judgements = judge_hour(counts, Alertness())
    assert [(judgement.rule, judgement.steps) for judgement in judgements if judgement.is_out] == alerts


@pytest.mark.parametrize(
    ("google", "email", "alerts"),
    [
        ((2, 200), (40, 4000), ["google_ads"]),
        ((2, 4000), (40, 4000), []),  # few large orders
        ((40, 200), (40, 4000), []),  # many small orders
        ((2, 200), (2, 200), []),  # all sources fell alike
    ],
)
def test_a_source_s_revenue_is_low_if_its_orders_and_its_revenue_fell_more_than_others(
    google: tuple[int, int], email: tuple[int, int], alerts: list[str]
) -> None:
    """After five weeks with 40 orders of 100 a day from each of two sources."""

    def series(usual: int, last_day: int) -> CountSeries:
        return CountSeries.of([*[usual] * DAYS * 5, last_day], week=DAYS)

    last_days = {"google_ads": google, "email": email}
    counts = DayCounts(
        {source: series(40, orders) for source, (orders, _) in last_days.items()},
        {source: series(4000, revenue) for source, (_, revenue) in last_days.items()},
    )
    judgements = judge_day(counts, Alertness())
    assert {judgement.rule for judgement in judgements} == {Rule.SOURCE_REVENUE_FELL}
    assert [judgement.subject for judgement in judgements if judgement.is_out] == alerts
