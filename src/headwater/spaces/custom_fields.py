"""The custom fields of contacts: thirty numbered slots for text, numbers and dates."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from headwater.http.decimals import decimal_text, number_pattern
from headwater.http.inputs.fields import (
    BLANK,
    NULL,
    FieldType,
    number,
    number_text,
    number_within,
    text_up_to,
)
from headwater.http.inputs.instants import ISO_SCHEMA, parse_instant, parse_iso

TEXT_SLOTS = range(1, 16)
NUMBER_SLOTS = range(16, 26)
DATE_SLOTS = range(26, 31)


def slot_name(slot: int) -> str:
    return f"profile_field_{slot}"


SLOTS = tuple((slot, slot_name(slot)) for slot in (*TEXT_SLOTS, *NUMBER_SLOTS, *DATE_SLOTS))
SLOT_NAMES = tuple(name for _, name in SLOTS)
SLOT_TYPES = {
    **dict.fromkeys(map(slot_name, TEXT_SLOTS), "text"),
    **dict.fromkeys(map(slot_name, NUMBER_SLOTS), "number"),
    **dict.fromkeys(map(slot_name, DATE_SLOTS), "date"),
}

LONGEST_TEXT = 10_240
MAX_SLOT_NUMBER = Decimal(10) ** 24
SLOT_STEP = Decimal("0.0000000001")
NAME_RULE = f"must be one of {SLOT_NAMES[0]} to {SLOT_NAMES[-1]}."
NUMBER_FORMS = "must be a number or text holding one."
DATE_FORMS = "must be a date (YYYY-MM-DD) or an ISO 8601 date-time."
TYPE_RULES = {
    **dict.fromkeys(map(slot_name, NUMBER_SLOTS), NUMBER_FORMS),
    **dict.fromkeys(map(slot_name, DATE_SLOTS), DATE_FORMS),
}
"""The rule broken by a value of another JSON type, by slot name."""

_NUMBER = re.compile(number_pattern(exponent=3))
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

NUMBER_TEXT_SCHEMA = number_text(_NUMBER)


def parse_slot_date(value: str | float, parse: Callable[[Any], float] = parse_instant) -> str:
    """Return a date slot's value: `YYYY-MM-DD` unchanged, an instant as `YYYY-MM-DDTHH:MM:SS.mmmZ`. `parse`
    reads instants.
    """
    try:
        if isinstance(value, str) and _DAY.fullmatch(value.strip()):
            return date.fromisoformat(value.strip()).isoformat()
        moment = datetime.fromtimestamp(parse(value), UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(DATE_FORMS) from None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _number_text(value: Decimal) -> str:
    return decimal_text(value, MAX_SLOT_NUMBER, SLOT_STEP)


def _iso_date(value: str) -> str:
    return parse_slot_date(value, parse_iso)


_TEXT_FIELD = text_up_to(LONGEST_TEXT).or_none().documented(type=["string", "null"], maxLength=LONGEST_TEXT)
NUMBER_FIELD = (
    number(NUMBER_FORMS, text_rule="must be a number.", form=_NUMBER)
    .then(_number_text)
    .or_none()
    .documented(anyOf=[number_within(MAX_SLOT_NUMBER), NUMBER_TEXT_SCHEMA, BLANK, NULL])
)
_DATE_FIELD = (
    text_up_to(LONGEST_TEXT, trim=True, rule=DATE_FORMS)
    .then(_iso_date)
    .or_none()
    .documented(anyOf=[ISO_SCHEMA, BLANK, NULL])
)
SLOT_FIELDS: dict[str, FieldType[str | None]] = {
    **dict.fromkeys(map(slot_name, TEXT_SLOTS), _TEXT_FIELD),
    **dict.fromkeys(map(slot_name, NUMBER_SLOTS), NUMBER_FIELD),
    **dict.fromkeys(map(slot_name, DATE_SLOTS), _DATE_FIELD),
}
"""The types of the fields in bodies, by name; null and blank text leave a field unset."""
