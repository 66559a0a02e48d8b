"""A destination's event names: one line per event. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from headwater.console.forms import PostedForm
from headwater.events.accepted import CUSTOM_NAMES, STANDARD_NAMES
from headwater.forwarding.destinations.event_names import OwnNames, effective
from headwater.forwarding.platforms.platform import Platform

FIELD = "event_names."


class NameField(Struct, frozen=True):
    name: str
    event_name: str
    title: str
    sent_as: str
    """Empty if the event isn't sent."""
    default: str
    """The platform's default name; empty without one."""


def name_fields(platform: Platform, own_names: OwnNames, labels: Mapping[str, str]) -> list[NameField]:
    """List standard events, and custom ones that the Space has labelled or mapped."""
    return [
        NameField(
            FIELD + name.event_name,
            name.event_name,
            labels.get(name.event_name) or name.event_name.replace("_", " "),
            name.sent_as or "",
            platform.sent_as(name.event_name, {}, labels.get(name.event_name)) or "",
        )
        for name in effective(platform, own_names, labels)
    ]


def read_names(
    form: PostedForm, platform: Platform, own_names: OwnNames, labels: Mapping[str, str]
) -> dict[str, str | None]:
    """Return names that differ from the platform's. Names missing from the form stay."""
    names = dict(own_names)
    keys = {key for key, _ in form.pairs}
    for event_name in (*STANDARD_NAMES, *CUSTOM_NAMES):
        if FIELD + event_name not in keys:
            continue
        text = form.text(FIELD + event_name).strip()
        names.pop(event_name, None)
        if text != (platform.sent_as(event_name, {}, labels.get(event_name)) or ""):
            names[event_name] = text or None
    return names
