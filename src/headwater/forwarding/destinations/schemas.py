"""JSON schemas of the bodies of destination endpoints."""

from __future__ import annotations

from headwater.events.accepted import EVENT_NAMES
from headwater.forwarding.platforms import registry
from headwater.http.inputs import account_schemas
from headwater.http.inputs.account_settings import LONGEST_NAME
from headwater.http.openapi import Schema

ALL_EVENTS = "Whether to also send events without a credited touchpoint of the platform."
EVENT_NAMES_ABOUT = (
    "By event name, the platform's name or id if it is not the default. Null or empty: the event is not sent."
)
_EVENT_NAMES: Schema = {
    "type": "object",
    "propertyNames": {"enum": list(EVENT_NAMES)},
    "additionalProperties": {"type": ["string", "null"], "maxLength": LONGEST_NAME},
    "description": EVENT_NAMES_ABOUT,
}
_ALL_EVENTS: Schema = {"type": "boolean", "description": ALL_EVENTS}
_CHANGEABLE = {**account_schemas.CHANGEABLE, "event_names": _EVENT_NAMES, "all_events": _ALL_EVENTS}
BODY_OF_CHANGE = account_schemas.describe_change(_CHANGEABLE)


def describe_creation() -> Schema:
    return account_schemas.describe_creation(registry.PLATFORMS, _CHANGEABLE)
