"""What the OpenAPI document says of taking events in, made from the same payload definition that
validates. Every rule that JSON Schema can state is stated there; the others stand in words.
"""

from __future__ import annotations

from typing import Any

import msgspec

from headwater.contacts.fields import DATE_SLOTS, NUMBER_SLOTS, NUMBER_TEXT_SCHEMA
from headwater.http.instants import ISO_SCHEMA, UNIX_SCHEMA
from headwater.http.openapi import problems
from headwater.ingest.endpoints import MAX_BATCH
from headwater.ingest.payload import TrackPayload

Schema = dict[str, Any]

_REF = "#/components/schemas/"

# The first and the last second that a date can have, in Unix seconds.
_YEAR_1, _YEAR_9999 = -62135596800, 253402300799

_NULL: Schema = {"type": "null"}
_BLANK: Schema = {"type": "string", "pattern": r"^\s*$"}
_GIVEN: Schema = {"type": "string", "pattern": r"\S"}


def _any_of(description: str, *schemas: Schema) -> Schema:
    return {"description": description, "anyOf": [*schemas, _NULL]}


def _company_text(description: str, longest: int) -> Schema:
    trimmed: Schema = {"type": "string", "pattern": rf"^\s*[\s\S]{{0,{longest}}}?\s*$"}
    return _any_of(description, trimmed, {"type": "integer"})


_SPECIAL: dict[str, Schema] = {
    "email": _any_of(
        "Identifies the contact. Trimmed and lower-cased.",
        {"type": "string", "format": "email", "maxLength": 254},
        _BLANK,
    ),
    "ip": _any_of(
        "An IPv4 or IPv6 address. Only together with fingerprint.",
        {"type": "string", "format": "ipv4"},
        {"type": "string", "format": "ipv6"},
        {**_BLANK, "maxLength": 64},
    ),
    "company_external_id": _company_text("Your id of the company, up to 190 characters.", 190),
    "company_name": _company_text("Up to 255 characters; only with company_external_id.", 255),
    "event_time": _any_of(
        "ISO 8601 (without an offset it is UTC) or Unix seconds, from 2000-01-01 to 24 hours "
        "from now. The time of receipt if absent.",
        ISO_SCHEMA,
        UNIX_SCHEMA,
        _BLANK,
        {"type": "number", "minimum": 946684800},
    ),
    "amount": _any_of(
        "Rounded half-even to 4 decimals; negative is a refund.",
        {"type": "number", "minimum": -1e14, "maximum": 1e14},
    ),
}
_NUMBER_SLOT = _any_of(
    "A number, or text holding one, between -1e24 and 1e24.",
    {"type": "number", "minimum": -1e24, "maximum": 1e24},
    NUMBER_TEXT_SCHEMA,
    _BLANK,
)
_DATE_SLOT = _any_of(
    "A date, an ISO 8601 date-time, or Unix seconds.",
    {"type": "number", "minimum": _YEAR_1, "maximum": _YEAR_9999},
    ISO_SCHEMA,
    UNIX_SCHEMA,
    _BLANK,
)


def _given(*names: str) -> Schema:
    return {"required": list(names), "properties": dict.fromkeys(names, _GIVEN)}


_NO_TEXT: Schema = {"anyOf": [_BLANK, _NULL]}
_NO_FINGERPRINT: Schema = {"fingerprint": _NO_TEXT, "ip": _NO_TEXT}


def _payload_schema() -> Schema:
    _, schemas = msgspec.json.schema_components([TrackPayload], ref_template=_REF + "{name}")
    payload = schemas["TrackPayload"]
    properties: dict[str, Schema] = payload["properties"]
    properties.update(_SPECIAL)
    properties.update((f"profile_field_{slot}", _NUMBER_SLOT) for slot in NUMBER_SLOTS)
    properties.update((f"profile_field_{slot}", _DATE_SLOT) for slot in DATE_SLOTS)
    for schema in properties.values():
        schema.pop("default", None)  # null everywhere, and it says nothing
    return {
        **payload,
        "description": (
            "One event. At least one of email, trk_token, or fingerprint with ip is required; "
            "fingerprint and ip only come together. Unknown keys are ignored, null and blank text "
            "count as absent, of a key given twice the last counts. No text or key may hold NUL."
        ),
        "anyOf": [
            _given("fingerprint", "ip"),
            *(
                {**given, "properties": {**given["properties"], **_NO_FINGERPRINT}}
                for given in (_given("email"), _given("trk_token"))
            ),
        ],
    }


_ERRORS = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}
_RESULT = {
    "type": "object",
    "required": ["index", "status"],
    "properties": {
        "index": {"type": "integer"},
        "status": {"type": "string", "enum": ["queued", "invalid"]},
        "receipt_id": {"type": "string"},
        "errors": _ERRORS,
    },
}
_STATUS: Schema = {"type": "integer", "const": 202}
_MESSAGE: Schema = {"type": "string"}

INGEST_SCHEMAS: dict[str, Any] = {
    "TrackPayload": _payload_schema(),
    "Accepted": {
        "type": "object",
        "required": ["status", "message"],
        "properties": {"status": _STATUS, "message": _MESSAGE},
    },
    "BatchAccepted": {
        "type": "object",
        "required": ["status", "message", "results"],
        "properties": {
            "status": _STATUS,
            "message": _MESSAGE,
            "results": {"type": "array", "items": _RESULT},
        },
    },
    "Batch": {
        "type": "object",
        "required": ["events"],
        "properties": {
            "events": {
                "description": (
                    "Each is judged on its own: the valid ones are queued although others are not."
                ),
                "type": "array", "minItems": 1, "maxItems": MAX_BATCH,
                "items": {"$ref": _REF + "TrackPayload"},
            }
        },
    },
}  # fmt: skip

_RECEIPT_HEADER: Schema = {
    "description": "The receipt: ask GET /receipts/{receipt_id} what became of the event.",
    "required": True,
    "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
}
_RECEIPT_LINK: Schema = {
    "operationId": "get_receipt",
    "parameters": {"receipt_id": "$response.header.X-Receipt-Id"},
}

RECEIPT: Schema = {
    "description": "What became of the event.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["id", "status", "event_id", "reason"],
                "properties": {
                    "id": {"type": "string"},
                    "status": {
                        "type": "string", "enum": ["queued", "stored", "duplicate", "rejected"],
                    },
                    "event_id": {"type": ["string", "null"]},
                    "reason": {"type": ["string", "null"]},
                },
            }
        }
    },
}  # fmt: skip


def _operation(name: str, summary: str, body: str, accepted: Schema) -> Schema:
    good: dict[int | str, Schema] = {
        202: {"description": "Queued and safe on disk; not yet processed.", **accepted}
    }
    return {
        "post": {
            "tags": ["Ingest"],
            "operationId": name,
            "summary": summary,
            "requestBody": {"required": True, "content": _json(body)},
            "responses": good | problems(401, 403, 413, 415, 422, 429, 503),
        }
    }


def _json(schema: str) -> Schema:
    return {"application/json": {"schema": {"$ref": _REF + schema}}}


INGEST_PATHS: dict[str, Any] = {
    "/public-api/v1/events/track": _operation(
        "create_event",
        "Create Event",
        "TrackPayload",
        {
            "content": _json("Accepted"),
            "headers": {"X-Receipt-Id": _RECEIPT_HEADER},
            "links": {"receipt": _RECEIPT_LINK},
        },
    ),
    "/public-api/v1/events/batch": _operation(
        "create_events", "Create up to 1,000 events", "Batch", {"content": _json("BatchAccepted")}
    ),
}
