"""Amounts as JSON numbers, text, or whole minor units."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

# ISO 4217. Payment providers differ for some, such as MGA.
_WITHOUT_MINOR_UNIT = frozenset(
    "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split()  # noqa: SIM905 - a table
)
_IN_THOUSANDTHS = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})


def as_number(amount: Decimal) -> int | float:
    """Return 149.9 for 149.9000, 20 for 20.00."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def as_text(amount: Decimal) -> str:
    """Return 149.9 for 149.9000, 0 for -0.00; no exponent."""
    return f"{amount.normalize() or Decimal(0):f}"


def as_minor_units(amount: Decimal, currency: str) -> int:
    """Return 14990 for 149.90 USD, 150 for 149.90 JPY, 149900 for 149.90 KWD. Halves are rounded up."""
    places = 0 if currency in _WITHOUT_MINOR_UNIT else 3 if currency in _IN_THOUSANDTHS else 2
    return int(amount.scaleb(places).quantize(Decimal(1), ROUND_HALF_UP))
