"""The bodies and answers of the endpoints of deliveries, as JSON schemas for the document."""

from __future__ import annotations

from typing import Any

from headwater.deliveries import parameters
from headwater.destinations.destinations import DELIVERY_STATUSES
from headwater.http.openapi import answer, body
from headwater.http.pagination import envelope_schema

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer"}
_NULL_OR_TEXT: Schema = {"type": ["string", "null"]}
_NULL_OR_WHOLE: Schema = {"type": ["integer", "null"]}
_MOMENT: Schema = {"type": "string", "format": "date-time"}
_NULL_OR_MOMENT: Schema = {"type": ["string", "null"], "format": "date-time"}


def _all_of(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _listed(row: Schema) -> Schema:
    return _all_of({"data": {"type": "array", "items": row}})


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
    "id": _WHOLE, "destination_id": _WHOLE, "platform": _TEXT, "event_id": _WHOLE,
    "event_name": {**_NULL_OR_TEXT, "description": "Null once the event is deleted."},
    "dedup_id": {**_TEXT, "description": "What the platform tells repeats by."},
    "status": {"type": "string", "enum": list(DELIVERY_STATUSES)},
    "reason": {**_NULL_OR_TEXT, "description": "Of a skipped one."},
    "attempts": _WHOLE,
    "due_at": {**_NULL_OR_MOMENT, "description": "When it is tried next; null when finished."},
    "touchpoint_id": {**_NULL_OR_WHOLE, "description": "The touchpoint that was credited."},
    "http_status": _NULL_OR_WHOLE,
    "error": {**_NULL_OR_TEXT, "description": "Of the last attempt, in words."},
    "created_at": _MOMENT, "finished_at": _NULL_OR_MOMENT,
}  # fmt: skip
_ATTEMPT: Schema = _all_of({
    "attempted_at": _MOMENT, "outcome": _TEXT, "http_status": _NULL_OR_WHOLE,
    "error": _NULL_OR_TEXT,
})  # fmt: skip
PAGE: Schema = answer("One page.", envelope_schema(_all_of(_DELIVERY)))
OF_EVENT: Schema = answer("The event's deliveries.", _listed(_all_of(_DELIVERY)))
DELIVERY: Schema = answer(
    "The delivery.",
    _all_of({
        **_DELIVERY,
        "request": {
            "type": ["object", "null"],
            "description": "The event's part of what was sent, without what tells who it was.",
        },
        "answer": {**_NULL_OR_TEXT, "description": "The beginning of the platform's answer."},
        "history": {"type": "array", "items": _ATTEMPT},
    }),
)  # fmt: skip
REPLAYED: Schema = answer(
    "What became of them.",
    _all_of({
        "queued": _WHOLE,
        "too_old": {**_WHOLE, "description": "The platform takes no events of that age."},
        "more": {"type": "boolean", "description": "Whether to ask again for the rest."},
    }),
)  # fmt: skip
