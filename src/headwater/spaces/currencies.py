"""Currency codes of three letters (ISO 4217), in any case."""

from __future__ import annotations

import re
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


def parse_currency(text: str) -> str:
    """Return capitals. Raises ValueError with the broken rule."""
    code = text.strip().upper()
    if not re.fullmatch("[A-Z]{3}", code, re.ASCII):
        raise ValueError(CURRENCY_RULE)
    return code
