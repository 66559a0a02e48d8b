"""Judgements of single counts, in memory."""

from __future__ import annotations

import pytest

from headwater.alerts.judgement import judge_hour
from headwater.alerts.models import Alertness, SpaceCounts
from headwater.alerts.rules import Rule
from headwater.alerts.series import CountSeries

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
