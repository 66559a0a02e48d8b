"""Snapchat: its calls, conversions it can't accept, and verdicts from its answers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given

from headwater.forwarding.platforms.models import (
    AdConsent,
    Bisect,
    CallAccepted,
    CallDeferred,
    CallRefused,
    ConvertedPerson,
    CredentialsRefused,
    Destination,
    SkipReason,
    Verdict,
)
from headwater.forwarding.platforms.snapchat import Snapchat
from tests.platforms.examples import answer, example_call, make_conversion
from tests.platforms.variety import (
    DENIED,
    assert_described,
    assert_hashed,
    assert_shows_nobody,
    bare,
    conversions,
    destination,
    expected_call,
)

SNAPCHAT = Snapchat()


def snapchat(settings: dict[str, Any] | None = None, **changes: Any) -> Destination:
    return destination(SNAPCHAT, {"pixel_id": "7d3f-1", **(settings or {})}, **changes)


def test_it_works() -> None:
    target = snapchat()
    call = SNAPCHAT.request([SNAPCHAT.build(make_conversion(), target)], target)
    assert example_call(call) == expected_call("snapchat", pixel_id="7d3f-1")
    assert SNAPCHAT.skip_reason(make_conversion(), target) is None


def test_the_least_it_takes() -> None:
    event = bare("sign_up", person=ConvertedPerson(email="Person@Example.com"))
    assert SNAPCHAT.skip_reason(event, snapchat()) is None
    assert SNAPCHAT.build(event, snapchat()) == {
        "event_name": "SIGN_UP",
        "event_time": 1795169730,
        "event_id": "e1",
        "action_source": "WEB",
        "user_data": {"em": ["542d240129883c019e106e3b1b2d3f3cb3537c43c425364de8e951d5a3083345"]},
    }


def test_published_hashes() -> None:
    person = ConvertedPerson(phone="+448444124653", first_name="John", last_name="Raphaël")
    user = SNAPCHAT.build(bare(person=person), snapchat())["user_data"]
    assert user == {
        "ph": ["dc008fda46e2e64002cf2f82a4906236282d431c4f75e5b60bfe79fc48546383"],
        "fn": ["96d9632f363564cc3032521409cf22a852f2032eec099ed5967c0d000cec607a"],
        "ln": ["e74bb89e718fe1e19c422a48382870399f8bf7ca8dfa008739e75b0be76627b7"],
    }


def test_a_trial_is_only_validated() -> None:
    target = snapchat(test=True)
    call = example_call(SNAPCHAT.request([{}], target))
    assert call["url"] == "https://tr.snapchat.com/v3/7d3f-1/events/validate"
    assert SNAPCHAT.test_event_problem(target) is None


def test_the_token_cannot_change_the_call() -> None:
    call = SNAPCHAT.request([{}], snapchat(secrets={"access_token": "a&b=c#d/é"}))
    assert example_call(call)["query"] == {"access_token": "a&b=c#d/é"}
    assert "#" not in call.url
    assert call.headers == {}


@pytest.mark.parametrize(
    ("event_name", "mapping", "platform_name"),
    [
        ("upsell_purchase", {}, "PURCHASE"),
        ("contact", {}, "CUSTOM_EVENT_1"),
        ("custom_event_1", {}, "CUSTOM_EVENT_1"),
        ("custom_event_5", {}, "CUSTOM_EVENT_5"),
        ("custom_event_6", {}, None),
        ("custom_event_6", {"custom_event_6": "SEARCH"}, "SEARCH"),
    ],
)
def test_event_names(event_name: str, mapping: dict[str, str | None], platform_name: str | None) -> None:
    target = snapchat(event_names=mapping)
    assert SNAPCHAT.find_name(bare(event_name), target) == platform_name
    if platform_name is not None:
        assert SNAPCHAT.build(bare(event_name), target)["event_name"] == platform_name


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({}, SkipReason.NO_IDENTIFIER),
        ({"ip": "203.0.113.9"}, SkipReason.NO_IDENTIFIER),
        ({"user_agent": "UA"}, SkipReason.NO_IDENTIFIER),
        ({"url_click_ids": {"sccid": "c"}, "cookies": {"scid": "s"}}, SkipReason.NO_IDENTIFIER),
        ({"person": ConvertedPerson(external_id="x", first_name="Mary")}, SkipReason.NO_IDENTIFIER),
        ({"ip": "203.0.113.9", "user_agent": "UA"}, None),
        ({"person": ConvertedPerson(email="a@example.com")}, None),
        ({"person": ConvertedPerson(phone="+16505551212")}, None),
        (
            {"person": ConvertedPerson(phone="+16505551212"), "amount": Decimal("9.99")},
            SkipReason.NO_CURRENCY,
        ),
    ],
)
def test_unusable_conversions_are_skipped(columns: dict[str, Any], reason: SkipReason | None) -> None:
    assert SNAPCHAT.skip_reason(bare(**columns), snapchat()) is reason


def test_a_refusal_keeps_an_event_back() -> None:
    assert SNAPCHAT.skip_reason(make_conversion(consent=DENIED), snapchat()) is SkipReason.NO_CONSENT
    assert SNAPCHAT.skip_reason(make_conversion(consent=AdConsent()), snapchat()) is None


@pytest.mark.parametrize(
    ("consent", "settings", "options"),
    [
        (AdConsent(), {}, {}),
        (AdConsent(ad_user_data=True, ad_personalization=False), {}, {"LDU": (0, 0)}),
        (DENIED, {"consent_denied": "limit"}, {"LDU": (0, 0)}),
        (AdConsent(), {"limited_data_use": "always"}, {"LDU": (0, 0)}),
        (
            AdConsent(),
            {
                "limited_data_use": "always",
                "limited_data_use_option": "LMU",
                "limited_data_use_country": 1,
                "limited_data_use_state": 1000,
            },
            {"LMU": (1, 1000)},
        ),
    ],
)
def test_limited_data_use(
    consent: AdConsent, settings: dict[str, Any], options: dict[str, tuple[int, int]]
) -> None:
    event, target = make_conversion(consent=consent), snapchat(settings)
    assert SNAPCHAT.skip_reason(event, target) is None
    payload = SNAPCHAT.build(event, target)
    processing_fields = {name: value for name, value in payload.items() if name.startswith("data_processing")}
    assert processing_fields == {
        name: value
        for option, (country, state) in options.items()
        for name, value in {
            "data_processing_options": [option],
            "data_processing_options_country": country,
            "data_processing_options_state": state,
        }.items()
    }


@pytest.mark.parametrize(
    ("amount", "value"), [("0", "0"), ("-0.00", "0"), ("-10.50", "-10.5"), ("200", "200")]
)
def test_amounts_are_texts(amount: str, value: str) -> None:
    payload = SNAPCHAT.build(make_conversion(amount=Decimal(amount)), snapchat())
    assert payload["custom_data"]["value"] == value


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (301, CallDeferred),
        (400, Bisect),
        (401, CredentialsRefused),
        (403, CredentialsRefused),
        (404, CallRefused),
        (410, CallRefused),
        (429, CallDeferred),
        (500, CallDeferred),
        (502, CallDeferred),
    ],
)
def test_by_status(status: int, verdict: type[Verdict]) -> None:
    for body in (b"", b"OK", {"status": "SUCCESS", "reason": ""}, {"reason": 1}, [1]):
        assert isinstance(SNAPCHAT.classify(answer(status, body), 2), verdict)


def test_a_success() -> None:
    for body in ({"status": "SUCCESS", "reason": ""}, {"reason": 1}):
        assert SNAPCHAT.classify(answer(200, body), 2) == CallAccepted()


@pytest.mark.parametrize("status", ["INVALID", "failed"])
def test_a_success_that_is_none(status: str) -> None:
    body = {"status": status, "reason": "event_time is out of range"}
    assert isinstance(SNAPCHAT.classify(answer(200, body), 2), Bisect)
    verdict = SNAPCHAT.classify(answer(200, body), 1)
    assert isinstance(verdict, CallRefused)
    assert "event_time is out of range" in verdict.error


def test_the_reason_is_told() -> None:
    verdict = SNAPCHAT.classify(answer(400, {"status": "INVALID", "reason": "no pixel"}), 1)
    assert verdict == CallRefused("HTTP 400: no pixel")


@given(conversions())
def test_personal_values_are_masked(conversion: Any) -> None:
    payload = SNAPCHAT.build(conversion, snapchat())
    redacted_payload = SNAPCHAT.redact(payload)
    assert_shows_nobody(redacted_payload, conversion)
    assert_hashed(payload, conversion)
    assert redacted_payload["event_id"] == "dedup-1"
    assert redacted_payload["event_name"] == payload["event_name"]
    assert redacted_payload["event_time"] == conversion.event_time // 1000


def test_what_goes_into_a_call_is_bounded_in_bytes() -> None:
    parts = [{"event_source_url": "u" * 1000}] * 2000
    count = SNAPCHAT.count_fitting(parts)
    assert 1900 < count < 2000
    assert len(SNAPCHAT.request(parts[:count], snapchat()).body) <= 2_000_000
    assert SNAPCHAT.count_fitting([{"event_source_url": "u" * 3_000_000}]) == 1


def test_settings() -> None:
    assert_described(SNAPCHAT)
    for wrong in ({"pixel_id": "a/b"}, {"limited_data_use_option": "x"}, {"api_version": "v"}):
        with pytest.raises(msgspec.ValidationError):
            snapchat(wrong)
