"""JSON schemas of the bodies of destination endpoints."""

from __future__ import annotations

from headwater.events.accepted import EVENT_NAMES
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.platform import Platform
from headwater.http.inputs.account_settings import LONGEST_NAME, secrets_schema, settings_schema
from headwater.http.openapi import Schema, body

ALL_EVENTS = "Whether to also send events without a credited touchpoint of the platform."
EVENT_NAMES_ABOUT = (
    "By event name, the platform's name or id if it is not the default. Null or empty: the event is not sent."
)
_OBJECT: Schema = {"type": "object"}


_NAME: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": LONGEST_NAME,
    "description": "Its name; by default the platform's title.",
}
_EVENT_NAMES: Schema = {
    "type": "object",
    "propertyNames": {"enum": list(EVENT_NAMES)},
    "additionalProperties": {"type": ["string", "null"], "maxLength": LONGEST_NAME},
    "description": EVENT_NAMES_ABOUT,
}
_ALL_EVENTS: Schema = {"type": "boolean", "description": ALL_EVENTS}
_CHANGEABLE: dict[str, Schema] = {
    "name": _NAME,
    "settings": {**_OBJECT, "description": "All settings; omitted ones get their defaults."},
    "secrets": {
        **_OBJECT,
        "description": "Changed secrets; null removes one. Never returned.",
        "additionalProperties": {"type": ["string", "null"]},
    },
    "event_names": _EVENT_NAMES,
    "all_events": _ALL_EVENTS,
}


def describe_creation() -> Schema:
    platforms = registry.PLATFORMS
    variants = [_creation_schema(platform) for platform in platforms.values()]
    common: Schema = {
        "type": "object",
        "required": ["platform"],
        "properties": {"platform": {"type": "string", "enum": list(platforms)}, **_CHANGEABLE},
    }
    return body({**common, "oneOf": variants})


def _creation_schema(platform: Platform) -> Schema:
    """Make objects without required members optional."""
    members = {"settings": settings_schema(platform), "secrets": secrets_schema(platform)}
    return {
        "required": ["platform", *(name for name, schema in members.items() if schema.get("required"))],
        "properties": {"platform": {"const": platform.name}, **members},
    }


BODY_OF_CHANGE: Schema = body(
    {
        "type": "object",
        "minProperties": 1,
        "properties": _CHANGEABLE,
        "anyOf": [{"required": [name]} for name in _CHANGEABLE],
    }
)
