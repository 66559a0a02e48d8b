"""The request and answer bodies of the destination endpoints, as JSON schemas for the OpenAPI document, and
the JSON of platforms and destinations.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from headwater.events.accepted import EVENT_NAMES
from headwater.forwarding.destinations.destinations import (
    DELIVERY_STATUSES,
    MOST_COUNTED,
    STATUSES,
    DestinationRow,
)
from headwater.forwarding.destinations.event_names import effective, warnings
from headwater.forwarding.destinations.inputs import LONGEST_NAME, LONGEST_SECRET
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.platform import DAY, Platform
from headwater.http.openapi import (
    MOMENT,
    MOMENT_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    WHOLE,
    WHOLE_OR_NULL,
    answer,
    body,
    data_schema,
    object_schema,
)

Schema = dict[str, Any]

# -------------------------------------------------------------------------------------- showing


def show_platform(platform: Platform) -> dict[str, Any]:
    """Return a platform as the API returns it."""
    return {
        "name": platform.name,
        "title": platform.title,
        "sources": sorted(platform.sources),
        "settings": settings_schema(platform),
        "secrets": [
            {"name": name, "description": description, "required": name not in platform.optional_secrets}
            for name, description in platform.secrets.items()
        ],
        "event_names": dict(platform.event_names),
        "limits": {"batch": platform.limits.batch, "age_days": platform.limits.age / DAY},
    }


def show_destination(stored: DestinationRow) -> dict[str, Any]:
    """Return a destination as the API returns it: of its secrets only the names."""
    platform = registry.PLATFORMS[stored.platform]
    mapped = effective(platform, stored.event_names, stored.event_labels)
    return {
        "id": stored.id,
        "platform": stored.platform,
        "name": stored.name,
        "status": stored.status,
        "status_reason": stored.status_reason,
        "all_events": stored.all_events,
        "settings": stored.settings,
        "secrets": stored.secret_names,
        "event_names": stored.event_names,
        "mapping": [name._asdict() for name in mapped],
        "warnings": warnings(platform, mapped),
        "deliveries": stored.counts,
        "wait_until": stored.wait_until,
        "tested_at": stored.tested_at,
        "test_ok": stored.test_ok,
        "test_message": stored.test_message,
        "test_remedy": stored.test_remedy,
        "created_at": stored.created_at,
    }


def settings_schema(platform: Platform) -> Schema:
    """Return the settings of a platform's destinations, as a JSON schema."""
    (_,), parts = msgspec.json.schema_components([platform.settings])
    return {**_portable(parts[platform.settings.__name__]), "additionalProperties": False}


def _portable(schema: Any) -> Any:
    """Return a schema whose patterns are valid in JSON schemas, with ^ and $ in place of Python's
    own marks for the ends of a text.
    """
    if isinstance(schema, list):
        return [_portable(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    portable = {name: _portable(value) for name, value in cast("Schema", schema).items()}
    pattern = portable.get("pattern")
    if isinstance(pattern, str) and pattern.startswith("\\A"):
        portable["pattern"] = "^" + pattern.removeprefix("\\A").removesuffix("\\Z") + "$"
    return portable


# ---------------------------------------------------------------------------------- documenting

_OBJECT: Schema = {"type": "object"}


def _secrets_schema(platform: Platform) -> Schema:
    optional = platform.optional_secrets
    needed: Schema = {"type": "string", "pattern": r"\S", "maxLength": LONGEST_SECRET}
    taken: Schema = {"type": ["string", "null"], "maxLength": LONGEST_SECRET}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in platform.secrets if name not in optional],
        "properties": {
            name: {"description": description, **(taken if name in optional else needed)}
            for name, description in platform.secrets.items()
        },
    }


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
    "description": (
        "Event name to the platform's name or id for it, where it is not the default; null or "
        "empty: such events are not sent."
    ),
}
_ALL_EVENTS: Schema = {
    "type": "boolean",
    "description": "Whether events without a credited touchpoint of the platform go there as well.",
}
_CHANGEABLE: dict[str, Schema] = {
    "name": _NAME,
    "settings": {**_OBJECT, "description": "All of them: those left out have their defaults."},
    "secrets": {
        **_OBJECT,
        "description": "Those that change; null takes one away. Never shown again.",
        "additionalProperties": {"type": ["string", "null"]},
    },
    "event_names": _EVENT_NAMES,
    "all_events": _ALL_EVENTS,
}


def body_of_creation() -> Schema:
    """Return the schema of the body that creates a destination, for each platform."""
    platforms = registry.PLATFORMS
    variants = [_creation_schema(platform) for platform in platforms.values()]
    whole: Schema = {
        "type": "object",
        "required": ["platform"],
        "properties": {"platform": {"type": "string", "enum": list(platforms)}, **_CHANGEABLE},
    }
    return body({**whole, "oneOf": variants})


def _creation_schema(platform: Platform) -> Schema:
    """Return the schema for one platform. An object without required members may be left out."""
    members = {"settings": settings_schema(platform), "secrets": _secrets_schema(platform)}
    return {
        "required": [name for name, schema in members.items() if schema.get("required")],
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
_COUNTS: Schema = {
    **object_schema(dict.fromkeys(DELIVERY_STATUSES, WHOLE)),
    "description": f"Deliveries by status; {MOST_COUNTED} means that many or more.",
}
_DESTINATION: Schema = object_schema(
    {
        "id": WHOLE,
        "platform": TEXT,
        "name": TEXT,
        "status": {"type": "string", "enum": list(STATUSES)},
        "status_reason": {**TEXT_OR_NULL, "description": "Why it is held."},
        "all_events": _ALL_EVENTS,
        "settings": _OBJECT,
        "secrets": {"type": "array", "items": TEXT, "description": "The names of those it has."},
        "event_names": _EVENT_NAMES,
        "mapping": {
            "type": "array",
            "items": object_schema(
                {
                    "event_name": TEXT,
                    "sent_as": TEXT_OR_NULL,
                    "own": {"type": "boolean", "description": "Whether it is not the platform's default."},
                }
            ),
        },
        "warnings": {"type": "array", "items": TEXT},
        "deliveries": _COUNTS,
        "wait_until": {**MOMENT_OR_NULL, "description": "Nothing is sent before."},
        "tested_at": {
            **MOMENT_OR_NULL,
            "description": "The last test; null if there was none since the last change.",
        },
        "test_ok": {"type": ["boolean", "null"], "description": "Whether the platform took the test event."},
        "test_message": {**TEXT_OR_NULL, "description": "How the test went, in words."},
        "test_remedy": {**TEXT_OR_NULL, "description": "What to do about a test that failed."},
        "created_at": MOMENT,
    }
)
_PLATFORM: Schema = object_schema(
    {
        "name": TEXT,
        "title": TEXT,
        "sources": {"type": "array", "items": TEXT},
        "settings": {**_OBJECT, "description": "A JSON schema."},
        "secrets": {
            "type": "array",
            "items": object_schema({"name": TEXT, "description": TEXT, "required": {"type": "boolean"}}),
        },
        "event_names": {
            "type": "object",
            "additionalProperties": TEXT,
            "description": "Defaults: our event name to the platform's.",
        },
        "limits": object_schema({"batch": WHOLE, "age_days": {"type": "number"}}),
    }
)

PLATFORMS: Schema = answer("Every platform.", data_schema(_PLATFORM))
DESTINATIONS: Schema = answer("The Space's destinations.", data_schema(_DESTINATION))
DESTINATION: Schema = answer("The destination.", _DESTINATION)
TRIED: Schema = answer(
    "How the trial went.",
    object_schema(
        {
            "ok": {"type": "boolean"},
            "http_status": WHOLE_OR_NULL,
            "message": TEXT,
            "remedy": {**TEXT_OR_NULL, "description": "What to do, where the message does not say."},
        }
    ),
)
REMOVED: Schema = answer("The destination is removed.", object_schema({"message": TEXT}))
