"""Currencies: codes of three letters (ISO 4217), read in any case."""

from __future__ import annotations

import re

CURRENCY_RULE = "must be a currency code of three letters, such as EUR."


def parse_currency(text: str) -> str:
    """A currency's code in capitals. Raises ValueError with the rule that a text breaks."""
    code = text.strip().upper()
    if not re.fullmatch("[A-Z]{3}", code, re.ASCII):
        raise ValueError(CURRENCY_RULE)
    return code
