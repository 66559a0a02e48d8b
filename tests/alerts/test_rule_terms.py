"""The figures and thresholds of a Space's own rules, as messages and pages write them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from tests.alerts.test_custom_rules import ROAS_OF_META


@pytest.mark.parametrize(
    ("measure", "threshold", "figure", "text"),
    [
        ("roas", "2", "1.9999", "1.9999"),
        ("roas", "2", "1.6667", "1.67"),
        ("roas", "2.0005", "2.0005", "2.0005"),
        ("conversion_rate", "0.001", "0.001", "0.001 %"),
        ("cpa", "50", "49.996", "49.996 EUR"),
        ("cpa", "50", "50", "50.00 EUR"),
        ("cpa", "50", "33.3333", "33.33 EUR"),
    ],
)
def test_a_figure_is_on_its_side_of_the_threshold(
    measure: str, threshold: str, figure: str, text: str
) -> None:
    terms = replace(ROAS_OF_META, measure=measure, threshold=Decimal(threshold))
    assert terms.format(Decimal(figure)) == text
