"""Validate connections. Errors never quote values, which may be tokens. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.account_settings import (
    ACCOUNT_FIELDS,
    LONGEST_NAME,
    read_account,
    read_secrets,
    secrets_schema,
    settings_schema,
)
from headwater.http.inputs.path_parameters import INTEGER_ID
from headwater.http.openapi import TEXT_OR_NULL, Schema, body, or_null
from headwater.spend.platforms import registry
from headwater.spend.platforms.platform import SpendPlatform


@dataclass(frozen=True)
class ConnectionChange:
    """None keeps the current value."""

    name: str | None = None
    settings: dict[str, Any] | None = None
    """All settings."""
    secrets: dict[str, str | None] | None = field(default=None, repr=False)
    """Changed secrets; None removes one."""
    lender_id: int | None = None
    """The destination that lends secrets to a new connection."""


def find_platform(name: object) -> SpendPlatform:
    """Raise Invalid for bad input."""
    if not isinstance(name, str) or name not in registry.PLATFORMS:
        raise Invalid.of("platform", f"must be one of {', '.join(registry.PLATFORMS)}.")
    return registry.PLATFORMS[name]


def read_new(
    members: Mapping[str, Any], borrowed: Mapping[str, str] | None = None, *, as_text: bool = False
) -> tuple[SpendPlatform, ConnectionChange]:
    """Take missing secrets from `borrowed`, which a destination lends; convert typed values with `as_text`.
    Raises Invalid.
    """
    platform = find_platform(members.get("platform"))
    values: dict[str, Any] = {"name": platform.title, "settings": {}, "secrets": {}}
    values |= {name: members[name] for name in ACCOUNT_FIELDS if name in members}
    usable_secrets = {name: text for name, text in (borrowed or {}).items() if name in platform.secrets}
    is_lent = False
    if usable_secrets and isinstance(values["secrets"], dict):
        is_lent = bool(usable_secrets.keys() - values["secrets"].keys())
        values["secrets"] = {**usable_secrets, **values["secrets"]}
    change = _read(platform, values, {}, as_text=as_text)
    return platform, replace(change, lender_id=read_destination_id(members) if is_lent else None)


def can_lend(platform: SpendPlatform, secret_names: Collection[str]) -> bool:
    """Return whether a destination with these secrets has all that a connection needs."""
    errors = Errors()
    read_secrets(platform, {name: name for name in secret_names if name in platform.secrets}, {}, errors)
    return not errors


def read_destination_id(members: Mapping[str, Any]) -> int | None:
    """Return the destination that lends its secrets. Raises Invalid."""
    value = members.get("destination_id")
    if value is None:
        return None
    if type(value) is not int or not 0 < value < 10**18:
        raise Invalid.of("destination_id", "must be the id of a destination.")
    return value


def read_change(
    platform: SpendPlatform,
    members: Mapping[str, Any],
    current_secrets: Mapping[str, str],
    *,
    as_text: bool = False,
) -> ConnectionChange:
    """Raise Invalid for bad input."""
    values = {name: members[name] for name in ACCOUNT_FIELDS if name in members}
    if not values:
        raise Invalid.of("body", f"must have at least one of {', '.join(ACCOUNT_FIELDS)}.")
    return _read(platform, values, current_secrets, as_text=as_text)


def _read(
    platform: SpendPlatform, members: Mapping[str, Any], current: Mapping[str, str], *, as_text: bool
) -> ConnectionChange:
    errors = Errors()
    values = read_account(platform, members, current, errors, as_text=as_text)
    if errors:
        raise Invalid(errors)
    return ConnectionChange(**values)


_OBJECT: Schema = {"type": "object"}
_CHANGEABLE: dict[str, Schema] = {
    "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_NAME,
        "description": "Its name; by default the platform's title.",
    },
    "settings": {**_OBJECT, "description": "All settings; omitted ones get their defaults."},
    "secrets": {
        **_OBJECT,
        "description": "Changed secrets; null removes one. Never returned.",
        "additionalProperties": TEXT_OR_NULL,
    },
}
BODY_OF_CHANGE: Schema = body(
    {
        "type": "object",
        "minProperties": 1,
        "properties": _CHANGEABLE,
        "anyOf": [{"required": [name]} for name in _CHANGEABLE],
    }
)


def describe_creation() -> Schema:
    """Return the JSON schema of a new connection, a variant for each platform."""
    platforms = registry.PLATFORMS
    return body(
        {
            "type": "object",
            "required": ["platform"],
            "properties": {
                "platform": {"type": "string", "enum": list(platforms)},
                **_CHANGEABLE,
                "destination_id": {
                    **or_null(INTEGER_ID),
                    "description": "A destination of the same platform that lends the missing secrets.",
                },
            },
            "oneOf": [_describe_variant(platform) for platform in platforms.values()],
        }
    )


def _describe_variant(platform: SpendPlatform) -> Schema:
    members = {"settings": settings_schema(platform), "secrets": secrets_schema(platform)}
    required = {name for name, schema in members.items() if schema.get("required")}
    members["secrets"].pop("required", None)  # a destination may lend them
    return {
        "required": ["platform", *sorted(required - {"secrets"})],
        "properties": {"platform": {"const": platform.name}, **members},
    }
