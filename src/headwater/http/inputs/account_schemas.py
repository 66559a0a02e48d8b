"""JSON schemas of the bodies that create and change accounts at platforms. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.http.inputs.account_kinds import AccountKind
from headwater.http.inputs.account_settings import LONGEST_NAME, secrets_schema, settings_schema
from headwater.http.openapi import TEXT_OR_NULL, Schema, body

CHANGEABLE: Mapping[str, Schema] = {
    "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_NAME,
        "description": "Its name; by default the platform's title.",
    },
    "settings": {"type": "object", "description": "All settings; omitted ones get their defaults."},
    "secrets": {
        "type": "object",
        "description": "Changed secrets; null removes one. Never returned.",
        "additionalProperties": TEXT_OR_NULL,
    },
}


def describe_change(members: Mapping[str, Schema]) -> Schema:
    """Return the body of a change of at least one of these members."""
    return body(
        {
            "type": "object",
            "minProperties": 1,
            "properties": members,
            "anyOf": [{"required": [name]} for name in members],
        }
    )


def describe_creation(
    kinds: Mapping[str, AccountKind], members: Mapping[str, Schema], *, needs_secrets: bool = True
) -> Schema:
    """Return the body of a new account, with a variant for each platform. Without `needs_secrets`, secrets
    may come from elsewhere.
    """
    return body(
        {
            "type": "object",
            "required": ["platform"],
            "properties": {"platform": {"type": "string", "enum": list(kinds)}, **members},
            "oneOf": [_describe_variant(kind, needs_secrets=needs_secrets) for kind in kinds.values()],
        }
    )


def _describe_variant(kind: AccountKind, *, needs_secrets: bool) -> Schema:
    """Make objects without required members optional."""
    members = {"settings": settings_schema(kind), "secrets": secrets_schema(kind)}
    if not needs_secrets:
        del members["secrets"]["required"]
    return {
        "required": ["platform", *(name for name, schema in members.items() if schema.get("required"))],
        "properties": {"platform": {"const": kind.name}, **members},
    }
