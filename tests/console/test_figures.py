"""How figures and their changes are written."""

from __future__ import annotations

from fractions import Fraction

import pytest

from headwater.console.report_pages.figures import written_change
from headwater.console.scheduled_reports.report_content import write_total
from headwater.reports.engine.measures import change_between


@pytest.mark.parametrize(
    ("current", "previous", "page", "message"),
    [
        (150, 100, ("50.0 %", "up"), "orders 150 (+50.0 %)"),
        (50, 100, ("50.0 %", "down"), "orders 50 (-50.0 %)"),
        (100, 100, ("no change", "same"), "orders 100 (no change)"),
        (5, 0, ("new", "up"), "orders 5 (new)"),
        (1_000_001, 1_000_000, ("0.0 %", "up"), "orders 1000001 (+0.0 %)"),
        (-20, -10, ("100.0 %", "down"), "orders -20 (-100.0 %)"),
        (100_046, 100_000, ("0.0 %", "up"), "orders 100046 (+0.0 %)"),
    ],
)
def test_it_works(current: int, previous: int, page: tuple[str, str], message: str) -> None:
    """A small difference is not no change, and what was 0 before has no sign."""
    change = written_change(change_between(Fraction(current), Fraction(previous)))
    assert change is not None
    assert (change.text, change.direction) == page
    assert write_total("Orders", f"{current}", change) == message


def test_nothing_before_and_now() -> None:
    assert written_change(change_between(0, 0)) is None
