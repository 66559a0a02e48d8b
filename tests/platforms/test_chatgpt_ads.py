"""ChatGPT ads (`chatgpt_ads`): calls to OpenAI, conversions it can't accept, and verdicts from answers."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given

from headwater.base.egress.models import EgressResponse
from headwater.forwarding.destinations.destination_check import try_destination
from headwater.forwarding.platforms.chatgpt_ads import DATA_TYPES, ChatGPTAds
from headwater.forwarding.platforms.identifiers import hash_text
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
    PartlyAccepted,
    SkipReason,
    Verdict,
)
from headwater.sources.catalogue import SOURCES
from tests.platforms.examples import EVENT_TIME, answer, example_call, make_conversion
from tests.platforms.variety import (
    DENIED,
    assert_hashed,
    assert_shows_nobody,
    bare,
    conversions,
    destination,
    expected_call,
)
from tests.support.destinations import FakeSender, keep_no_token, make_response

CHATGPT_ADS = ChatGPTAds()

OBREF = "123e4567-e89b-42d3-a456-426614174000"
ONE_INVALID = {
    "error": {
        "message": "Invalid event at events[1]. See errors for details.",
        "type": "invalid_request_error",
        "param": "events[1]",
        "code": "invalid_event",
        "errors": [
            {
                "message": "events[1].data.type must be a supported data type.",
                "param": "events[1].data.type",
                "code": "missing_event_data_type",
            }
        ],
    }
}
TOO_OLD = {
    "message": "event_timestamp_ms must be within the last 7 days.",
    "param": "events[0].timestamp_ms",
    "code": "event_timestamp_too_old",
}


def openai(settings: dict[str, Any] | None = None, **changes: Any) -> Destination:
    return destination(CHATGPT_ADS, {"pixel_id": "px1", **(settings or {})}, **changes)


def sent(conversion: Conversion, destination: Destination | None = None) -> dict[str, Any]:
    return CHATGPT_ADS.build(conversion, destination or openai())


def problem(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


def test_it_works() -> None:
    target = openai()
    call = CHATGPT_ADS.request([sent(make_conversion(), target)], target)
    assert example_call(call) == expected_call("openai_ads") | {"query": {"pid": "px1"}}
    assert CHATGPT_ADS.skip_reason(make_conversion(), target) is None
    assert CHATGPT_ADS.sources <= set(SOURCES)


def test_the_least_it_takes() -> None:
    event = bare(url_click_ids={"oppref": "op1"})
    assert CHATGPT_ADS.skip_reason(event, openai()) is None
    assert sent(event) == {
        "id": "e1",
        "type": "lead_created",
        "timestamp_ms": EVENT_TIME,
        "action_source": "other",
        "oppref": "op1",
        "data": {"type": "customer_action"},
    }


def test_a_trial_is_only_validated() -> None:
    target = openai(test=True)
    body = example_call(CHATGPT_ADS.request([sent(make_conversion(), target)], target))["body"]
    assert body["validate_only"] is True
    assert CHATGPT_ADS.test_event_problem(target) is None
    sender = FakeSender(make_response(200, b'{"accepted_events": 1}'))
    check = asyncio.run(try_destination(sender, openai(), CHATGPT_ADS, keep_no_token))
    assert (check.ok, check.message) == (True, "ChatGPT Ads accepted the test event.")
    assert json.loads(sender.calls[0].body)["validate_only"] is True


# ------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("conversion", "mapping", "names"),
    [
        (bare("purchase"), {}, ("order_created", None)),
        (bare("upsell_purchase"), {}, ("order_created", None)),
        (bare("subscribe"), {}, ("subscription_created", None)),
        (bare("contact"), {}, ("custom", "contact")),
        (bare("custom_event_7", configured_name="Book a Demo!"), {}, ("custom", "book_a_demo")),
        (bare("custom_event_7", configured_name="Réservé / 2"), {}, ("custom", "reserve_2")),
        (bare("custom_event_7", configured_name="予約"), {}, ("custom", "custom_event_7")),
        (bare("custom_event_7", configured_name="_-_"), {}, ("custom", "custom_event_7")),
        (bare("custom_event_7", configured_name="Lead created"), {}, ("custom", "custom_event_7")),
        (bare("custom_event_7", configured_name="n" * 63 + "-x"), {}, ("custom", "n" * 63)),
        (bare("custom_event_50"), {}, ("custom", "custom_event_50")),
        (bare("contact"), {"contact": "lead_created"}, ("lead_created", None)),
        (bare("contact"), {"contact": "Call-Back"}, ("custom", "call-back")),
    ],
)
def test_event_names(
    conversion: Conversion, mapping: dict[str, str | None], names: tuple[str, str | None]
) -> None:
    payload = sent(conversion, openai(event_names=mapping))
    assert (payload["type"], payload.get("custom_event_name")) == names
    assert payload["data"] == {"type": DATA_TYPES[names[0]]}


def test_every_name_is_a_type_with_data() -> None:
    assert set(CHATGPT_ADS.event_names.values()) <= DATA_TYPES.keys()
    assert set(DATA_TYPES.values()) == {"contents", "customer_action", "plan_enrollment", "custom"}


# ---------------------------------------------------------------------------------------- amounts


@pytest.mark.parametrize(
    ("amount", "currency", "units"),
    [
        ("149.9000", "USD", 14990),
        ("0", "EUR", 0),
        ("0.005", "EUR", 1),
        ("0.0049", "EUR", 0),
        ("-10.5", "EUR", -1050),
        ("1500", "JPY", 1500),
        ("1500.5", "KRW", 1501),
        ("1.5", "ISK", 2),
        ("1.234", "KWD", 1234),
        ("1.2345", "BHD", 1235),
        ("1.5", "MGA", 150),
        ("100000000000000", "TND", 10**17),
    ],
)
def test_amounts_are_whole_minor_units(amount: str, currency: str, units: int) -> None:
    data = sent(make_conversion(amount=Decimal(amount), currency=currency))["data"]
    assert data == {"type": "contents", "amount": units, "currency": currency}
    assert isinstance(data["amount"], int)


def test_a_currency_without_an_amount_says_nothing() -> None:
    assert sent(make_conversion(amount=None))["data"] == {"type": "contents"}


# ----------------------------------------------------------------------------------------- people


def test_the_hashes() -> None:
    person = ConvertedPerson(
        email="Ada@Example.com",
        phone="+40746123456",
        first_name=" Jean-Luc O'Neil ",
        last_name="Ștefănescu",
        external_id="CUST-42",
        city=" București " + "x" * 200,
        state="B",
        country="RO",
    )
    assert sent(bare(person=person, cookies={"obref": OBREF}))["user"] == {
        "emails_sha256": [hash_text("ada@example.com")],
        "phone_numbers_sha256": [hash_text("40746123456")],
        "external_ids_sha256": [hash_text("CUST-42")],
        "first_names_sha256": [hash_text("jeanluconeil")],
        "last_names_sha256": [hash_text("ștefănescu")],
        "cities": [("București " + "x" * 200)[:128]],
        "regions": ["B"],
        "countries": ["RO"],
        "obref": OBREF,
    }


def test_the_click_id_of_urls_comes_before_the_cookie() -> None:
    assert sent(make_conversion(cookies={"oppref": "of_cookie"}))["oppref"] == "op1"
    event = bare(cookies={"oppref": "of_cookie"}, url_click_ids={"oppref": "of_url"})
    assert sent(event)["oppref"] == "of_url"
    assert sent(bare(cookies={"oppref": "of_cookie"}))["oppref"] == "of_cookie"


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({}, SkipReason.NO_IDENTIFIER),
        ({"ip": "203.0.113.9"}, SkipReason.NO_IDENTIFIER),
        ({"person": ConvertedPerson(first_name="Mary", city="Ulm")}, SkipReason.NO_IDENTIFIER),
        ({"person": ConvertedPerson(email="not an address")}, SkipReason.NO_IDENTIFIER),
        ({"ip": "203.0.113.9", "user_agent": "UA"}, None),
        ({"person": ConvertedPerson(email="a@example.com")}, None),
        ({"person": ConvertedPerson(phone="+16505551212")}, None),
        ({"person": ConvertedPerson(external_id="cust-1")}, None),
        ({"cookies": {"oppref": "op1"}}, None),
        ({"cookies": {"obref": OBREF}}, None),
        ({"cookies": {"obref": OBREF}, "amount": Decimal(0)}, SkipReason.NO_CURRENCY),
    ],
)
def test_unusable_conversions_are_skipped(columns: dict[str, Any], reason: SkipReason | None) -> None:
    assert CHATGPT_ADS.skip_reason(bare(**columns), openai()) is reason


def test_a_refusal_keeps_an_event_back() -> None:
    assert CHATGPT_ADS.skip_reason(make_conversion(consent=DENIED), openai()) is SkipReason.NO_CONSENT
    assert CHATGPT_ADS.skip_reason(make_conversion(consent=AdConsent()), openai()) is None


def test_or_it_is_sent_without_its_person() -> None:
    limit = openai({"consent_denied": "limit"})
    event = make_conversion(consent=DENIED, cookies={"obref": OBREF})
    assert CHATGPT_ADS.skip_reason(event, limit) is None
    payload = sent(event, limit)
    assert (payload["opt_out"], payload["oppref"]) == (True, "op1")
    assert "user" not in payload
    without_click = make_conversion(consent=DENIED, click=None)
    assert CHATGPT_ADS.skip_reason(without_click, limit) is SkipReason.NO_IDENTIFIER


def test_without_personalization_the_person_is_still_matched() -> None:
    payload = sent(make_conversion(consent=AdConsent(ad_user_data=True, ad_personalization=False)))
    assert payload["opt_out"] is True
    assert payload["user"]["emails_sha256"]
    assert "opt_out" not in sent(make_conversion(consent=AdConsent()))


@given(conversions())
def test_personal_values_are_masked(conversion: Conversion) -> None:
    person = msgspec.structs.replace(conversion.person, city=None, state=None)  # sent in clear
    conversion = make_conversion(conversion, person=person)
    payload = sent(conversion)
    redacted_payload = CHATGPT_ADS.redact(payload)
    assert_shows_nobody(redacted_payload, conversion)
    assert_hashed(payload, conversion)
    assert (redacted_payload["id"], redacted_payload["timestamp_ms"]) == ("dedup-1", conversion.event_time)
    assert (redacted_payload["type"], redacted_payload["data"]) == (payload["type"], payload["data"])
    assert redacted_payload.get("source_url") in (None, "https://shop.example/thanks")


def test_places_and_references_are_masked() -> None:
    event = bare(person=ConvertedPerson(city="Ulm", state="BW", country="DE"), cookies={"obref": OBREF})
    redacted_text = json.dumps(
        CHATGPT_ADS.redact(sent(make_conversion(event, url_click_ids={"oppref": "op1"})))
    )
    assert not any(text in redacted_text for text in ("Ulm", "BW", "DE", OBREF, "op1"))


# ---------------------------------------------------------------------------------------- answers


def test_a_success() -> None:
    assert CHATGPT_ADS.classify(answer(200, {"accepted_events": 2}), 2) == CallAccepted()
    assert isinstance(CHATGPT_ADS.classify(answer(200, {"accepted_events": 1}), 2), Bisect)
    assert isinstance(CHATGPT_ADS.classify(answer(200, {"accepted_events": 0}), 1), CallRefused)


@pytest.mark.parametrize("body", [{}, {"ok": True}, {"accepted_events": True}, b"<html>login</html>", b'{"a'])
def test_a_success_that_confirms_nothing(body: object) -> None:
    assert isinstance(CHATGPT_ADS.classify(answer(200, body), 2), CallDeferred)


def test_a_success_that_was_cut_off() -> None:
    assert isinstance(CHATGPT_ADS.classify(EgressResponse(status=200, body=b'{"a', cut=True), 2), Bisect)


def test_a_named_event_is_taken_out() -> None:
    assert CHATGPT_ADS.classify(answer(400, ONE_INVALID), 3) == PartlyAccepted(
        {1: "missing_event_data_type: events[1].data.type must be a supported data type."}, others_taken=False
    )


@pytest.mark.parametrize("details", [{}, {"errors": []}, {"errors": [TOO_OLD]}, {"errors": [TOO_OLD] * 2}])
def test_an_event_that_is_too_old(details: dict[str, Any]) -> None:
    body = {"error": TOO_OLD | {"type": "invalid_request_error"} | details}
    for count in (1, 2):
        assert CHATGPT_ADS.classify(answer(422, body), count) == PartlyAccepted(
            {0: "event_timestamp_too_old: event_timestamp_ms must be within the last 7 days."},
            others_taken=False,
        )


def test_several_named_events() -> None:
    details = [
        {"param": "events[0].id", "message": "bad", "code": "a"},
        {"param": "events[0].type", "message": "worse"},
        {"param": "events[2]"},
        {"param": "events[7].id", "message": "of no event that was sent"},
        {"param": "xevents[1].id", "message": "of another list"},
        {"param": None},
        "unexpected",
    ]
    body = {"error": {"message": "Invalid", "param": "events", "errors": details}}
    assert CHATGPT_ADS.classify(answer(400, body), 3) == PartlyAccepted(
        {0: "a: bad; worse", 2: "invalid"}, others_taken=False
    )


@pytest.mark.parametrize("status", [400, 413, 422])
def test_an_invalid_event_without_its_name(status: int) -> None:
    body = problem("Invalid request.")
    assert CHATGPT_ADS.classify(answer(status, body), 2) == Bisect(f"HTTP {status}: Invalid request.")
    assert CHATGPT_ADS.classify(answer(status, body), 1) == CallRefused(f"HTTP {status}: Invalid request.")


@pytest.mark.parametrize(
    ("status", "message", "verdict"),
    [
        (401, "Unauthorized", CredentialsRefused("HTTP 401: Unauthorized")),
        (
            401,
            "Missing scopes: ads.third_party_events.write",
            CredentialsRefused("HTTP 401: Missing scopes: ads.third_party_events.write"),
        ),
        (403, "403: unknown pid", CredentialsRefused("HTTP 403: 403: unknown pid", account=True)),
        (403, "Forbidden", CredentialsRefused("HTTP 403: Forbidden")),
        (404, "Not found", CredentialsRefused("HTTP 404: Not found", account=True)),
        (409, "Conflict", CallRefused("HTTP 409: Conflict")),
        (429, "Rate limit reached.", CallDeferred("HTTP 429: Rate limit reached.")),
        (500, "The server had an error.", CallDeferred("HTTP 500: The server had an error.")),
        (503, "Overloaded", CallDeferred("HTTP 503: Overloaded")),
    ],
)
def test_openais_own_words_are_shown(status: int, message: str, verdict: Verdict) -> None:
    assert CHATGPT_ADS.classify(answer(status, problem(message)), 2) == verdict


@pytest.mark.parametrize("body", [b"", b"<html>busy</html>", b"[1]", b'{"error": "text"}'])
def test_answers_without_an_error_of_openai(body: bytes) -> None:
    assert isinstance(CHATGPT_ADS.classify(answer(401, body), 2), CredentialsRefused)
    assert isinstance(CHATGPT_ADS.classify(answer(502, body), 2), CallDeferred)
    assert isinstance(CHATGPT_ADS.classify(answer(400, body), 2), Bisect)


def test_errors_tell_nothing_of_people() -> None:
    message = f"invalid email a@example.com or {'0f' * 32} from 203.0.113.9"
    verdict = CHATGPT_ADS.classify(answer(400, problem(message)), 1)
    assert isinstance(verdict, CallRefused)
    assert not any(text in verdict.error for text in ("@", "0f0f", "203.0"))


@pytest.mark.parametrize(
    "settings",
    [
        {"pixel_id": "a&validate_only=1"},
        {"pixel_id": "a\n"},
        {"pixel_id": ""},
        {"api_version": "v1/../"},
        {"consent_denied": "maybe"},
        {"pixel": "a"},
    ],
)
def test_wrong_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        openai(settings)
