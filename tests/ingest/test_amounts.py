"""Amounts are exact, and reading them from text gives the same as using Decimal."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from headwater.http.decimals import AMOUNT_STEP, MAX_AMOUNT, decimal_text
from headwater.intake.ingest.payload import parse_amount

DIGITS = st.text("0123456789", min_size=1, max_size=20)
ZEROS_AND_ONES = st.text("001", min_size=1, max_size=6)


@st.composite
def json_numbers(draw: st.DrawFn) -> str:
    """Draw the text of a JSON number."""
    integer_part = draw(DIGITS | ZEROS_AND_ONES).lstrip("0") or "0"
    fraction = draw(st.just("") | (DIGITS | ZEROS_AND_ONES).map(".".__add__))
    exponent = draw(st.sampled_from(["", "", "", "e0", "E-3", "e+2", "e15"]))
    return draw(st.sampled_from(["", "-"])) + integer_part + fraction + exponent


def test_it_works() -> None:
    assert parse_amount(Raw(b"19.99")) == "19.99"


@given(json_numbers())
def test_an_amount_is_that_of_decimal_arithmetic(text: str) -> None:
    try:
        expected = decimal_text(Decimal(text), MAX_AMOUNT, AMOUNT_STEP)
    except ValueError:
        with pytest.raises(ValueError, match="must be a finite number between"):
            parse_amount(Raw(text.encode()))
    else:
        assert parse_amount(Raw(text.encode())) == expected
