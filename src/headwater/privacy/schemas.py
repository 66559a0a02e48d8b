"""JSON schemas of the bodies and answers of the endpoints that erase a person."""

from __future__ import annotations

from headwater.http.openapi import answer
from headwater.http.parameters import Parameter
from headwater.identity.emails import WRITTEN_EMAIL

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
