"""Which payloads identify a person, and what is removed from them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from headwater.events.accepted import KEPT_MEMBERS, PERSONAL_MEMBERS, AcceptedEvent
from headwater.privacy.redaction import EMPTIED, PayloadMatcher
from tests.support.pipeline import event, hit, person, touch

ADA = PayloadMatcher([
    ("email", "ada@acme.example"),
    ("tracking_id", "crm-7"),
    ("trk_token", 'a"b'),
    ("fingerprint", "f|1|192.0.2.1"),
])  # fmt: skip
NOTHING = '{"event_name":"purchase","event_time":1760000000000}'


def payload(**values: Any) -> str:
    return msgspec.json.encode(event(**values)).decode()


@pytest.mark.parametrize(
    "identifiers",
    [
        {"email": "ada@acme.example"},
        {"tracking_id": "crm-7"},
        {"trk_token": 'a"b'},
        {"fingerprint": "f|1", "ip": "192.0.2.1"},
        {"email": "bob@acme.example", "trk_token": 'a"b', "full_name": "Bob"},
    ],
)
def test_it_works(identifiers: dict[str, str]) -> None:
    assert ADA.redact("event", payload(**identifiers)) == NOTHING


@pytest.mark.parametrize(
    "identifiers",
    [
        {"email": "bob@acme.example"},
        {"tracking_id": "ada@acme.example"},
        {"trk_token": "crm-7"},
        {"fingerprint": "f|1", "ip": "192.0.2.2"},
        {"fingerprint": "crm-7"},
        {"full_name": "Ada", "order_name": "for ada@acme.example"},
        {},
    ],
)
def test_others_are_left_alone(identifiers: dict[str, str]) -> None:
    assert ADA.redact("event", payload(**identifiers)) == payload(**identifiers)


def test_events_stay_without_values() -> None:
    values: dict[str, Any] = {
        field.name: {1: "x"} if field.name == "profile_fields" else f"some {field.name}"
        for field in msgspec.structs.fields(AcceptedEvent)
        if field.name not in {"event_name", "event_time"}
    }
    flags = ("is_upsell", "do_not_capi", "ad_user_data", "ad_personalization")
    values |= {"email": "ada@acme.example", "cookies": {"fbp": "x"}, "warnings": ("x",)}
    values |= dict.fromkeys(flags, True)
    full_event = event(**values)
    redacted_event = msgspec.json.decode(ADA.redact("event", msgspec.json.encode(full_event).decode()))
    assert redacted_event.keys() == KEPT_MEMBERS
    assert not redacted_event.keys() & PERSONAL_MEMBERS
    assert all(redacted_event[name] == getattr(full_event, name) for name in redacted_event)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("event", '{"email": "ada@acme.example'),
        ("event", '{"email": "ADA@Acme.example", "event_name": 1}'),
        ("event", '["crm-7"]'),
        ("event", r'{"trk_token": "A\"B", "event_name": null}'),
        ("event", "192.0.2.1 showed f|1"),
        ("other", payload(email="ada@acme.example")),
    ],
)
def test_what_cannot_be_read_is_emptied(kind: str, text: str) -> None:
    assert ADA.redact(kind, text) == EMPTIED


@pytest.mark.parametrize(
    ("kind", "text"),
    [("event", "{"), ("event", '{"ip": "192.0.2.1"}'), ("event", "f|1"), ("other", payload())],
)
def test_unless_it_names_nobody(kind: str, text: str) -> None:
    assert ADA.redact(kind, text) == text


def test_a_touchpoint_loses_who_it_was() -> None:
    touch_fields = {"url": "https://shop.example/", "referrer": "https://t.example", "campaign_id": "9"}
    person_fields = {"email": "ada@acme.example", "tracking_id": "x", "trk_token": "y", "fingerprint": "f",
                     "ip": "192.0.2.9"}  # fmt: skip
    full_text, expected_text = (
        msgspec.json.encode(touch(**touch_fields, **identifiers)).decode()
        for identifiers in (person_fields, {})
    )
    assert ADA.redact("touchpoint", full_text) == expected_text
    assert ADA.redact("event", full_text) == EMPTIED
    other_text = msgspec.json.encode(touch(email="bob@acme.example")).decode()
    assert ADA.redact("touchpoint", other_text) == other_text


def test_a_page_view_becomes_nobody_s() -> None:
    hit_fields = {"key": "k", "url": "https://shop.example/?u=1", "referrer": "https://t.example",
                  "trk_token": 'a"b', "cookies": {"fbp": "x"}, "city": "Ulm"}  # fmt: skip
    redacted_text = ADA.redact("hit", msgspec.json.encode(hit(**hit_fields)).decode())
    assert msgspec.json.decode(redacted_text) == {"occurred_at": 1760000000000, "key": "k", "url": ""}
    other_text = msgspec.json.encode(hit(trk_token="other")).decode()
    assert ADA.redact("hit", other_text) == other_text


def test_what_people_say_of_themselves_goes() -> None:
    profile = person(email="ada@acme.example", phone="1", full_name="Ada", profile_fields={1: "x"})
    redacted_text = ADA.redact("identify", msgspec.json.encode(profile).decode())
    assert msgspec.json.decode(redacted_text) == {"occurred_at": 1760000000000}


def test_nobody_is_named_by_nothing() -> None:
    assert PayloadMatcher([]).redact("event", payload()) == payload()
    assert PayloadMatcher([]).redact("event", "{") == "{"
