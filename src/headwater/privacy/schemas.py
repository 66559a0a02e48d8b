"""JSON schemas of the bodies and answers of the endpoints that erase a person."""

from __future__ import annotations

from headwater.http.inputs.emails import WRITTEN_EMAIL
from headwater.http.inputs.parameters import Parameter
from headwater.http.openapi import answer

EMAIL = Parameter(
    name="email",
    kind=WRITTEN_EMAIL,
    description="Any address the contact has or had, merged contacts' included.",
    required=True,
)

QUEUED = answer(
    "The contact will be erased.",
    {
        "type": "object",
        "required": ["contact_id", "status", "message"],
        "properties": {
            "contact_id": {"type": "integer"},
            "status": {"type": "string", "const": "queued"},
            "message": {"type": "string"},
        },
    },
)
