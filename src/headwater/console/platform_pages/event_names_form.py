"""The form of a destination's event names: a line for each of ours, with the platform's. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.console.forms import PostedForm
from headwater.events.accepted import CUSTOM_NAMES, STANDARD_NAMES
from headwater.forwarding.destinations.event_names import OwnNames, effective
from headwater.forwarding.platforms.platform import Platform

FIELD = "event_names."
"""The prefix of fields and of errors."""


@dataclass(frozen=True)
class NameField:
    """A line of the form."""

    name: str
    """In the form and among errors."""
    event_name: str
    title: str
    """What the Space calls the event."""
    sent_as: str
    """Empty when such events are not sent."""
    default: str
    """The platform's name for it, which counts unless another is set; empty without one."""


def name_fields(platform: Platform, own: OwnNames, labels: Mapping[str, str]) -> list[NameField]:
    """Return a line for every standard name, and for the custom ones that the Space has named or
    mapped.
    """
    return [
        NameField(
            FIELD + each.event_name,
            each.event_name,
            labels.get(each.event_name) or each.event_name.replace("_", " "),
            each.sent_as or "",
            platform.sent_as(each.event_name, {}, labels.get(each.event_name)) or "",
        )
        for each in effective(platform, own, labels)
    ]


def read_names(
    form: PostedForm, platform: Platform, own: OwnNames, labels: Mapping[str, str]
) -> dict[str, str | None]:
    """Return the names of its own that a destination then has: those that differ from the
    platform's. A name that the form does not ask for stays.
    """
    names = dict(own)
    present = {key for key, _ in form.pairs}
    for event_name in (*STANDARD_NAMES, *CUSTOM_NAMES):
        if FIELD + event_name not in present:
            continue
        text = form.text(FIELD + event_name).strip()
        names.pop(event_name, None)
        if text != (platform.sent_as(event_name, {}, labels.get(event_name)) or ""):
            names[event_name] = text or None
    return names
