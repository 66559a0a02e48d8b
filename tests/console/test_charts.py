"""The horizontal lines of a chart: round values, few of them above the drawn ones."""

from __future__ import annotations

from fractions import Fraction

import pytest

from headwater.console.report_pages.charts.bar_chart import draw_bars
from headwater.console.report_pages.charts.charts import Series
from headwater.console.report_pages.course import describe_step


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
    chart = draw_bars([Series("Revenue", [0, highest])], [])
    assert [value for value, _ in chart.marks] == pytest.approx(marks)


def test_values_below_zero_hang_from_the_zero_line() -> None:
    """A day of 100 and a refund of 50: 100 of one channel above the line, 50 of another below it."""
    chart = draw_bars([Series("Paid ads", [100], 0), Series("E-mail", [-50], 3)], [-50])
    assert [value for value, _ in chart.marks] == [100, 50, 0, -50]
    (step,) = chart.steps
    assert [(bar.y, bar.height, bar.colour) for bar in step.bars] == [("0", "160", 0), ("160", "80", 3)]
    assert step.outline is not None
    assert (step.outline.y, step.outline.height) == ("160", "80")


def test_the_text_of_a_bar_has_its_largest_parts_also_refunds() -> None:
    parts = {"Paid ads": 324, "Organic": 169, "Referral": 168, "E-mail": -380, "Direct": 0}
    text = describe_step("All 281", "1,682", {name: Fraction(value) for name, value in parts.items()}, str)
    assert text == "All 281 · before 1,682 · E-mail -380 · Paid ads 324 · Organic 169"
