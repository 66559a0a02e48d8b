"""What the endpoints that erase a person take and answer, for the document."""

from __future__ import annotations

from headwater.http.openapi import answer
from headwater.http.parameters import Parameter, ParameterType
from headwater.identity.emails import parse_written_email

EMAIL: Parameter[str] = Parameter(
    name="email",
    kind=ParameterType({"type": "string", "format": "email"}, parse_written_email),
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
