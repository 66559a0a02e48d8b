"""Amounts as JSON numbers or text."""

from __future__ import annotations

from decimal import Decimal


def as_number(amount: Decimal) -> int | float:
    """Return 149.9 for 149.9000, 20 for 20.00."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def as_text(amount: Decimal) -> str:
    """Return 149.9 for 149.9000, 0 for -0.00; no exponent."""
    return f"{amount.normalize() or Decimal(0):f}"
