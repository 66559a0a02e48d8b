"""Validate a webhook's KEY=VALUE settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from headwater.events.accepted import EVENT_NAMES
from headwater.http.errors import Invalid
from headwater.http.inputs.objects import read_pairs
from headwater.intake.webhooks.expressions import FORBIDDEN_HEADERS, parse
from headwater.intake.webhooks.mapping import DESTINATIONS
from headwater.intake.webhooks.models import WebhookSettings
from headwater.intake.webhooks.providers import PROVIDERS
from headwater.intake.webhooks.providers.generic import ANYTHING, GENERIC

KEYS = (
    "event",
    "event.<topic>",
    "map.<field>",
    "map.<field>@<topic>",
    "topic",
    "signature_header",
    "test_orders",
)

TEST_ORDERS = COUNT, _ = "count", "ignore"
"""Ignored test orders are counted as such."""
MAX_PAIRS = 200
_LONGEST_TOPIC = 200
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")


def check_type(kind: str, *, has_secret: bool) -> None:
    """Raise Invalid for an unknown type, or a missing secret."""
    if kind not in PROVIDERS:
        raise Invalid({"type": [f"type: {kind} is not one of {', '.join(PROVIDERS)}"]})
    if PROVIDERS[kind].needs_secret and not has_secret:
        rule = f"secret: {kind} signs its deliveries; give the signing secret with --secret-stdin"
        raise Invalid({"secret": [rule]})


def read_settings(
    kind: str, pairs: Mapping[str, str], before: WebhookSettings | None = None
) -> WebhookSettings:
    """Apply pairs to `before`. Raises Invalid naming every bad key."""
    settings = before or WebhookSettings()

    def take(key: str, text: str) -> None:
        nonlocal settings
        settings = _apply_setting(kind, settings, key, text)

    read_pairs(pairs, take)
    if kind == GENERIC.type and not any(settings.events.values()):
        rule = "a generic webhook needs event=NAME or event.<topic>=NAME"
        raise Invalid({"event": [f"event: {rule}"]})
    if len(settings.events) + len(settings.mapping) > MAX_PAIRS:
        raise Invalid({"map": [f"a webhook has at most {MAX_PAIRS} settings"]})
    return settings


def _apply_setting(kind: str, settings: WebhookSettings, key: str, text: str) -> WebhookSettings:
    group, _, name = key.partition(".")
    if group == "map" and name:
        _check_mapping(name, text)
        return replace(settings, mapping={**settings.mapping, name: text})
    if group == "event":
        topic = name or ANYTHING
        _check_event(kind, topic, text)
        return replace(settings, events={**settings.events, topic: text})
    if key == "test_orders":
        if text not in ("", *TEST_ORDERS):
            raise ValueError(f"must be {' or '.join(TEST_ORDERS)}")
        return replace(settings, takes_tests=text == COUNT)
    if key not in ("topic", "signature_header"):
        raise ValueError(f"unknown setting; the settings are {', '.join(KEYS)}")
    if kind != GENERIC.type:
        raise ValueError("is for generic webhooks only")
    if key == "topic":
        _check_expression(text)
        return replace(settings, topic=text or None)
    if text and not _HEADER.fullmatch(text):
        raise ValueError("must be the name of a header")
    if text.lower() in FORBIDDEN_HEADERS:
        raise ValueError(f"must not be {text}")
    return replace(settings, signature_header=text.lower() or None)


def _check_event(kind: str, topic: str, name: str) -> None:
    if topic == ANYTHING and kind != GENERIC.type:
        raise ValueError(f"{kind} says what it reports: use event.<topic>=NAME")
    if len(topic) > _LONGEST_TOPIC:
        raise ValueError(f"a topic has at most {_LONGEST_TOPIC} characters")
    if name and name not in EVENT_NAMES:
        raise ValueError(f"{name} is not a standard event name or custom_event_<N>")


def _check_mapping(name: str, text: str) -> None:
    field, separator, topic = name.partition("@")
    if field not in DESTINATIONS:
        raise ValueError(f"{field} is not an event field that can be mapped")
    if separator and not 0 < len(topic) <= _LONGEST_TOPIC:
        raise ValueError("name a topic after @")
    _check_expression(text)


def _check_expression(text: str) -> None:
    """Raise ValueError unless it compiles."""
    if text:
        parse(text)
