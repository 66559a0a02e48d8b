"""A destination as people describe it, checked against what its platform asks for. Every field at
fault is named; no error repeats a value, as it may be a token. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from headwater.events.accepted import EVENT_NAMES
from headwater.http.errors import Errors, Invalid
from headwater.platforms import registry
from headwater.platforms.platform import Platform
from headwater.platforms.setting import rule_of

FIELDS = ("name", "settings", "secrets", "event_names", "all_events")
"""What can be changed of a destination."""

LONGEST_NAME = 255
LONGEST_SECRET = 16_384
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


@dataclass(frozen=True)
class DestinationChange:
    """What is to become of a destination; None is left as it is."""

    name: str | None = None
    settings: dict[str, Any] | None = None
    """All of them, as the platform's model has them."""
    secrets: dict[str, str | None] | None = field(default=None, repr=False)
    """Those that change; None takes one away."""
    event_names: dict[str, str | None] | None = None
    """All own names."""
    all_events: bool | None = None


def platform_named(name: object) -> Platform:
    """The platform by that name. Raises Invalid."""
    if not isinstance(name, str) or name not in registry.PLATFORMS:
        raise Invalid.of("platform", f"must be one of {', '.join(registry.PLATFORMS)}.")
    return registry.PLATFORMS[name]


def read_new(
    body: Mapping[str, Any], *, as_text: bool = False
) -> tuple[Platform, DestinationChange]:
    """The destination that a body describes. Values that were typed as text are read by the type
    they should have. Raises Invalid.
    """
    platform = platform_named(body.get("platform"))
    told = {"name": platform.title, "all_events": False}
    told |= {name: {} for name in ("settings", "secrets", "event_names")}
    told |= {name: body[name] for name in FIELDS if name in body}
    return platform, _read(platform, told, {}, as_text=as_text)


def read_change(
    platform: Platform,
    body: Mapping[str, Any],
    held: Mapping[str, str],
    *,
    as_text: bool = False,
) -> DestinationChange:
    """What a body changes of a destination that has the secrets `held`. Raises Invalid."""
    told = {name: body[name] for name in FIELDS if name in body}
    if not told:
        raise Invalid.of("body", f"must have at least one of {', '.join(FIELDS)}.")
    return _read(platform, told, held, as_text=as_text)


def faults_of(platform: Platform, settings: dict[str, Any]) -> str:
    """What is wrong with settings that were once accepted, in sentences."""
    errors = Errors()
    _settings(platform, settings, errors, as_text=False)
    return " ".join(rule for rules in errors.values() for rule in rules)


def _read(
    platform: Platform, told: Mapping[str, Any], held: Mapping[str, str], *, as_text: bool
) -> DestinationChange:
    errors = Errors()
    values: dict[str, Any] = {}
    if "name" in told:
        values["name"] = _name(told["name"], errors)
    if "settings" in told:
        given = _object("settings", told["settings"], errors)
        values["settings"] = _settings(platform, given, errors, as_text=as_text)
    if "secrets" in told:
        given = _object("secrets", told["secrets"], errors)
        values["secrets"] = _secrets(platform, given, held, errors)
    if "event_names" in told:
        given = _object("event_names", told["event_names"], errors)
        values["event_names"] = _event_names(platform, given, errors)
    if "all_events" in told:
        values["all_events"] = told["all_events"]
        if not isinstance(told["all_events"], bool):
            errors["all_events"] = ["The all_events must be true or false."]
    if errors:
        raise Invalid(errors)
    return DestinationChange(**values)


def _object(name: str, value: object, errors: Errors) -> dict[str, Any]:
    if not isinstance(value, dict):
        errors[name] = [f"The {name} must be an object."]
        return {}
    return cast("dict[str, Any]", value)


def _name(value: object, errors: Errors) -> str:
    name = value.strip() if isinstance(value, str) else ""
    if not name or len(name) > LONGEST_NAME or _CONTROL.search(name):
        rule = f"must be a text of 1 to {LONGEST_NAME} characters without control characters."
        errors["name"] = [f"The name {rule}"]
    return name


def _settings(
    platform: Platform, given: dict[str, Any], errors: Errors, *, as_text: bool
) -> dict[str, Any]:
    """All settings, those not given by their defaults. Where values are typed, an empty one counts
    as not given.
    """
    fields = {each.name: each for each in msgspec.structs.fields(platform.settings)}
    _refuse_unknown("settings", given, fields, errors)
    sound: dict[str, Any] = {}
    for name, each in fields.items():
        value = given.get(name)
        if name not in given or (as_text and value == ""):
            if each.required:
                errors[f"settings.{name}"] = [f"The settings.{name} is required."]
            continue
        try:
            sound[name] = msgspec.convert(value, each.type, strict=not as_text)
        except msgspec.ValidationError:
            errors[f"settings.{name}"] = [f"The settings.{name} {rule_of(each.type)}"]
        else:
            if isinstance(value, str) and _CONTROL.search(value):
                rule = "must not hold control characters."
                errors[f"settings.{name}"] = [f"The settings.{name} {rule}"]
    if any(name.startswith("settings") for name in errors):
        return {}
    try:
        return msgspec.to_builtins(platform.settings(**sound))
    except ValueError as error:  # settings that do not go together
        errors["settings"] = [f"The settings {error}"]
        return {}


def _secrets(
    platform: Platform, given: dict[str, Any], held: Mapping[str, str], errors: Errors
) -> dict[str, str | None]:
    _refuse_unknown("secrets", given, platform.secrets, errors)
    sound: dict[str, str | None] = {}
    for name in platform.secrets:
        if name not in given:
            if name not in held and name not in platform.optional_secrets:
                errors[f"secrets.{name}"] = [f"The secrets.{name} is required."]
            continue
        value = given[name]
        text = value.strip() if isinstance(value, str) else ""
        if value is None or text == value == "":
            sound[name] = None
            if name not in platform.optional_secrets:
                errors[f"secrets.{name}"] = [f"The secrets.{name} is required."]
        elif not text or len(text) > LONGEST_SECRET or _UNSTORABLE.search(text):
            rule = f"must be a text of 1 to {LONGEST_SECRET} characters."
            errors[f"secrets.{name}"] = [f"The secrets.{name} {rule}"]
        else:
            sound[name] = text
    after = {name: text for name, text in {**held, **sound}.items() if text is not None}
    if not any(name.startswith("secrets") for name in errors):
        wrong = platform.secrets_wrong(after)
        if wrong is not None:
            errors["secrets"] = [f"The secrets cannot be used: {wrong}"]
    return sound


def _event_names(
    platform: Platform, given: dict[str, Any], errors: Errors
) -> dict[str, str | None]:
    """Own names; an empty one says as null does that the event is not sent."""
    pattern = platform.name_pattern
    _refuse_unknown("event_names", given, EVENT_NAMES, errors)
    sound: dict[str, str | None] = {}
    for name, value in given.items():
        text = value.strip() if isinstance(value, str) else ""
        if value is not None and (
            not isinstance(value, str) or len(text) > LONGEST_NAME or _CONTROL.search(text)
        ):
            rule = f"must be null or a text of at most {LONGEST_NAME} characters."
            errors[f"event_names.{name}"] = [f"The event_names.{name} {rule}"]
        elif text and pattern is not None and not re.fullmatch(pattern, text, re.ASCII):
            errors[f"event_names.{name}"] = [f"The event_names.{name} {platform.name_rule}"]
        sound[name] = text or None
    return sound


def _refuse_unknown(
    group: str, given: Collection[str], known: Collection[str], errors: Errors
) -> None:
    for name in given:
        if name not in known:
            listed = ", ".join(known) if len(known) < len(EVENT_NAMES) else "our event names"
            rule = f"is none of {listed}." if known else "is none: there are none here."
            errors[f"{group}.{name}"] = [f"The {group}.{name} {rule}"]
