"""Amounts as the ad platforms take them: JSON numbers, or text where they require it."""

from __future__ import annotations

from decimal import Decimal


def as_number(amount: Decimal) -> int | float:
    """Return a JSON number: 149.9 for 149.9000, 20 for 20.00."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def as_text(amount: Decimal) -> str:
    """Return plain digits: 149.9 for 149.9000, 0 for -0.00; never an exponent."""
    return f"{amount.normalize() or Decimal(0):f}"
