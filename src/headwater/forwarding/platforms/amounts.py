"""Amounts as JSON numbers, text, or whole minor units."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from headwater.spaces.currencies import find_decimals


def as_number(amount: Decimal) -> int | float:
    """Return 149.9 for 149.9000, 20 for 20.00."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def as_text(amount: Decimal) -> str:
    """Return 149.9 for 149.9000, 0 for -0.00; no exponent."""
    return f"{amount.normalize() or Decimal(0):f}"


def as_minor_units(amount: Decimal, currency: str) -> int:
    """Return 14990 for 149.90 USD, 150 for 149.90 JPY, 149900 for 149.90 KWD. Halves are rounded up."""
    return int(amount.scaleb(find_decimals(currency)).quantize(Decimal(1), ROUND_HALF_UP))
