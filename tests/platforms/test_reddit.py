"""Reddit: its calls, conversions it can't accept, and verdicts from its answers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given

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
    PartlyAccepted,
    SkipReason,
    Verdict,
)
from headwater.forwarding.platforms.reddit import Reddit
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

REDDIT = Reddit()

REFUSAL = "There were 1 invalid conversion events. None were processed."
BY_STATUS = [
    (401, CredentialsRefused),
    (403, CredentialsRefused),
    (404, CallRefused),
    (408, CallDeferred),
    (413, Bisect),
    (429, CallDeferred),
    (500, CallDeferred),
    (503, CallDeferred),
    (302, CallDeferred),
]


def reddit(settings: dict[str, Any] | None = None, **changes: Any) -> Destination:
    return destination(REDDIT, {"pixel_id": "a2_x", **(settings or {})}, **changes)


def sent(conversion: Conversion, destination: Destination) -> dict[str, Any]:
    return REDDIT.build(conversion, destination)


def test_it_works() -> None:
    target = reddit()
    call = REDDIT.request([sent(make_conversion(), target)], target)
    assert example_call(call) == expected_call("reddit", pixel_id="a2_x")
    assert REDDIT.skip_reason(make_conversion(), target) is None


def test_the_least_it_takes() -> None:
    event = bare(url_click_ids={"rdt_cid": "rdt1"})
    assert REDDIT.skip_reason(event, reddit()) is None
    assert sent(event, reddit()) == {
        "event_at": 1795169730000,
        "action_source": "WEBSITE",
        "type": {"tracking_type": "LEAD"},
        "click_id": "rdt1",
        "metadata": {"conversion_id": "e1"},
    }


def test_a_trial_carries_the_test_id() -> None:
    target = reddit({"test_id": "t2_abc"}, test=True)
    assert example_call(REDDIT.request([{}], target))["body"] == {
        "data": {"events": [{}], "test_id": "t2_abc"}
    }
    assert REDDIT.test_event_problem(target) is None


def test_a_test_id_does_not_make_everything_a_trial() -> None:
    target = reddit({"test_id": "t2_abc"})
    assert "test_id" not in example_call(REDDIT.request([{}], target))["body"]["data"]


def test_without_a_test_id_there_is_no_trial() -> None:
    assert "test_id" in str(REDDIT.test_event_problem(reddit(test=True)))


@pytest.mark.parametrize(
    ("conversion", "mapping", "expected_type"),
    [
        (bare("purchase"), {}, {"tracking_type": "PURCHASE"}),
        (bare("upsell_purchase"), {}, {"tracking_type": "PURCHASE"}),
        (bare("contact"), {}, {"tracking_type": "CUSTOM", "custom_event_name": "contact"}),
        (
            bare("custom_event_7", configured_name="Réservé"),
            {},
            {"tracking_type": "CUSTOM", "custom_event_name": "Réservé"},
        ),
        (bare("custom_event_50"), {}, {"tracking_type": "CUSTOM", "custom_event_name": "custom_event_50"}),
        (bare("contact"), {"contact": "LEAD"}, {"tracking_type": "LEAD"}),
        (
            bare("contact"),
            {"contact": "Callback"},
            {"tracking_type": "CUSTOM", "custom_event_name": "Callback"},
        ),
        (
            bare("custom_event_1", configured_name="PURCHASE"),
            {},
            {"tracking_type": "CUSTOM", "custom_event_name": "PURCHASE"},
        ),
        (
            bare("custom_event_1", configured_name="n" * 100),
            {},
            {"tracking_type": "CUSTOM", "custom_event_name": "n" * 64},
        ),
    ],
)
def test_event_names(
    conversion: Conversion, mapping: dict[str, str | None], expected_type: dict[str, str]
) -> None:
    target = reddit(event_names=mapping)
    assert sent(conversion, target)["type"] == expected_type
    assert REDDIT.find_name(conversion, target)


def test_an_event_can_be_left_out() -> None:
    assert REDDIT.find_name(bare("contact"), reddit(event_names={"contact": None})) is None


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({}, SkipReason.NO_IDENTIFIER),
        ({"ip": "203.0.113.9"}, SkipReason.NO_IDENTIFIER),
        ({"user_agent": "UA"}, SkipReason.NO_IDENTIFIER),
        ({"person": ConvertedPerson(first_name="Mary", last_name="Ng")}, SkipReason.NO_IDENTIFIER),
        ({"person": ConvertedPerson(email="not an address")}, SkipReason.NO_IDENTIFIER),
        ({"ip": "203.0.113.9", "user_agent": "UA"}, None),
        ({"person": ConvertedPerson(email="a@example.com")}, None),
        ({"person": ConvertedPerson(phone="+16505551212")}, None),
        ({"person": ConvertedPerson(external_id="cust-1")}, None),
        ({"cookies": {"rdt_uuid": "1.a"}}, None),
        ({"url_click_ids": {"rdt_cid": "1"}, "amount": Decimal(1)}, SkipReason.NO_CURRENCY),
        ({"url_click_ids": {"rdt_cid": "1"}, "amount": Decimal(0)}, SkipReason.NO_CURRENCY),
        ({"url_click_ids": {"rdt_cid": "1"}, "currency": "USD"}, None),
    ],
)
def test_unusable_conversions_are_skipped(columns: dict[str, Any], reason: SkipReason | None) -> None:
    assert REDDIT.skip_reason(bare(**columns), reddit()) is reason


@pytest.mark.parametrize(
    ("consent", "settings", "options"),
    [
        (AdConsent(), {}, None),
        (AdConsent(ad_user_data=True), {}, None),
        (DENIED, {}, {"modes": ["LDU"], "country": "DE"}),
        (AdConsent(ad_personalization=False), {}, {"modes": ["LDU"], "country": "DE"}),
        (AdConsent(), {"limited_data_use": "always"}, {"modes": ["LDU"], "country": "DE"}),
        (
            DENIED,
            {"limited_data_use_country": "US", "limited_data_use_region": "US-CA"},
            {"modes": ["LDU"], "country": "US", "region": "US-CA"},
        ),
    ],
)
def test_limited_data_use(
    consent: AdConsent, settings: dict[str, Any], options: dict[str, Any] | None
) -> None:
    event = bare(person=ConvertedPerson(external_id="x", country="DE"), consent=consent)
    assert REDDIT.skip_reason(event, reddit(settings)) is None
    assert sent(event, reddit(settings))["user"].get("data_processing_options") == options


def test_a_refusal_can_keep_an_event_back() -> None:
    target = reddit({"consent_denied": "skip"})
    assert REDDIT.skip_reason(make_conversion(consent=DENIED), target) is SkipReason.NO_CONSENT
    assert REDDIT.skip_reason(make_conversion(consent=AdConsent()), target) is None


def test_the_address_can_go_in_clear() -> None:
    event = make_conversion()
    assert sent(event, reddit({"hash_ip": False}))["user"]["ip_address"] == "203.0.113.9"


@pytest.mark.parametrize(
    ("amount", "value"),
    [("0", 0), ("-10.5", -10.5), ("20.00", 20), ("0.0001", 0.0001), ("100000000000000", 10**14)],
)
def test_amounts(amount: str, value: float) -> None:
    metadata = sent(make_conversion(amount=Decimal(amount)), reddit())["metadata"]
    assert metadata == {"conversion_id": "ord-1001-purchase", "currency": "USD", "value": value}


def test_a_currency_without_an_amount_says_nothing() -> None:
    assert sent(make_conversion(amount=None), reddit())["metadata"] == {"conversion_id": "ord-1001-purchase"}


@pytest.mark.parametrize(("status", "verdict"), BY_STATUS)
def test_by_status(status: int, verdict: type[Verdict]) -> None:
    for body in (b"", b"<html>busy</html>", {"error": {"message": "UNAUTHORIZED"}}):
        outcome = REDDIT.classify(answer(status, body), 2)
        assert isinstance(outcome, verdict)


def test_a_success() -> None:
    body = {"data": {"message": "Successfully processed 2 conversion events."}}
    assert REDDIT.classify(answer(200, body), 2) == CallAccepted()


def test_a_success_of_somebody_else() -> None:
    assert isinstance(REDDIT.classify(answer(200, b"<html>login</html>"), 2), CallDeferred)
    assert isinstance(REDDIT.classify(EgressResponse(status=200, body=b'{"a', cut=True), 2), Bisect)


def test_named_events_are_taken_out() -> None:
    fields = [
        {"field": "$.data.events[1].user.UUID", "message": "invalid UUID"},
        {"field": "$.data.events[1].event_at", "message": "too old"},
        {"field": "$.data.events[7].event_at", "message": "of no event that was sent"},
        {"field": "$.data.partner", "message": "of no event"},
        {"field": None},
        "unexpected",
    ]
    body = {"error": {"code": 400, "message": REFUSAL, "fields": fields}}
    assert REDDIT.classify(answer(400, body), 3) == PartlyAccepted(
        {1: "user.UUID: invalid UUID: event_at: too old"}, others_taken=False
    )


def test_all_of_them_are_invalid() -> None:
    old = {"error_message": "event_at timestamp must be less than 168h0m0s old", "event": {}}
    body = {"message": "There were 2 invalid conversion events.", "invalid_events": [old, old]}
    for status in (200, 400):
        outcome = REDDIT.classify(answer(status, body), 2)
        assert outcome == PartlyAccepted(dict.fromkeys(range(2), old["error_message"]), others_taken=False)


def test_some_are_invalid_without_saying_which() -> None:
    body = {"message": REFUSAL, "invalid_events": [{"error_message": "bad", "event": {}}]}
    for status in (200, 400):
        assert isinstance(REDDIT.classify(answer(status, body), 2), Bisect)
    assert isinstance(REDDIT.classify(answer(400, {"message": "Bad Request"}), 2), Bisect)
    assert isinstance(REDDIT.classify(answer(400, {"message": "Bad Request"}), 1), CallRefused)


def test_errors_tell_nothing_of_people() -> None:
    message = f"invalid email {'a' * 3}@example.com or {'0f' * 32} from 203.0.113.9"
    outcome = REDDIT.classify(answer(400, {"error": {"message": message}}), 1)
    assert isinstance(outcome, CallRefused)
    assert not any(text in outcome.error for text in ("@", "0f0f", "203.0"))


@given(conversions())
def test_personal_values_are_masked(conversion: Conversion) -> None:
    payload = sent(conversion, reddit())
    redacted_payload = REDDIT.redact(payload)
    assert_shows_nobody(redacted_payload, conversion)
    assert_hashed(payload, conversion)
    assert redacted_payload["metadata"]["conversion_id"] == "dedup-1"
    assert redacted_payload["event_at"] == conversion.event_time
    assert redacted_payload["type"] == payload["type"]
    assert msgspec.json.decode(msgspec.json.encode(redacted_payload)) == redacted_payload
    assert redacted_payload.get("event_source_url") in (None, "https://shop.example/thanks")


def test_settings_are_described() -> None:
    assert_described(REDDIT)


@pytest.mark.parametrize(
    "settings",
    [
        {"pixel_id": "../x"},
        {"pixel_id": "a\n"},
        {"pixel_id": ""},
        {"api_version": "v3/../"},
        {"limited_data_use_country": "USA"},
        {"consent_denied": "maybe"},
        {"pixel": "a"},
    ],
)
def test_wrong_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        reddit(settings)
