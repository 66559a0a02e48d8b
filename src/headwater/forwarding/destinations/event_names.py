"""Names of events at a destination. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from headwater.events.accepted import CUSTOM_NAMES, STANDARD_NAMES
from headwater.forwarding.platforms.platform import Platform

OwnNames = Mapping[str, str | None]
"""The platform's name or id; None to not send."""


class SentName(Struct, frozen=True):
    """The name that an event is sent as."""

    event_name: str
    sent_as: Annotated[
        str | None, Meta(description="The platform's name or id; null if the event is not sent.")
    ]
    own: Annotated[bool, Meta(description="Whether it is not the platform's default.")]


def effective(platform: Platform, own_names: OwnNames, labels: Mapping[str, str]) -> list[SentName]:
    """Return standard events, and custom events with a label or mapping."""
    custom = [name for name in CUSTOM_NAMES if name in labels or name in own_names]
    return [
        SentName(name, platform.sent_as(name, own_names, labels.get(name)), name in own_names)
        for name in (*STANDARD_NAMES, *custom)
    ]


def warnings(platform: Platform, mapped: list[SentName]) -> list[str]:
    """Warn of events that share a platform name: a person with two of them counts twice."""
    names_by_sent_name: dict[str, list[str]] = {}
    for name in mapped:
        if name.sent_as is not None:
            names_by_sent_name.setdefault(name.sent_as, []).append(name.event_name)
    return [
        f"{', '.join(names)} are all sent to {platform.title} as {sent_name}: "
        "a person with two of them counts twice."
        for sent_name, names in names_by_sent_name.items()
        if len(names) > 1
    ]
