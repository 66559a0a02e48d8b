"""Amounts as platforms write them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from headwater.spend.platforms.rows import read_micros, read_money


@pytest.mark.parametrize("value", [1_230_000, "1230000", 1_230_000.0, "1230000.0"])
def test_it_works(value: Any) -> None:
    assert read_micros(value) == Decimal("1.23")
    assert read_money(value) == 1_230_000


@pytest.mark.parametrize("value", [None, "", True, "1,234.50", "nan", float("inf"), -1, []])
def test_anything_else_is_refused(value: Any) -> None:
    """A missing amount is not 0, which would erase stored spend."""
    for read in (read_micros, read_money):
        with pytest.raises((TypeError, ValueError)):
            read(value)
