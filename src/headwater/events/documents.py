"""What the endpoints of stored events take and answer, as JSON schemas of its description."""

from __future__ import annotations

from typing import Any

from headwater.events.fields import FIELDS
from headwater.http.pagination import envelope_schema

_EVENT_FIELDS = (
    "id", "profile_id", "company_id", "space_id", "event_name", "configured_name", "amount",
    "is_upsell", "event_time_utc", "order_id", "order_name",
)  # fmt: skip


def _answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


PAGE = _answer(
    "One page; each row has the chosen fields.",
    envelope_schema(
        {
            "type": "object",
            "required": ["id", "event_time_utc"],
            "properties": {name: field.schema for name, field in FIELDS.items()},
        }
    ),
)
EVENT = _answer(
    "The event.",
    {
        "type": "object",
        "required": list(_EVENT_FIELDS),
        "properties": {name: FIELDS[name].schema for name in _EVENT_FIELDS}
        | {"id": {"type": "string"}},
    },
)
DONE = _answer(
    "Done.",
    {
        "type": "object",
        "required": ["message"],
        "properties": {"message": {"type": "string"}, "status": {"type": "integer", "const": 200}},
    },
)
BODY_OF_CHANGE: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["amount"],
                "properties": {
                    "amount": {
                        "description": "At least 0; a numeric string is taken; null clears it.",
                        "anyOf": [
                            {"type": "number", "minimum": 0, "maximum": 1e14},
                            {"type": "string", "pattern": r"^[0-9]{1,14}(\.[0-9]{1,40})?$"},
                            {"type": "null"},
                        ],
                    }
                },
            }
        }
    },
}
