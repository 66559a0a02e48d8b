"""Currencies: codes of three letters (ISO 4217), whatever their case when given."""

from __future__ import annotations

import re

CURRENCY_RULE = "must be a currency code of three letters, such as EUR."


def parse_currency(text: str) -> str:
    """A currency's code in capitals. ValueError says what it should have been."""
    code = text.strip().upper()
    if not re.fullmatch("[A-Z]{3}", code, re.ASCII):
        raise ValueError(CURRENCY_RULE)
    return code
