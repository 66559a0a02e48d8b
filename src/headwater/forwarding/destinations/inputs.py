"""Validate destinations. Errors never quote values, which may be tokens. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headwater.events.accepted import EVENT_NAMES
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.platform import Platform
from headwater.http.errors import Errors, Invalid, join_rules
from headwater.http.inputs.account_settings import (
    ACCOUNT_FIELDS,
    LONGEST_NAME,
    AccountChange,
    find_kind,
    read_account,
    read_object_of,
    read_settings,
    refuse_unknown,
    select_changed,
)
from headwater.http.inputs.fields import UNPRINTABLE

FIELDS = (*ACCOUNT_FIELDS, "event_names", "all_events")


@dataclass(frozen=True)
class DestinationChange(AccountChange):
    event_names: dict[str, str | None] | None = None
    """All own names."""
    all_events: bool | None = None


def read_new(body: Mapping[str, Any], *, as_text: bool = False) -> tuple[Platform, DestinationChange]:
    """Convert typed values with `as_text`. Raises Invalid."""
    platform = find_kind(registry.PLATFORMS, body.get("platform"))
    members: dict[str, Any] = {"name": platform.title, "all_events": False}
    members |= {name: {} for name in ("settings", "secrets", "event_names")}
    members |= {name: body[name] for name in FIELDS if name in body}
    return platform, _read(platform, members, {}, as_text=as_text)


def read_change(
    platform: Platform, body: Mapping[str, Any], current_secrets: Mapping[str, str], *, as_text: bool = False
) -> DestinationChange:
    """Raise Invalid for bad input."""
    return _read(platform, select_changed(body, FIELDS), current_secrets, as_text=as_text)


def settings_problems(platform: Platform, settings: dict[str, Any]) -> str:
    """Return errors of previously accepted settings, in sentences."""
    errors = Errors()
    read_settings(platform, settings, errors, as_text=False)
    return join_rules(errors)


def _read(
    platform: Platform, members: Mapping[str, Any], current_secrets: Mapping[str, str], *, as_text: bool
) -> DestinationChange:
    errors = Errors()
    values = read_account(platform, members, current_secrets, errors, as_text=as_text)
    if "event_names" in members:
        names = read_object_of("event_names", members["event_names"], errors)
        values["event_names"] = _read_event_names(platform, names, errors)
    if "all_events" in members:
        values["all_events"] = members["all_events"]
        if not isinstance(members["all_events"], bool):
            errors["all_events"] = ["The all_events must be true or false."]
    if errors:
        raise Invalid(errors)
    return DestinationChange(**values)


def _read_event_names(
    platform: Platform, event_names: dict[str, Any], errors: Errors
) -> dict[str, str | None]:
    """Treat empty and null as not sent."""
    pattern = platform.name_pattern
    refuse_unknown("event_names", event_names, EVENT_NAMES, errors, "our event names")
    names: dict[str, str | None] = {}
    for name, value in event_names.items():
        text = value.strip() if isinstance(value, str) else ""
        if value is not None and (
            not isinstance(value, str) or len(text) > LONGEST_NAME or UNPRINTABLE.search(text)
        ):
            rule = f"must be null or a text of at most {LONGEST_NAME} characters."
            errors[f"event_names.{name}"] = [f"The event_names.{name} {rule}"]
        elif text and pattern is not None and not re.fullmatch(pattern, text, re.ASCII):
            errors[f"event_names.{name}"] = [f"The event_names.{name} {platform.name_rule}"]
        names[name] = text or None
    return names
