"""TikTok: calls, skipped conversions, verdicts from answers, and redacted parts."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.base.egress.models import EgressResponse
from headwater.forwarding.platforms.models import (
    AdConsent,
    Bisect,
    CallAccepted,
    CallDeferred,
    CallRefused,
    Conversion,
    ConvertedPerson,
    CredentialsRefused,
    Destination,
    SkipReason,
)
from headwater.forwarding.platforms.tiktok import TikTok
from tests.platforms.examples import (
    BARE,
    CONVERSION,
    EXAMPLES,
    answer,
    call_for,
    destination,
    example_call,
    make_conversion,
    stranger_example,
)

TIKTOK = TikTok()

SECRETS = {"access_token": "***"}
CODE = "C4ABCDEF12GH34"


def make_destination(**settings: Any) -> Destination:
    return destination(TIKTOK, {"pixel_code": CODE, **settings}, secrets=SECRETS)


TO = make_destination()


def test_it_works() -> None:
    """The whole request equals the reference."""
    expected = EXAMPLES["tiktok"]
    expected = {**expected, "body": {**expected["body"], "event_source_id": CODE}}
    assert example_call(call_for(TIKTOK, TO, CONVERSION)) == expected


def test_a_minimal_conversion_is_built() -> None:
    least = make_conversion(BARE, url_click_ids={"ttclid": "E.C.P.1"}, url="https://shop.example/")
    assert example_call(call_for(TIKTOK, TO, least))["body"] == {
        "event_source": "web",
        "event_source_id": CODE,
        "data": [
            {
                "event": "Lead",
                "event_time": 1795169730,
                "event_id": "e1",
                "user": {"ttclid": "E.C.P.1"},
                "page": {"url": "https://shop.example/"},
            }
        ],
    }


def test_an_id_of_digits_stays_text() -> None:
    assert TIKTOK.build(make_conversion(dedup_id="273196"), TO)["event_id"] == "273196"


def test_custom_events_go_under_what_people_call_them() -> None:
    custom_event = make_conversion(event_name="custom_event_50", configured_name="Demo booked")
    assert TIKTOK.build(custom_event, TO)["event"] == "Demo booked"


@pytest.mark.parametrize(
    ("conversion", "settings", "reason"),
    [
        (CONVERSION, {}, None),
        (BARE, {}, SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, ip="203.0.113.9"), {}, SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, user_agent="x"), {}, SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, ip="203.0.113.9", user_agent="x"), {}, None),
        (make_conversion(BARE, cookies={"ttp": "t"}), {}, None),
        (make_conversion(BARE, url_click_ids={"ttclid": "t"}), {}, None),
        (make_conversion(BARE, person=ConvertedPerson(email="a@example.com")), {}, None),
        (make_conversion(BARE, person=ConvertedPerson(phone="+16505551212")), {}, None),
        (make_conversion(BARE, person=ConvertedPerson(external_id="x")), {}, None),
        (make_conversion(BARE, person=ConvertedPerson(first_name="A", last_name="B")), {},
         SkipReason.NO_IDENTIFIER),
        (make_conversion(currency=None), {}, SkipReason.NO_CURRENCY),
        (make_conversion(amount=None, currency=None), {}, None),
        (make_conversion(consent=AdConsent(ad_user_data=False)), {}, None),
        (make_conversion(consent=AdConsent(ad_user_data=False)), {"consent_denied": "skip"},
         SkipReason.NO_CONSENT),
    ],
)  # fmt: skip
def test_skip_reason(conversion: Conversion, settings: dict[str, Any], reason: SkipReason | None) -> None:
    assert TIKTOK.skip_reason(conversion, make_destination(**settings)) == reason


@pytest.mark.parametrize(
    ("consent", "setting", "limited"),
    [
        (AdConsent(), "denied", False),
        (AdConsent(ad_user_data=True, ad_personalization=True), "denied", False),
        (AdConsent(ad_user_data=False), "denied", True),
        (AdConsent(ad_personalization=False), "denied", True),
        (AdConsent(), "always", True),
    ],
)
def test_limited_data_use(consent: AdConsent, setting: str, *, limited: bool) -> None:
    payload = TIKTOK.build(make_conversion(consent=consent), make_destination(limited_data_use=setting))
    assert payload.get("limited_data_use") == (True if limited else None)


@pytest.mark.parametrize(
    ("amount", "currency", "expected"),
    [
        ("149.9", "EUR", {"currency": "EUR", "value": 149.9}),
        ("0", "EUR", {"currency": "EUR", "value": 0}),
        ("-5", "EUR", {"currency": "EUR", "value": -5}),
        ("149.9", "GEL", {}),
        ("149.9", "XXX", {}),  # the ISO 4217 code for no currency
    ],
)
def test_a_value_in_a_currency_tiktok_does_not_know_stays_out(
    amount: str, currency: str, expected: dict[str, Any]
) -> None:
    conversion = make_conversion(amount=Decimal(amount), currency=currency, order_id=None)
    assert TIKTOK.build(conversion, TO).get("properties", {}) == expected


def test_places_and_odd_names() -> None:
    person = ConvertedPerson(email="a@example.com", first_name=" Ann-Marie ", city=" Köln", country="DE")
    user = TIKTOK.build(make_conversion(person=person), TO)["user"]
    assert (user["city"], user["country"]) == ("köln", "de")
    assert "state" not in user
    assert "last_name" not in user


def test_a_trial_carries_the_test_code() -> None:
    coded_destination = make_destination(test_event_code="TEST1")
    trial = msgspec.structs.replace(coded_destination, test=True)
    assert example_call(call_for(TIKTOK, trial, CONVERSION))["body"]["test_event_code"] == "TEST1"
    assert "test_event_code" not in example_call(call_for(TIKTOK, coded_destination, CONVERSION))["body"]
    assert TIKTOK.test_event_problem(trial) is None
    assert "test_event_code" in (TIKTOK.test_event_problem(TO) or "")


def body(code: object) -> dict[str, Any]:
    return {"code": code, "message": "m", "request_id": "2026", "data": {}}


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (answer(200, body(0)), CallAccepted),
        (answer(200, body(20001)), Bisect),
        (answer(200, body(40001)), CredentialsRefused),
        (answer(200, body(40002)), Bisect),
        *[(answer(200, body(code)), CallDeferred) for code in (40016, 40100, 40133)],
        (answer(200, body(40105)), CredentialsRefused),
        (answer(200, body(40900)), Bisect),
        (answer(200, body(50000)), CallDeferred),
        (answer(200, body(99)), CallDeferred),
        (answer(400, body(40002)), Bisect),
        (answer(500, body(40001)), CredentialsRefused),
        (answer(500, body(51000)), CallDeferred),
        (answer(502, body(0)), CallDeferred),
        (answer(401, body(12)), CredentialsRefused),
        (answer(401), CredentialsRefused),
        (answer(403), CredentialsRefused),
        (answer(429), CallDeferred),
        (answer(503), CallDeferred),
        (answer(400, {"message": "x"}), Bisect),
        (answer(404), CallRefused),
        (answer(200, b"<html>"), CallDeferred),
        (answer(200, b'{"code": 0, "data": [', cut=True), Bisect),
        (answer(500, b"<html>"), CallDeferred),
    ],
)
def test_answers(response: EgressResponse, kind: type) -> None:
    assert type(TIKTOK.classify(response, 2)) is kind


def test_one_event_alone() -> None:
    assert TIKTOK.classify(answer(200, body(20001)), 1) == CallAccepted()
    assert TIKTOK.classify(answer(200, body(40002)), 1) == CallRefused("Code 40002: m")


@given(st.uuids())
def test_what_is_shown_says_nothing_of_the_person(number: Any) -> None:
    conversion, secret = stranger_example(number.hex)
    redacted_payload = TIKTOK.redact(TIKTOK.build(conversion, make_destination(limited_data_use="always")))
    assert [value for value in secret if value in json.dumps(redacted_payload)] == []
    assert redacted_payload["event"] == "Purchase"
    assert redacted_payload["event_time"] == 1795169730
    assert redacted_payload["event_id"] == CONVERSION.dedup_id
    assert redacted_payload["page"] == {"url": "https://shop.example/thanks"}
    assert redacted_payload["properties"]["value"] == 149.9
