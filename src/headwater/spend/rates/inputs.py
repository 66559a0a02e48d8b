from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from headwater.http.inputs.fields import NUMBER, REQUIRED, number, number_text, written
from headwater.http.inputs.objects import Property, array_of, object_of, parse_body
from headwater.http.inputs.pagination import Cursors
from headwater.http.inputs.timerange import parse_day
from headwater.spend.inputs import CURRENCY, DAY_SCHEMA
from headwater.spend.rates.store import Rate

MAX_RATES = 5000
MIN_RATE, MAX_RATE = Decimal("1e-12"), Decimal("1e12")


def _check_bounds(rate: Decimal) -> Decimal:
    if not MIN_RATE <= rate <= MAX_RATE:
        raise ValueError(f"must be from {MIN_RATE:f} to {MAX_RATE:f}.")
    return rate


def _parse_day(text: str) -> date:
    return parse_day(text.strip())


def _build_rate(values: dict[str, Any]) -> Rate:
    if values["base"] == values["currency"]:
        raise ValueError("must have two different currencies.")
    return Rate(**values)


_RATE = (
    number("must be a number.")
    .then(_check_bounds)
    .documented(anyOf=[{"type": "number", "exclusiveMinimum": 0}, number_text(NUMBER)])
)
_ROW = object_of(
    {
        "date": Property(written(DAY_SCHEMA, _parse_day), missing=REQUIRED),
        "base": Property(CURRENCY, "The currency that is priced.", missing=REQUIRED),
        "currency": Property(CURRENCY, missing=REQUIRED),
        "rate": Property(_RATE, "Units of `currency` per unit of `base`.", missing=REQUIRED),
    }
).then(_build_rate)
_NO_ARRAY = "must be an array of rates."
RATES = object_of(
    {
        "rates": Property(
            array_of(
                _ROW, MAX_RATES, min_items=1, rule=_NO_ARRAY, count_rule=f"must hold 1 to {MAX_RATES} rates."
            ),
            "All rates are stored, or none.",
            missing=_NO_ARRAY,
        )
    }
)


def read_rates(body: dict[str, Any]) -> tuple[Rate, ...]:
    """Parse the rates in a body. Raises Invalid with every invalid field."""
    return parse_body(RATES, body)["rates"]


def cursors(signing_key: bytes, space_id: int) -> Cursors:
    return Cursors(signing_key, space_id, "/rates", None)
