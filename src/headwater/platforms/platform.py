"""What a platform is to the rest: data and pure functions. Everything that differs from platform to
platform is behind this, and nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.events.accepted import CUSTOM_NAMES
from headwater.platforms.models import (
    Answer,
    Call,
    Conversion,
    Destination,
    SkipReason,
    Verdict,
)

DAY = 86_400.0


def _nothing(_: Any) -> None:
    return None


@dataclass(frozen=True)
class Limits:
    """What one call may hold, and how old or early an event may be."""

    batch: int
    """Events in one call."""
    age: float
    """Seconds after which the platform does not take an event any more."""
    ahead: float = 0
    """Seconds that an event's time may lie in the future. Where the platform publishes none, 0: the
    event waits until its time has come."""


@dataclass(frozen=True)
class TokenExchange:
    """How a short-lived access token is had from the destination's secrets."""

    request: Callable[[Destination, float], Call | None]
    """The call that asks for one, at a Unix time; None where the secrets already hold a token that
    can be used as it is. Raises ValueError, in words for the operator, when the secrets cannot be
    used at all."""
    read: Callable[[Answer], tuple[str, float] | Verdict]
    """The token and the seconds it lives, or why there is none."""


@dataclass(frozen=True)
class Platform:
    """An ad platform's server-side conversion interface."""

    name: str
    """As in commands and in HEADWATER_<NAME>_URL."""
    title: str
    url: str
    """The origin its interface is reached at unless the operator names another."""
    sources: frozenset[str]
    """Listed sources whose credit makes an event this platform's."""
    settings: type[Any]
    """A frozen msgspec struct: what a destination is told besides secrets. Every field is annotated
    with Meta(description=…)."""
    secrets: Mapping[str, str]
    """Names of the tokens it needs, with what each is."""
    limits: Limits
    why_not: Callable[[Conversion, Destination], SkipReason | None]
    """Why this platform cannot take a conversion. What is the same everywhere (opt-out, mapping,
    attribution, age) is decided before."""
    build: Callable[[Conversion, Destination], dict[str, Any]]
    """The conversion's part of a call."""
    request: Callable[[Sequence[dict[str, Any]], Destination], Call]
    """A call with these parts."""
    classify: Callable[[Answer, int], Verdict]
    """What an answer to a call with so many parts means: the body is judged before the status."""
    redact: Callable[[dict[str, Any]], dict[str, Any]]
    """A part fit to be shown: without what tells who somebody is."""
    optional_secrets: frozenset[str] = frozenset()
    event_names: Mapping[str, str] = field(default_factory=dict[str, str])
    """Our event names → the platform's. Where it has an id for each account instead, empty: only
    what a destination maps itself is sent."""
    free_names: bool = False
    """Whether it takes any event name: a custom event then goes under what people call it."""
    name_pattern: str | None = None
    """What a name that a destination gives an event has to match as a whole, where it is an id."""
    name_rule: str = ""
    """The same for people, as the rest of `The name …`."""
    token: TokenExchange | None = None
    fits: Callable[[Sequence[dict[str, Any]]], int] = len
    """How many of these parts, counted from the first and at least one, go into one call: for where
    that depends on more than their number."""
    secrets_wrong: Callable[[Mapping[str, str]], str | None] = _nothing
    """What is wrong with these secrets taken together, in words for the operator."""
    why_no_trial: Callable[[Destination], str | None] = _nothing
    """Why a trial would count as a real conversion or cannot be made, in words for the operator."""
    quotes: frozenset[str] = frozenset()
    """Names in an answer under which the platform repeats what it was sent. Their values are
    masked before anything of the answer is kept."""


def event_name_of(
    platform: Platform, destination: Destination, conversion: Conversion
) -> str | None:
    """The platform's name or id for an event; None when it has none and is not sent."""
    names = platform.event_names
    return mapped_name(names, destination, conversion, free=platform.free_names)


def mapped_name(
    names: Mapping[str, str], destination: Destination, conversion: Conversion, *, free: bool
) -> str | None:
    """As event_name_of, of a platform's table and whether it takes free names."""
    name, label = conversion.event_name, conversion.configured_name
    return name_for(name, label, destination.event_names, (names, free))


def name_for(
    event_name: str,
    label: str | None,
    own: Mapping[str, str | None],
    defaults: tuple[Mapping[str, str], bool],
) -> str | None:
    """The platform's name or id for events of this name, which people may call otherwise (`label`):
    the destination's own, else by the platform's table and whether it takes free names.
    """
    names, free = defaults
    if event_name in own:
        return own[event_name] or None
    if free and event_name in CUSTOM_NAMES:
        return label or event_name
    return names.get(event_name)
