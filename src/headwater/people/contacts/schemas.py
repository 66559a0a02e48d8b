"""JSON schemas of the answers of the endpoints that read contacts, for the document."""

from __future__ import annotations

from typing import Any

from headwater.http.inputs.pagination import envelope_schema
from headwater.http.openapi import (
    MOMENT,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    WHOLE,
    WHOLE_OR_NULL,
    answer,
    conflict,
)
from headwater.people.contacts.journey import MOST_ITEMS
from headwater.spaces.currencies import AMOUNT_SCHEMAS
from headwater.spaces.custom_fields import DATE_SLOTS, NUMBER_SLOTS, SLOTS
from headwater.spaces.known_values import SOURCE

_YES_OR_NO: dict[str, Any] = {"type": "boolean"}
_TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
_TOKENS: dict[str, Any] = {**_TEXTS, "maxItems": 5}

_PRIMARY = {
    "id": WHOLE,
    "email": TEXT_OR_NULL,
    "name": TEXT_OR_NULL,
    "phone": TEXT_OR_NULL,
    "location": TEXT_OR_NULL,
}
_INCLUDED = {"trk_tokens": _TOKENS, "emails": _TEXTS}
ROW_FIELDS = (*_PRIMARY, *_INCLUDED)
"""The fields that a list's row can have beside the custom fields."""

DAY_OR_MOMENT = "`YYYY-MM-DD` at midnight in the Space's zone, else a date-time in UTC."


def _slot(number: int) -> dict[str, Any]:
    if number in NUMBER_SLOTS:
        return NUMBER_OR_NULL
    if number in DATE_SLOTS:
        return {**TEXT_OR_NULL, "description": DAY_OR_MOMENT}
    return TEXT_OR_NULL


def _object(members: dict[str, Any], *optional: str) -> dict[str, Any]:
    required = [name for name in members if name not in optional]
    return {"type": "object", "required": required, "properties": members}


_AD = dict.fromkeys(
    (
        "ad_id",
        "ad_name",
        "adset_id",
        "adset_name",
        "campaign_id",
        "campaign_name",
        "account_id",
        "account_name",
    ),
    TEXT_OR_NULL,
)
TOUCHPOINT = _object(
    {
        "type": {"const": "touchpoint"},
        "id": WHOLE,
        "event_time_utc": MOMENT,
        "event_url": TEXT_OR_NULL,
        "referrer_host": TEXT_OR_NULL,
        "source": SOURCE,
        "is_paid": _YES_OR_NO,
        "is_direct": _YES_OR_NO,
        **_AD,
        "company_id": WHOLE_OR_NULL,
    }
)
CONVERSION = _object(
    {
        "type": {"const": "conversion"},
        "id": WHOLE,
        "event_time_utc": MOMENT,
        "event_url": TEXT_OR_NULL,
        "event_name": TEXT,
        "configured_name": TEXT,
        "amount": NUMBER_OR_NULL,
        "order_id": TEXT_OR_NULL,
        "order_name": TEXT_OR_NULL,
        "is_upsell": _YES_OR_NO,
        "company_id": WHOLE_OR_NULL,
    }
)
HIT = _object(
    {
        "event_url": TEXT_OR_NULL,
        "referrer_host": TEXT_OR_NULL,
        "source": {"anyOf": [SOURCE, {"type": "null"}]},
        "country": TEXT_OR_NULL,
        "device_type": TEXT_OR_NULL,
        "browser": TEXT_OR_NULL,
        "os": TEXT_OR_NULL,
        "event_name": TEXT,
        "event_time_utc": MOMENT,
    }
)

_SLOTS = {column: _slot(number) for number, column in SLOTS}
PAGE = answer(
    "One page; with `use_custom_field_labels=1` labels stand for the names of fields.",
    envelope_schema(_object({**_PRIMARY, **_INCLUDED, **_SLOTS}, *_INCLUDED, *_SLOTS)),
)
CONTACT = answer(
    "The contact, under its canonical id.",
    _object(
        {
            "id": WHOLE,
            "emails": _TEXTS,
            "phones": _TEXTS,
            "names": _TEXTS,
            "locations": _TEXTS,
            "custom_fields": {
                "type": "object",
                "description": (
                    "The fields that are filled, by slot or by label: text, number, or date. "
                    f"A date is {DAY_OR_MOMENT}"
                ),
                "additionalProperties": {"type": ["string", "number"]},
            },
            "trk_tokens": _TOKENS,
            "events": {"type": "array", "items": {"oneOf": [CONVERSION, TOUCHPOINT]}, "maxItems": MOST_ITEMS},
            "events_left_out": {
                "type": "integer",
                "minimum": 1,
                "description": "How many earlier items there are, where there are any.",
            },
            "browsing_session_hits": {"type": "array", "items": HIT, "maxItems": 1000},
        },
        "trk_tokens",
        "events",
        "events_left_out",
        "browsing_session_hits",
    ),
)
_CONVERSION_WITH_CURRENCY = _object({**CONVERSION["properties"], **AMOUNT_SCHEMAS})
JOURNEY_ITEM: dict[str, Any] = {"oneOf": [_CONVERSION_WITH_CURRENCY, TOUCHPOINT]}
JOURNEY = answer("One page.", envelope_schema(JOURNEY_ITEM))
SEVERAL = conflict(
    "Several contacts match the e-mail address.", contact_ids={"type": "array", "items": WHOLE, "minItems": 2}
)
