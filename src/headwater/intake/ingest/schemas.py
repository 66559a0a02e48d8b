"""OpenAPI schemas of ingest bodies, derived from the payload definitions."""

from __future__ import annotations

from typing import Any

import msgspec

from headwater.http.decimals import MAX_AMOUNT
from headwater.http.inputs.fields import BLANK, NULL, Schema, number_within
from headwater.http.inputs.instants import ISO_SCHEMA, UNIX_SCHEMA
from headwater.http.openapi import body
from headwater.intake.ingest.endpoints import MAX_BATCH
from headwater.intake.ingest.payload import TrackPayload
from headwater.intake.ingest.touchpoints import AD_IDS, LONGEST_ID, TouchpointPayload
from headwater.spaces.custom_fields import (
    DATE_SLOTS,
    MAX_SLOT_NUMBER,
    NUMBER_SLOTS,
    NUMBER_TEXT_SCHEMA,
    slot_name,
)
from headwater.spaces.known_values import SOURCE

_REF = "#/components/schemas/"

# The first and last second of valid dates, in Unix seconds.
_YEAR_1, _YEAR_9999 = -62135596800, 253402300799

_NOT_BLANK: Schema = {"type": "string", "pattern": r"\S"}


def _any_of(description: str, *schemas: Schema) -> Schema:
    return {"description": description, "anyOf": [*schemas, NULL]}


def _code(description: str, longest: int) -> Schema:
    trimmed: Schema = {"type": "string", "pattern": rf"^\s*[\s\S]{{0,{longest}}}?\s*$"}
    return _any_of(description, trimmed, {"type": "integer"})


_TIMES = (ISO_SCHEMA, UNIX_SCHEMA, {"type": "number", "minimum": 946684800})
_IDENTIFICATION: dict[str, Schema] = {
    "email": _any_of(
        "Identifies the contact. Trimmed and lower-cased.",
        {"type": "string", "format": "email", "maxLength": 254},
        BLANK,
    ),
    "ip": _any_of(
        "An IPv4 or IPv6 address. Only together with fingerprint.",
        {"type": "string", "format": "ipv4"},
        {"type": "string", "format": "ipv6"},
        {**BLANK, "maxLength": 64},
    ),
}
_EVENT_FIELDS: dict[str, Schema] = {
    "company_external_id": _code("Your id for the company, up to 190 characters.", 190),
    "company_name": _code("Up to 255 characters; only with company_external_id.", 255),
    "event_time": _any_of(
        "ISO 8601 (without an offset it is UTC) or Unix seconds, from 2000-01-01 to 24 hours "
        "from now. The time of receipt if absent.",
        *_TIMES,
        BLANK,
    ),
    "currency": _any_of(
        "The currency of the amount, a three-letter code. The Space's if absent.",
        {"type": "string", "pattern": r"^\s*[A-Za-z]{3}\s*$"},
        BLANK,
    ),
    "consent": _any_of(
        "The person's consent, for ad platforms. The Space's default if absent.",
        {
            "type": "object",
            "properties": {
                "ad_user_data": {"type": ["boolean", "null"]},
                "ad_personalization": {"type": ["boolean", "null"]},
            },
        },
    ),
    "amount": _any_of("Rounded half-even to 4 decimals; negative is a refund.", number_within(MAX_AMOUNT)),
}
_NUMBER_SLOT = _any_of(
    "A number, or text holding one, between -1e24 and 1e24.",
    number_within(MAX_SLOT_NUMBER),
    NUMBER_TEXT_SCHEMA,
    BLANK,
)
_DATE_SLOT = _any_of(
    "A date, an ISO 8601 date-time, or Unix seconds.",
    {"type": "number", "minimum": _YEAR_1, "maximum": _YEAR_9999},
    ISO_SCHEMA,
    UNIX_SCHEMA,
    BLANK,
)


def _requires(*names: str) -> Schema:
    return {"required": list(names), "properties": dict.fromkeys(names, _NOT_BLANK)}


_NO_TEXT: Schema = {"anyOf": [BLANK, NULL]}
_NO_FINGERPRINT: Schema = {"fingerprint": _NO_TEXT, "ip": _NO_TEXT}


_IDENTIFIED = [
    _requires("fingerprint", "ip"),
    *(
        {**schema, "properties": {**schema["properties"], **_NO_FINGERPRINT}}
        for schema in (_requires("email"), _requires("trk_token"))
    ),
]
_REQUIREMENTS = (
    "Requires email, trk_token, or fingerprint together with ip. Unknown keys are ignored and "
    "listed in `warnings`. Null and blank text count as absent. If a key is repeated, the last one "
    "counts. Text and keys must not contain NUL."
)


def _schema(payload: Any, special: dict[str, Schema]) -> Schema:
    """Build a schema. `special` overrides fields."""
    _, schemas = msgspec.json.schema_components([payload], ref_template=_REF + "{name}")
    schema = schemas[payload.__name__]
    properties: dict[str, Schema] = schema["properties"] | _IDENTIFICATION | special
    for field in properties.values():
        field.pop("default", None)  # always null
    return {**schema, "properties": properties}


def _track_schema() -> Schema:
    slots = dict.fromkeys(map(slot_name, NUMBER_SLOTS), _NUMBER_SLOT)
    slots |= dict.fromkeys(map(slot_name, DATE_SLOTS), _DATE_SLOT)
    return {
        **_schema(TrackPayload, _EVENT_FIELDS | slots),
        "description": f"One event. {_REQUIREMENTS}",
        "anyOf": _IDENTIFIED,
    }


def _touchpoint_schema() -> Schema:
    special = {
        "occurred_at": {
            "description": (
                "ISO 8601 (without an offset it is UTC) or Unix seconds, from 2000-01-01 to 24 "
                "hours from now."
            ),
            "anyOf": list(_TIMES),
        },
        "source": _any_of(
            "Where the person came from. By default, derived from `url` and `referrer`.", SOURCE, BLANK
        ),
        **{name: _code(f"Up to {LONGEST_ID} characters.", LONGEST_ID) for name in AD_IDS},
    }
    return {
        **_schema(TouchpointPayload, special),
        "required": ["occurred_at"],
        "description": f"One touchpoint. One of source, url, referrer is required. {_REQUIREMENTS}",
        "allOf": [
            {"anyOf": _IDENTIFIED},
            {"anyOf": [_requires("source"), _requires("url"), _requires("referrer")]},
        ],
    }


def _batch_schema(name: str, item: str) -> Schema:
    items: Schema = {
        "description": "Items are validated separately: valid ones are queued even if others are not.",
        "type": "array",
        "minItems": 1,
        "maxItems": MAX_BATCH,
        "items": {"$ref": _REF + item},
    }
    return {"type": "object", "required": [name], "properties": {name: items}}


INGEST_SCHEMAS: dict[str, Any] = {
    "TrackPayload": _track_schema(),
    "TouchpointPayload": _touchpoint_schema(),
    "Batch": _batch_schema("events", "TrackPayload"),
    "TouchpointBatch": _batch_schema("touchpoints", "TouchpointPayload"),
}

RECEIPT_HEADERS: Schema = {
    "X-Receipt-Id": {
        "description": "The receipt id. GET /receipts/{receipt_id} returns the state of the event.",
        "required": True,
        "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
    }
}
RECEIPT_LINKS: Schema = {
    "receipt": {"operationId": "get_receipt", "parameters": {"receipt_id": "$response.header.X-Receipt-Id"}}
}


def _ref(name: str) -> Schema:
    return {"$ref": _REF + name}


EVENT_BODY = body(_ref("TrackPayload"))
EVENTS_BODY = body(_ref("Batch"))
TOUCHPOINTS_BODY = body(_ref("TouchpointBatch"))
