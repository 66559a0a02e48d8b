"""JSON schemas of the bodies and answers of the endpoints of events, for the document."""

from __future__ import annotations

from headwater.attribution.fits.choice import CITATION
from headwater.events.fields import FIELDS
from headwater.events.updates import CHANGE
from headwater.http.inputs.pagination import envelope_schema
from headwater.http.openapi import answer, body, with_optional

_EVENT_FIELDS = (
    "id",
    "profile_id",
    "company_id",
    "space_id",
    "event_name",
    "configured_name",
    "amount",
    "is_upsell",
    "event_time_utc",
    "order_id",
    "order_name",
    "currency",
    "amount_in_space_currency",
)


PAGE = answer(
    "One page; each row has the chosen fields.",
    with_optional(
        envelope_schema(
            {
                "type": "object",
                "required": ["id", "event_time_utc"],
                "properties": {name: field.schema for name, field in FIELDS.items()},
            }
        ),
        fit={**CITATION, "description": "The fit that markov goes by; with that model alone."},
    ),
)
EVENT = answer(
    "The event.",
    {
        "type": "object",
        "required": list(_EVENT_FIELDS),
        "properties": {name: FIELDS[name].schema for name in _EVENT_FIELDS} | {"id": {"type": "string"}},
    },
)
CHANGED = answer(
    "Done.", {"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}}
)
DELETED = answer(
    "Done, or there was no such event.",
    {
        "type": "object",
        "required": ["status", "message"],
        "properties": {"status": {"type": "integer", "const": 200}, "message": {"type": "string"}},
    },
)
BODY_OF_CHANGE = body(CHANGE.schema)
