"""The horizontal lines of a chart: round values, few of them above the drawn ones."""

from __future__ import annotations

import pytest

from headwater.console.report_pages.charts.charts import Series, stacked


@pytest.mark.parametrize(
    ("highest", "marks"),
    [
        (4, (4, 3, 2, 1, 0)),
        (4.1, (6, 4, 2, 0)),
        (8, (8, 6, 4, 2, 0)),
        (10, (10, 7.5, 5, 2.5, 0)),
        (20, (20, 15, 10, 5, 0)),
        (21, (30, 20, 10, 0)),
        (0.04, (0.04, 0.03, 0.02, 0.01, 0)),
        (0, (0,)),
    ],
)
def test_rules_are_round_and_reach_the_highest_value(highest: float, marks: tuple[float, ...]) -> None:
    assert stacked([Series("Revenue", [0, highest, -highest])]).marks == pytest.approx(marks)
