"""Validate destinations. Errors never quote values, which may be tokens. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from headwater.events.accepted import EVENT_NAMES
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.platform import Platform
from headwater.http.errors import join_rules
from headwater.http.inputs.account_settings import (
    ACCOUNT_FIELDS,
    LONGEST_NAME,
    AccountChange,
    find_kind,
    read_account,
    read_settings,
    select_changed,
)
from headwater.http.inputs.fields import FLAG, line_up_to
from headwater.http.inputs.objects import Findings, map_of, write_rules

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
    findings = Findings()
    read_settings(platform, settings, findings, as_text=False)
    return join_rules(write_rules(findings.rules))


def _read(
    platform: Platform, members: Mapping[str, Any], current_secrets: Mapping[str, str], *, as_text: bool
) -> DestinationChange:
    findings = Findings()
    values = read_account(platform, members, current_secrets, findings, as_text=as_text)
    if "event_names" in members:
        kinds = dict.fromkeys(EVENT_NAMES, _SENT_NAME.then(partial(_check_sent_name, platform)))
        names = map_of(kinds, "is not one of our event names.")
        values["event_names"] = findings.read("event_names", names, members["event_names"])
    if "all_events" in members:
        values["all_events"] = findings.read("all_events", FLAG, members["all_events"])
    findings.refuse()
    return DestinationChange(**values)


def _check_sent_name(platform: Platform, name: str | None) -> str | None:
    """Return None for a blank name, too: the event is not sent."""
    pattern = platform.name_pattern
    if name and pattern is not None and not re.fullmatch(pattern, name, re.ASCII):
        raise ValueError(platform.name_rule)
    return name or None


_SENT_NAME = line_up_to(
    LONGEST_NAME, f"must be null or a text of at most {LONGEST_NAME} characters.", shortest=0
).or_null()
