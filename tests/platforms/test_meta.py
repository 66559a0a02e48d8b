"""Meta: calls, skipped conversions, verdicts from answers, and redacted parts."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.base.egress.models import EgressResponse
from headwater.forwarding.platforms.identifiers import hash_text
from headwater.forwarding.platforms.meta import CLICK_LIFE, Meta
from headwater.forwarding.platforms.models import (
    AdConsent,
    Bisect,
    CallAccepted,
    CallDeferred,
    CallRefused,
    Click,
    Conversion,
    ConvertedPerson,
    CredentialsRefused,
    Destination,
    SkipReason,
)
from tests.platforms.examples import (
    BARE,
    CONVERSION,
    EVENT_TIME,
    EXAMPLES,
    answer,
    call_for,
    destination,
    example_call,
    make_conversion,
    stranger_example,
)

META = Meta()

SECRETS = {"access_token": "***"}
TO = destination(META, {"pixel_id": "1234567890"}, secrets=SECRETS)
LEAD = make_conversion(BARE, person=ConvertedPerson(email="a@example.com"))


def make_destination(**settings: Any) -> Destination:
    return destination(META, {"pixel_id": "1234567890", **settings}, secrets=SECRETS)


def fbc(conversion: Conversion) -> str | None:
    return META.build(conversion, TO)["user_data"].get("fbc")


def test_it_works() -> None:
    """The whole request equals the reference."""
    expected = EXAMPLES["meta"]
    expected = {**expected, "url": expected["url"].format(pixel_id="1234567890")}
    assert example_call(call_for(META, TO, CONVERSION)) == expected


def test_a_minimal_conversion_is_built() -> None:
    payload = META.build(LEAD, TO)
    assert payload == {
        "event_name": "Lead",
        "event_time": 1795169730,
        "event_id": "e1",
        "action_source": "system_generated",
        "user_data": {"em": [hash_text("a@example.com")]},
    }


def test_custom_events_go_under_what_people_call_them() -> None:
    custom_event = make_conversion(event_name="custom_event_7", configured_name="Demo booked")
    assert META.build(custom_event, TO)["event_name"] == "Demo booked"
    assert META.build(make_conversion(event_name="custom_event_7"), TO)["event_name"] == "custom_event_7"
    renaming_destination = msgspec.structs.replace(
        TO, event_names={"custom_event_7": "Booked", "purchase": None}
    )
    assert META.build(custom_event, renaming_destination)["event_name"] == "Booked"
    assert META.find_name(CONVERSION, renaming_destination) is None
    assert META.find_name(custom_event, TO) == "Demo booked"


@pytest.mark.parametrize(
    ("changes", "source"),
    [
        ({}, "website"),
        ({"url": None}, "system_generated"),
        ({"user_agent": None}, "system_generated"),
        ({"user_agent": ""}, "system_generated"),
    ],
)
def test_the_action_source_is_sent(changes: dict[str, Any], source: str) -> None:
    assert META.build(make_conversion(**changes), TO)["action_source"] == source


def make_clicked(time: int, id_: str = "Ab-1_") -> Conversion:
    click = Click(touchpoint_id=1, occurred_at=time, source="facebook_ads", ids={"fbclid": id_})
    return make_conversion(click=click, cookies={})


@pytest.mark.parametrize(
    ("days_ago", "expected"), [(0, True), (1, True), (CLICK_LIFE, True), (CLICK_LIFE + 1, False), (-1, False)]
)
def test_a_click_counts_for_ninety_days(days_ago: int, *, expected: bool) -> None:
    moment = EVENT_TIME - days_ago
    assert fbc(make_clicked(moment)) == (f"fb.1.{moment}.Ab-1_" if expected else None)


def test_the_cookie_comes_first_while_it_counts() -> None:
    click = CONVERSION.click
    good = f"fb.1.{EVENT_TIME - 5}.Cookie"
    assert fbc(make_conversion(cookies={"fbc": good})) == good
    for bad in (f"fb.1.{EVENT_TIME + 5}.Late", "fb.1.1400000000000.Old", "nonsense"):
        built = f"fb.1.{click.occurred_at}.{click.ids['fbclid']}"  # type: ignore[union-attr]
        assert fbc(make_conversion(cookies={"fbc": bad})) == built


def test_a_click_id_of_the_events_own_url_dates_from_the_event() -> None:
    conversion = make_conversion(click=None, cookies={}, url_click_ids={"fbclid": "Own"})
    assert fbc(conversion) == f"fb.1.{EVENT_TIME}.Own"
    assert fbc(make_conversion(click=None, cookies={})) is None


@pytest.mark.parametrize(
    ("conversion", "settings", "reason"),
    [
        (CONVERSION, {}, None),
        (BARE, {}, SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, user_agent="x"), {}, SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, person=ConvertedPerson(country="US")), {}, SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, person=ConvertedPerson(first_name="A")), {}, SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, person=ConvertedPerson(first_name="A", last_name="B")), {}, None),
        (make_conversion(BARE, person=ConvertedPerson(email="nobody")), {}, SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, ip="203.0.113.9"), {}, None),
        (make_conversion(BARE, cookies={"fbp": "fb.1.1.1"}), {}, None),
        (make_conversion(currency=None), {}, SkipReason.NO_CURRENCY),
        (make_conversion(amount=Decimal(0), currency=None), {}, SkipReason.NO_CURRENCY),
        (make_conversion(amount=None, currency=None, event_name="contact"), {}, None),
        (make_conversion(amount=None), {}, SkipReason.NO_AMOUNT),
        (make_conversion(consent=AdConsent(ad_user_data=False)), {}, None),
        (make_conversion(consent=AdConsent(ad_user_data=False)), {"consent_denied": "skip"},
         SkipReason.NO_CONSENT),
        (make_conversion(consent=AdConsent()), {"consent_denied": "skip"}, None),
    ],
)  # fmt: skip
def test_skip_reason(conversion: Conversion, settings: dict[str, Any], reason: SkipReason | None) -> None:
    assert META.skip_reason(conversion, make_destination(**settings)) == reason


LDU = {
    "data_processing_options": ["LDU"],
    "data_processing_options_country": 1,
    "data_processing_options_state": 1000,
}


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
    settings = {"data_processing_country": 1, "data_processing_state": 1000}
    payload = META.build(
        make_conversion(consent=consent), make_destination(limited_data_use=setting, **settings)
    )
    processing_fields = {name: value for name, value in payload.items() if name.startswith("data_processing")}
    assert processing_fields == (LDU if limited else {})


def test_a_trial_carries_the_test_code() -> None:
    coded_destination = make_destination(test_event_code="TEST123")
    trial = msgspec.structs.replace(coded_destination, test=True)
    assert example_call(call_for(META, trial, LEAD))["body"]["test_event_code"] == "TEST123"
    assert "test_event_code" not in example_call(call_for(META, coded_destination, LEAD))["body"]
    assert META.test_event_problem(trial) is None
    assert "test_event_code" in (META.test_event_problem(TO) or "")


@pytest.mark.parametrize("amount", ["0", "-12.5", "0.0001", "123456789012.1234"])
def test_amounts(amount: str) -> None:
    data = META.build(make_conversion(amount=Decimal(amount)), TO)["custom_data"]
    assert data["value"] == float(amount)


def test_odd_values() -> None:
    person = ConvertedPerson(first_name="정", last_name="!!", city="São Paulo", state="SP", country="BR")
    long = "x" * 20_000
    odd = make_conversion(person=person, user_agent=long, order_id=long, url=f"https://e.example/{long}")
    payload = META.build(odd, TO)
    assert payload["user_data"].keys() >= {"fn", "ct", "st", "country"}
    assert "ln" not in payload["user_data"]
    assert payload["event_source_url"].endswith(long)
    assert json.loads(META.request([payload], TO).body)["data"] == [payload]


def test_a_token_cannot_break_out_of_the_url() -> None:
    odd = msgspec.structs.replace(TO, secrets={"access_token": "a&b=c/é"})
    assert example_call(call_for(META, odd, LEAD))["query"] == {"access_token": "a&b=c/é"}


@pytest.mark.parametrize(
    "bad",
    [
        {"pixel_id": "12a45"},
        {"pixel_id": ""},
        {},
        {"pixel_id": "1234567", "api_version": "25"},
        {"pixel_id": "1234567", "consent_denied": "maybe"},
        {"pixel_id": "1234567", "nonsense": 1},
    ],
)
def test_settings_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        destination(META, bad)


def failure(code: object = None, subcode: int | None = None, **members: Any) -> dict[str, Any]:
    error = {"message": "m", "type": "OAuthException", "code": code, "error_subcode": subcode}
    return {"error": {**error, "fbtrace_id": "A1", **members}}


TAKEN = {"events_received": 2, "messages": [], "fbtrace_id": "A1"}


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (answer(200, TAKEN), CallAccepted),
        (answer(200), CallDeferred),
        (answer(200, failure(190)), CredentialsRefused),
        *[(answer(400, failure(code)), CallDeferred)
          for code in (1, 2, 341, 368, 5000, 21009, 99999)],
        *[(answer(400, failure(code)), CallDeferred) for code in (4, 17, 80003)],
        *[(answer(400, failure(code)), Bisect) for code in (3, 100, 105, 294)],
        *[
            (answer(400, failure(100, subcode)), Bisect)
            for subcode in (2804003, 2804009, 2804001, 2804007, 2804016, 2804048)
        ],
        (answer(400, failure(100, 33)), CredentialsRefused),
        *[(answer(400, failure(code)), CredentialsRefused) for code in (10, 102, 190, 200, 273, 299)],
        (answer(401, failure(190)), CredentialsRefused),
        (answer(403, failure(200)), CredentialsRefused),
        (answer(400, failure(100, is_transient=True)), CallDeferred),
        (answer(500, failure(100)), CallDeferred),
        (answer(400, failure()), CallDeferred),
        (answer(400, failure("x")), CallDeferred),
        (answer(400, {"error": "gone"}), CallDeferred),
        (answer(400, {}), CallDeferred),
        (answer(200, b"<html>"), CallDeferred),
        (answer(400, b"<html>"), CallDeferred),
        (answer(502, b"<html>"), CallDeferred),
        (answer(503), CallDeferred),
        (answer(429), CallDeferred),
        (answer(401), CredentialsRefused),
        (answer(413), Bisect),
        (answer(302), CallDeferred),
        (answer(200, b"[1]"), CallDeferred),
    ],
)  # fmt: skip
def test_answers(response: EgressResponse, kind: type) -> None:
    assert type(META.classify(response, 2)) is kind


@pytest.mark.parametrize("code", [3, 100, 105, 294])
def test_one_event_alone_is_refused(code: int) -> None:
    verdict = META.classify(answer(400, failure(code, error_user_msg="Too old.")), 1)
    assert isinstance(verdict, CallRefused)
    assert "Too old." in verdict.error
    assert str(code) in verdict.error


def test_when_throttled_it_waits() -> None:
    verdict = META.classify(answer(400, failure(80003)), 2)
    assert isinstance(verdict, CallDeferred)
    assert verdict.wait_seconds == 300.0


def test_no_token_gets_into_an_error() -> None:
    token = "EAAB1" + "x" * 60
    for body in (failure(190, message=f"Malformed access token {token}"), {"error": token}):
        assert token not in repr(META.classify(answer(400, body), 1))
    verdict = META.classify(answer(400, failure(100, message="bad jane@example.com 203.0.113.9")), 1)
    assert "jane" not in repr(verdict)
    assert "203" not in repr(verdict)


@given(st.uuids())
def test_what_is_shown_says_nothing_of_the_person(number: Any) -> None:
    conversion, secret = stranger_example(number.hex)
    redacted_payload = META.redact(META.build(conversion, make_destination(limited_data_use="always")))
    assert [value for value in secret if value in json.dumps(redacted_payload)] == []
    assert redacted_payload["event_name"] == "Purchase"
    assert redacted_payload["event_time"] == 1795169730
    assert redacted_payload["event_id"] == CONVERSION.dedup_id
    assert redacted_payload["event_source_url"] == "https://shop.example/thanks"
    assert redacted_payload["custom_data"]["value"] == 149.9
