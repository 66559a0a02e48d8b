"""Currencies: codes of three letters (ISO 4217), read in any case."""

from __future__ import annotations

import re
from typing import Any

from headwater.http.openapi import NUMBER_OR_NULL

CURRENCY_RULE = "must be a currency code of three letters, such as EUR."

AMOUNT_SCHEMAS: dict[str, dict[str, Any]] = {
    "currency": {
        "type": "string",
        "pattern": "^[A-Z]{3}$",
        "description": "The currency of `amount`: the event's own, or the Space's.",
    },
    "amount_in_space_currency": {
        **NUMBER_OR_NULL,
        "description": (
            "`amount` by the rate of the event's day, as reports count it; null where they leave "
            "it out, as without a rate."
        ),
    },
}
"""What is shown of an event's amount beside it."""


def parse_currency(text: str) -> str:
    """A currency's code in capitals. Raises ValueError with the rule that a text breaks."""
    code = text.strip().upper()
    if not re.fullmatch("[A-Z]{3}", code, re.ASCII):
        raise ValueError(CURRENCY_RULE)
    return code
