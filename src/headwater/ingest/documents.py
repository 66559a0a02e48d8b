"""What the OpenAPI document says of the two endpoints outside the framework, made from the same
payload definition that validates.
"""

from __future__ import annotations

from typing import Any

import msgspec

from headwater.http.openapi import problems
from headwater.ingest.endpoints import MAX_BATCH
from headwater.ingest.payload import TrackPayload

_REF = "#/components/schemas/"


def _payload_schemas() -> dict[str, Any]:
    _, schemas = msgspec.json.schema_components([TrackPayload], ref_template=_REF + "{name}")
    payload = schemas["TrackPayload"]
    properties = payload["properties"]
    properties["amount"] = {
        "anyOf": [{"type": "number", "minimum": -1e14, "maximum": 1e14}, {"type": "null"}],
        "description": "Rounded half-even to 4 decimals; negative is a refund.",
        "default": None,
    }
    payload["description"] = (
        "One event. At least one of email, trk_token, or fingerprint with ip is required; "
        "fingerprint and ip only come together. Unknown keys are ignored, null and blank text "
        "count as absent."
    )
    return schemas


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
_ACCEPTED = {
    "type": "object",
    "required": ["status", "message"],
    "properties": {"status": {"type": "integer", "const": 202}, "message": {"type": "string"}},
}

INGEST_SCHEMAS: dict[str, Any] = {
    **_payload_schemas(),
    "Accepted": _ACCEPTED,
    "BatchAccepted": {
        "type": "object",
        "required": ["status", "message", "results"],
        "properties": {
            "status": {"type": "integer", "const": 202},
            "message": {"type": "string"},
            "results": {"type": "array", "items": _RESULT},
        },
    },
    "Batch": {
        "type": "object",
        "required": ["events"],
        "properties": {
            "events": {
                "type": "array", "minItems": 1, "maxItems": MAX_BATCH,
                # Each event is judged on its own, so the batch's shape does not bind them.
                "items": {"description": "A TrackPayload."},
            }
        },
    },
}  # fmt: skip


def _operation(name: str, summary: str, body: str, answer: str) -> dict[str, Any]:
    responses: dict[str, Any] = {
        "202": {
            "description": "Queued and safe on disk; not yet processed.",
            "content": {"application/json": {"schema": {"$ref": _REF + answer}}},
        }
    }
    for status, response in problems(401, 403, 413, 415, 422, 429, 503).items():
        responses[str(status)] = response
    return {
        "post": {
            "tags": ["Ingest"],
            "operationId": name,
            "summary": summary,
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": {"$ref": _REF + body}}},
            },
            "responses": responses,
        }
    }


INGEST_PATHS: dict[str, Any] = {
    "/public-api/v1/events/track": _operation(
        "create_event", "Create Event", "TrackPayload", "Accepted"
    ),
    "/public-api/v1/events/batch": _operation(
        "create_events", "Create up to 1,000 events", "Batch", "BatchAccepted"
    ),
}
