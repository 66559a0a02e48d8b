"""Readers of Measurement Protocol requests, which anyone can send from a page."""

from __future__ import annotations

import json

from headwater.http.errors import Invalid
from headwater.intake.ga4.events import Ga4Events
from headwater.intake.ga4.requests import MAX_BODY, list_events, read_body_members, read_person
from headwater.intake.protocols.payloads import LONGEST_ADDRESS
from headwater.intake.protocols.translation import IgnoredMessage, Translator
from tests.hostile.growth import Door
from tests.hostile.segment_doors import LABELS, NOW, PLACES


def _translate(raw: bytes) -> None:
    """Read a request as far as possible."""
    body = read_body_members(raw)
    person = read_person(body)
    for event in list_events(body):
        try:
            Ga4Events(Translator(LABELS, PLACES, NOW), person).translate(event)
        except (Invalid, IgnoredMessage):
            continue


def _fill(text: str) -> None:
    """Read a request whose members are all texts."""
    params = dict.fromkeys(
        ("transaction_id", "value", "currency", "page_location", "event_id", "source", "campaign"), text
    )
    members = {
        **dict.fromkeys(("user_id", "ip_override", "user_agent"), text),
        "user_properties": {name: {"value": text} for name in ("plan", "seats", "since", "email", "phone")},
        "events": [
            {"name": name, "params": {**params, "items": [{"price": text}]}}
            for name in ("purchase", "refund", "page_view", text)
        ]
        + [{"name": "purchase", "params": {"transaction_id": "1", "items": [{"price": text}]}}],
    }
    for extra_members in ({}, {"timestamp_micros": text}, {"consent": {"ad_user_data": text}}):
        try:
            _translate(json.dumps({"client_id": "a1", **members, **extra_members}).encode())
        except Invalid:
            continue


GA4_TEXT_DOORS = [Door("ga4.fields", _fill, LONGEST_ADDRESS)]
GA4_JSON_DOORS = [Door("ga4.request", _translate, MAX_BODY)]
