"""Validate destinations. Errors never quote values, which may be tokens. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from headwater.events.accepted import EVENT_NAMES
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.settings import describe_rule
from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.fields import UNPRINTABLE

FIELDS = ("name", "settings", "secrets", "event_names", "all_events")

LONGEST_NAME = 255
LONGEST_SECRET = 16_384
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


@dataclass(frozen=True)
class DestinationChange:
    """None keeps the current value."""

    name: str | None = None
    settings: dict[str, Any] | None = None
    """All settings."""
    secrets: dict[str, str | None] | None = field(default=None, repr=False)
    """Changed secrets; None removes one."""
    event_names: dict[str, str | None] | None = None
    """All own names."""
    all_events: bool | None = None


def find_platform(name: object) -> Platform:
    """Raise Invalid for bad input."""
    if not isinstance(name, str) or name not in registry.PLATFORMS:
        raise Invalid.of("platform", f"must be one of {', '.join(registry.PLATFORMS)}.")
    return registry.PLATFORMS[name]


def read_new(body: Mapping[str, Any], *, as_text: bool = False) -> tuple[Platform, DestinationChange]:
    """Convert typed values with `as_text`. Raises Invalid."""
    platform = find_platform(body.get("platform"))
    members: dict[str, Any] = {"name": platform.title, "all_events": False}
    members |= {name: {} for name in ("settings", "secrets", "event_names")}
    members |= {name: body[name] for name in FIELDS if name in body}
    return platform, _read(platform, members, {}, as_text=as_text)


def read_change(
    platform: Platform, body: Mapping[str, Any], current_secrets: Mapping[str, str], *, as_text: bool = False
) -> DestinationChange:
    """Raise Invalid for bad input."""
    members = {name: body[name] for name in FIELDS if name in body}
    if not members:
        raise Invalid.of("body", f"must have at least one of {', '.join(FIELDS)}.")
    return _read(platform, members, current_secrets, as_text=as_text)


def settings_problems(platform: Platform, settings: dict[str, Any]) -> str:
    """Return errors of previously accepted settings, in sentences."""
    errors = Errors()
    _read_settings(platform, settings, errors, as_text=False)
    return " ".join(rule for rules in errors.values() for rule in rules)


def _read(
    platform: Platform, members: Mapping[str, Any], current_secrets: Mapping[str, str], *, as_text: bool
) -> DestinationChange:
    errors = Errors()
    values: dict[str, Any] = {}
    if "name" in members:
        values["name"] = _read_name(members["name"], errors)
    if "settings" in members:
        settings = _read_object("settings", members["settings"], errors)
        values["settings"] = _read_settings(platform, settings, errors, as_text=as_text)
    if "secrets" in members:
        secrets = _read_object("secrets", members["secrets"], errors)
        values["secrets"] = _read_secrets(platform, secrets, current_secrets, errors)
    if "event_names" in members:
        names = _read_object("event_names", members["event_names"], errors)
        values["event_names"] = _read_event_names(platform, names, errors)
    if "all_events" in members:
        values["all_events"] = members["all_events"]
        if not isinstance(members["all_events"], bool):
            errors["all_events"] = ["The all_events must be true or false."]
    if errors:
        raise Invalid(errors)
    return DestinationChange(**values)


def _read_object(name: str, value: object, errors: Errors) -> dict[str, Any]:
    if not isinstance(value, dict):
        errors[name] = [f"The {name} must be an object."]
        return {}
    return cast("dict[str, Any]", value)


def _read_name(value: object, errors: Errors) -> str:
    name = value.strip() if isinstance(value, str) else ""
    if not name or len(name) > LONGEST_NAME or UNPRINTABLE.search(name):
        rule = f"must be a text of 1 to {LONGEST_NAME} characters without control characters."
        errors["name"] = [f"The name {rule}"]
    return name


def _read_settings(
    platform: Platform, settings: dict[str, Any], errors: Errors, *, as_text: bool
) -> dict[str, Any]:
    """Fill in defaults. With `as_text`, empty means absent."""
    fields = {setting.name: setting for setting in msgspec.structs.fields(platform.settings)}
    _refuse_unknown("settings", settings, fields, errors)
    values: dict[str, Any] = {}
    for name, setting in fields.items():
        if name not in settings or (as_text and settings[name] == ""):
            if setting.required:
                errors[f"settings.{name}"] = [f"The settings.{name} is required."]
            continue
        value = settings[name]
        try:
            values[name] = msgspec.convert(value, setting.type, strict=not as_text)
        except msgspec.ValidationError:
            errors[f"settings.{name}"] = [f"The settings.{name} {describe_rule(setting.type)}"]
        else:
            if isinstance(value, str) and UNPRINTABLE.search(value):
                rule = "must not hold control characters."
                errors[f"settings.{name}"] = [f"The settings.{name} {rule}"]
    if any(name.startswith("settings") for name in errors):
        return {}
    try:
        return msgspec.to_builtins(platform.settings(**values))
    except ValueError as error:  # settings that exclude each other
        errors["settings"] = [f"The settings {error}"]
        return {}


def _read_secrets(
    platform: Platform, secrets: dict[str, Any], current: Mapping[str, str], errors: Errors
) -> dict[str, str | None]:
    _refuse_unknown("secrets", secrets, platform.secrets, errors)
    changes: dict[str, str | None] = {}
    for name in platform.secrets:
        if name not in secrets:
            if name not in current and name not in platform.optional_secrets:
                errors[f"secrets.{name}"] = [f"The secrets.{name} is required."]
            continue
        value = secrets[name]
        text = value.strip() if isinstance(value, str) else ""
        if value is None or text == value == "":
            changes[name] = None
            if name not in platform.optional_secrets:
                errors[f"secrets.{name}"] = [f"The secrets.{name} is required."]
        elif not text or len(text) > LONGEST_SECRET or _UNSTORABLE.search(text):
            rule = f"must be a text of 1 to {LONGEST_SECRET} characters."
            errors[f"secrets.{name}"] = [f"The secrets.{name} {rule}"]
        else:
            changes[name] = text
    changed = {name: text for name, text in {**current, **changes}.items() if text is not None}
    if not any(name.startswith("secrets") for name in errors):
        problem = platform.secrets_problem(changed)
        if problem is not None:
            errors["secrets"] = [f"The secrets cannot be used: {problem}"]
    return changes


def _read_event_names(
    platform: Platform, event_names: dict[str, Any], errors: Errors
) -> dict[str, str | None]:
    """Treat empty and null as not sent."""
    pattern = platform.name_pattern
    _refuse_unknown("event_names", event_names, EVENT_NAMES, errors)
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


def _refuse_unknown(group: str, names: Collection[str], allowed: Collection[str], errors: Errors) -> None:
    for name in names:
        if name not in allowed:
            choices = ", ".join(allowed) if len(allowed) < len(EVENT_NAMES) else "our event names"
            rule = f"is not one of {choices}." if allowed else "is not a setting of this platform."
            errors[f"{group}.{name}"] = [f"The {group}.{name} {rule}"]
