"""Decimal numbers in bodies, as text so that no float touches them."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal

_context = Context(prec=60)
_ZERO = Decimal(0)


def decimal_text(number: Decimal, limit: Decimal, step: Decimal) -> str:
    """`number` rounded half-even to `step`, as plain decimal text."""
    if not number.is_finite() or not -limit <= number <= limit:
        raise ValueError(f"must be a finite number between -{limit:f} and {limit:f}.")
    rounded = number.quantize(step, ROUND_HALF_EVEN, _context).normalize(_context)
    return f"{rounded or _ZERO:f}"
