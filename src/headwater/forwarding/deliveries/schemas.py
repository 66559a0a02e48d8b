"""The request and answer bodies of the delivery endpoints, as JSON schemas for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from headwater.forwarding.deliveries import parameters
from headwater.forwarding.destinations.destinations import DELIVERY_STATUSES
from headwater.http.inputs.pagination import envelope_schema
from headwater.http.openapi import (
    MOMENT,
    MOMENT_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    WHOLE,
    WHOLE_OR_NULL,
    answer,
    body,
    data_schema,
    object_schema,
)

Schema = dict[str, Any]


BODY_OF_REPLAY: Schema = body(
    {
        "type": "object",
        "properties": {
            member.name: {**member.openapi()["schema"], "description": member.description}
            for member in parameters.REPLAY_MEMBERS
        },
    }
)

_DELIVERY: dict[str, Schema] = {
    "id": WHOLE,
    "destination_id": WHOLE,
    "platform": TEXT,
    "event_id": WHOLE,
    "event_name": {**TEXT_OR_NULL, "description": "Null once the event is deleted."},
    "dedup_id": {**TEXT, "description": "The id by which the platform deduplicates."},
    "status": {"type": "string", "enum": list(DELIVERY_STATUSES)},
    "reason": {**TEXT_OR_NULL, "description": "Of a skipped one."},
    "attempts": WHOLE,
    "due_at": {**MOMENT_OR_NULL, "description": "When it is tried next; null when finished."},
    "touchpoint_id": {**WHOLE_OR_NULL, "description": "The touchpoint that was credited."},
    "http_status": WHOLE_OR_NULL,
    "error": {**TEXT_OR_NULL, "description": "Of the last attempt, in words."},
    "created_at": MOMENT,
    "finished_at": MOMENT_OR_NULL,
}
_ATTEMPT: Schema = object_schema(
    {"attempted_at": MOMENT, "outcome": TEXT, "http_status": WHOLE_OR_NULL, "error": TEXT_OR_NULL}
)
PAGE: Schema = answer("One page.", envelope_schema(object_schema(_DELIVERY)))
OF_EVENT: Schema = answer("The event's deliveries.", data_schema(object_schema(_DELIVERY)))
DELIVERY: Schema = answer(
    "The delivery.",
    object_schema(
        {
            **_DELIVERY,
            "request": {
                "type": ["object", "null"],
                "description": "The part of the request about the event, without personal data.",
            },
            "answer": {**TEXT_OR_NULL, "description": "The beginning of the platform's answer."},
            "history": {"type": "array", "items": _ATTEMPT},
        }
    ),
)
REPLAYED: Schema = answer(
    "What became of them.",
    object_schema(
        {
            "queued": WHOLE,
            "too_old": {**WHOLE, "description": "The platform takes no events of that age."},
            "more": {"type": "boolean", "description": "Whether to ask again for the rest."},
        }
    ),
)
