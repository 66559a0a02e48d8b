"""What the endpoints that erase a person take and answer, for the document."""

from __future__ import annotations

from typing import Any

from headwater.http.openapi import conflict
from headwater.http.parameters import Kind, One
from headwater.identity.emails import parse_email


def _parse(text: str) -> str:
    return parse_email(text.strip().lower())


EMAIL: One[str] = One(
    name="email",
    kind=Kind({"type": "string", "format": "email"}, _parse),
    description="Any address the contact has or had, merged contacts' included.",
    required=True,
)

QUEUED: dict[str, Any] = {
    "description": "The contact will be erased.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["contact_id", "status", "message"],
                "properties": {
                    "contact_id": {"type": "integer"},
                    "status": {"type": "string", "const": "queued"},
                    "message": {"type": "string"},
                },
            }
        }
    },
}

SEVERAL = conflict(contact_ids={"type": "array", "items": {"type": "integer"}})
