"""Read the bodies of GA4's Measurement Protocol: what applies to all events, and the events. Pure."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from headwater.http.errors import Invalid
from headwater.http.json_decoder import refuse_bad_text
from headwater.intake.ingest.forms import decode_envelope
from headwater.intake.ingest.payload import Consent
from headwater.intake.ingest.times import EARLIEST
from headwater.intake.protocols.values import Members, read_part, read_text, require_members

MAX_BODY = 130 * 1024
"""Bytes, which is Google's limit."""
MAX_EVENTS = 25
"""Events of a request, which is Google's limit."""
_EARLIEST = round(EARLIEST.timestamp()) * 1_000_000
_LATEST = 4_102_444_800 * 1_000_000
"""The year 2100: a later time is in another unit."""
_CONSENT = {"GRANTED": True, "DENIED": False}


class TooManyEvents(Invalid):
    """A request with more than MAX_EVENTS."""


class Ga4Body(Struct):
    """A body. Members can hold anything, because senders do."""

    client_id: Any = None
    app_instance_id: Any = None
    user_id: Any = None
    timestamp_micros: Any = None
    user_properties: Any = None
    user_data: Any = None
    consent: Any = None
    non_personalized_ads: Any = None
    user_agent: Any = None
    ip_override: Any = None
    device: Any = None
    events: list[Raw] | None = None


class Ga4Event(Struct):
    name: Any = None
    params: Any = None
    timestamp_micros: Any = None


class Ga4Person(Struct, frozen=True):
    """The visitor of a request, and what is known of them."""

    client_id: str | None
    user_id: str | None
    micros: int | None
    """When the events happened, unless they have own times."""
    traits: Members
    context: Members
    consent: Consent | None
    has_hashes: bool


_decode_body = msgspec.json.Decoder(Ga4Body, float_hook=Decimal).decode
_decode_event = msgspec.json.Decoder(Ga4Event, float_hook=Decimal).decode


def read_body_members(raw: bytes) -> Ga4Body:
    """Raise Invalid for a body that is not an object, or whose events are not an array."""
    body = decode_envelope(raw, _decode_body, "events", "must be an array, and numbers within bounds.")
    if b"\\u0000" in raw:
        refuse_bad_text({**msgspec.structs.asdict(body), "events": None})
    return body


def list_events(body: Ga4Body) -> list[bytes]:
    """Raise Invalid for none or too many."""
    events = body.events or []
    if len(events) > MAX_EVENTS:
        raise TooManyEvents.of("events", f"must hold at most {MAX_EVENTS} events.")
    if not events:
        raise Invalid.of("events", "is required, an array of at least one event.")
    return [bytes(event) for event in events]


def read_event(raw: bytes) -> Ga4Event:
    """Raise Invalid."""
    return read_part(raw, _decode_event, "event")


def read_person(body: Ga4Body) -> Ga4Person:
    """Raise Invalid with the wrong members."""
    client_id = _read_id("client_id", body.client_id) or _read_id("app_instance_id", body.app_instance_id)
    user_id = _read_id("user_id", body.user_id)
    if client_id is None and user_id is None:
        raise Invalid.of("client_id", "is required unless user_id is given.")
    properties = require_members(body.user_properties, "user_properties")
    language = require_members(body.device, "device").get("language")
    context = {"ip": body.ip_override, "userAgent": body.user_agent, "locale": language}
    return Ga4Person(
        client_id,
        user_id,
        read_micros(body.timestamp_micros),
        {name: _find_value(value) for name, value in properties.items()},
        {name: value for name, value in context.items() if value is not None},
        _read_consent(body),
        bool(require_members(body.user_data, "user_data")),
    )


def read_micros(value: Any) -> int | None:
    """Raise Invalid for a time that is not in microseconds, rather than store a wrong one."""
    if value is None:
        return None
    text = str(value) if type(value) in (int, Decimal) else value
    try:
        micros = int(Decimal(text)) if isinstance(text, str) and len(text) <= 32 else 0
    except (ArithmeticError, ValueError):
        micros = 0
    if not _EARLIEST <= micros <= _LATEST:
        raise Invalid.of("timestamp_micros", "must be the microseconds since 1970, of a time from 2000 on.")
    return micros


def _read_id(name: str, value: Any) -> str | None:
    if value is None or value == "":
        return None
    text = read_text(value)
    if text is None:
        raise Invalid.of(name, "must be text of at most 255 characters.")
    return text


def _find_value(written: Any) -> Any:
    """Return a user property's value, with or without the object around it."""
    return cast("Members", written).get("value") if isinstance(written, dict) else written


def _read_consent(body: Ga4Body) -> Consent | None:
    members = require_members(body.consent, "consent")
    values: dict[str, bool] = {"ad_personalization": False} if body.non_personalized_ads is True else {}
    for name in ("ad_user_data", "ad_personalization"):
        value = members.get(name)
        if value is None:
            continue
        decision = _CONSENT.get(value.upper()) if isinstance(value, str) else None
        if decision is None:
            raise Invalid.of(f"consent.{name}", "must be GRANTED or DENIED.")
        values[name] = decision
    return Consent(**values) if values else None
