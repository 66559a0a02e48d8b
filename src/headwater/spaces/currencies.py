"""Currencies (ISO 4217): codes of three letters in any case, and how amounts are written."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Annotated

from msgspec import Meta

CURRENCY_RULE = "must be a currency code of three letters, such as EUR."

AmountCurrency = Annotated[
    str, Meta(pattern="^[A-Z]{3}$", description="The currency of `amount`: the event's own, or the Space's.")
]
IN_SPACE_CURRENCY = (
    "`amount` at the rate of the event's day, the value in reports. Null if reports leave it out, for "
    "example without a rate."
)
AmountInSpaceCurrency = Annotated[float | None, Meta(description=IN_SPACE_CURRENCY)]
AMOUNT_FIELDS = ("currency", "amount_in_space_currency")
"""The members of answers that explain an event's amount."""

_WITHOUT_DECIMALS = frozenset(
    "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split()  # noqa: SIM905 - a table
)
_WITH_THREE_DECIMALS = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})


def find_decimals(currency: str) -> int:
    """Return 0 for JPY, 3 for KWD, and 2 for currencies that aren't listed."""
    return 0 if currency in _WITHOUT_DECIMALS else 3 if currency in _WITH_THREE_DECIMALS else 2


def count_decimals(amount: Decimal | Fraction | int, currency: str) -> int:
    """Return the decimals to write: the currency's, and two for parts of 1 JPY, because credit has them."""
    decimals = find_decimals(currency)
    is_exact = (Fraction(amount) * 10**decimals).denominator == 1
    return decimals if is_exact else max(decimals, 2)


def write_amount(amount: Decimal | Fraction | float, currency: str) -> str:
    """Return 1,234.50 for EUR, 1,235 for JPY, 1,234.500 for KWD."""
    exact_amount = Fraction(str(amount))
    return f"{round_half_up(exact_amount, count_decimals(exact_amount, currency)):,f}"


def write_estimate(amount: float, currency: str) -> str:
    """Return `write_amount` of an estimate, which has no parts of 1 JPY."""
    return write_amount(round(amount, find_decimals(currency)), currency)


def round_half_up(value: Fraction | Decimal | int, decimals: int) -> Decimal:
    exact_value = Fraction(value)
    scaled_value = Decimal(exact_value.numerator * 10**decimals) / Decimal(exact_value.denominator)
    return scaled_value.quantize(Decimal(1), ROUND_HALF_UP).scaleb(-decimals)


def format_money(amount: Decimal | float, currency: str) -> str:
    """Return `write_amount` with the currency after it."""
    return f"{write_amount(amount, currency)} {currency}"


def parse_currency(text: str) -> str:
    """Return capitals. Raises ValueError with the broken rule."""
    code = text.strip().upper()
    if not (len(code) == 3 and code.isascii() and code.isalpha()):
        raise ValueError(CURRENCY_RULE)
    return code
