"""How amounts are written."""

from __future__ import annotations

from decimal import Decimal

import pytest

from headwater.spaces.currencies import format_money


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        ("1234.5", "EUR", "1,234.50 EUR"),
        ("12.345", "EUR", "12.35 EUR"),
        ("1980", "JPY", "1,980 JPY"),
        ("33.33", "JPY", "33.33 JPY"),
        ("12.345", "KWD", "12.345 KWD"),
        ("12.3456", "KWD", "12.346 KWD"),
        ("-1000", "KWD", "-1,000.000 KWD"),
        ("99999999999999.9999", "KWD", "100,000,000,000,000.000 KWD"),
    ],
)
def test_it_works(amount: str, currency: str, text: str) -> None:
    assert format_money(Decimal(amount), currency) == text


def test_a_float_is_written_as_its_shortest_text() -> None:
    assert format_money(2.675, "EUR") == "2.68 EUR"
