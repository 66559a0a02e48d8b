"""What a platform calls our events: its defaults, and what a destination has instead. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from headwater.events.accepted import CUSTOM_NAMES, STANDARD_NAMES
from headwater.platforms.platform import Platform, name_for

OwnNames = Mapping[str, str | None]
"""Event name → the platform's name or id; None: the event is not sent."""


class EventName(NamedTuple):
    """What becomes of the events of one name."""

    event_name: str
    sent_as: str | None
    """The platform's name or id; None where such events are not sent."""
    own: bool
    """Whether the destination says so, and not the platform's defaults."""


def sent_as(
    platform: Platform, own: OwnNames, event_name: str, label: str | None = None
) -> str | None:
    """The platform's name or id for an event of ours, which people may call otherwise (`label`);
    None when it is not sent.
    """
    return name_for(event_name, label, own, (platform.event_names, platform.free_names))


def effective(platform: Platform, own: OwnNames, labels: Mapping[str, str]) -> list[EventName]:
    """What becomes of events: of every standard name, and of the custom ones that people have
    named or mapped.
    """
    custom = [name for name in CUSTOM_NAMES if name in labels or name in own]
    return [
        EventName(name, sent_as(platform, own, name, labels.get(name)), name in own)
        for name in (*STANDARD_NAMES, *custom)
    ]


def warnings(platform: Platform, mapped: list[EventName]) -> list[str]:
    """What people should know of a mapping: several of our names that are one to the platform. A
    person who does two of them under different ids counts twice there.
    """
    ours: dict[str, list[str]] = {}
    for each in mapped:
        if each.sent_as is not None:
            ours.setdefault(each.sent_as, []).append(each.event_name)
    return [
        f"{', '.join(names)} all reach {platform.title} as {theirs}: whoever does two of them "
        "counts twice."
        for theirs, names in ours.items()
        if len(names) > 1
    ]
