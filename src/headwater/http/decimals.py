"""Decimal numbers in bodies: format, limits, and text without float rounding."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal

MAX_AMOUNT = Decimal(10) ** 14
"""The largest amount of money, positive or negative."""
AMOUNT_STEP = Decimal("0.0001")

_context = Context(prec=60)
_ZERO = Decimal(0)


def number_pattern(*, sign: str = "[+-]?", digits: int = 40, exponent: int = 2) -> str:
    """Return the regex of an ASCII number with limited digits before and after the point and in the exponent.
    Computing time grows with all three.
    """
    integer_pattern, fraction = rf"[0-9]{{1,{digits}}}", rf"\.[0-9]{{0,{digits}}}"
    part_alone = rf"\.[0-9]{{1,{digits}}}"
    return rf"{sign}({integer_pattern}({fraction})?|{part_alone})([eE][+-]?[0-9]{{1,{exponent}}})?"


def decimal_text(number: Decimal, limit: Decimal, step: Decimal) -> str:
    """Return `number` rounded half-even to `step` in plain decimal text."""
    if not number.is_finite() or not -limit <= number <= limit:
        raise ValueError(f"must be a finite number between -{limit:f} and {limit:f}.")
    rounded = number.quantize(step, ROUND_HALF_EVEN, _context).normalize(_context)
    return f"{rounded or _ZERO:f}"
