"""Microsoft: its calls, conversions it can't accept, and verdicts from its answers."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given

from headwater.base.egress.models import EgressResponse
from headwater.base.masking import Mask
from headwater.forwarding.platforms.microsoft import Microsoft
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
from tests.platforms.examples import answer, example_call, make_conversion
from tests.platforms.variety import (
    DENIED,
    GRANTED,
    assert_described,
    assert_hashed,
    assert_shows_nobody,
    bare,
    conversions,
    destination,
    expected_call,
)

MICROSOFT = Microsoft()

WRONG_PHONE = {
    "index": 1,
    "propertyName": "userData.ph",
    "attemptedValue": "0171 Quoted",
    "errorMessage": "'0171 Quoted' is not a SHA-256.",
}


def microsoft(settings: dict[str, Any] | None = None, **changes: Any) -> Destination:
    return destination(MICROSOFT, {"tag_id": "97247724", **(settings or {})}, **changes)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_it_works() -> None:
    target = microsoft()
    call = MICROSOFT.request([MICROSOFT.build(make_conversion(), target)], target)
    assert example_call(call) == expected_call("microsoft_uet", tag_id="97247724")
    assert MICROSOFT.skip_reason(make_conversion(), target) is None


def test_the_least_it_takes() -> None:
    event = bare(url_click_ids={"msclkid": "ms1"}, consent=GRANTED)
    target = microsoft(event_names={"lead_generated": "lead"})
    assert MICROSOFT.skip_reason(event, target) is None
    assert MICROSOFT.build(event, target) == {
        "eventType": "custom",
        "eventName": "lead",
        "eventTime": 1795169730,
        "eventId": "e1",
        "adStorageConsent": "G",
        "userData": {"msclkid": "ms1"},
    }


def test_valid_events_are_taken_beside_invalid_ones() -> None:
    body = example_call(MICROSOFT.request([{}, {}], microsoft()))["body"]
    assert body == {"data": [{}, {}], "continueOnValidationError": True}
    target = microsoft({"continue_on_validation_error": False})
    assert example_call(MICROSOFT.request([{}, {}], target))["body"] == {"data": [{}, {}]}


def test_there_is_no_trial() -> None:
    assert MICROSOFT.test_event_problem(microsoft(test=True))


@pytest.mark.parametrize(
    ("conversion", "mapping", "event"),
    [
        (bare("purchase"), {}, {"eventType": "custom", "eventName": "purchase"}),
        (
            bare("custom_event_9", configured_name="Réservé"),
            {},
            {"eventType": "custom", "eventName": "Réservé"},
        ),
        (bare("custom_event_9"), {}, {"eventType": "custom", "eventName": "custom_event_9"}),
        (bare("contact"), {"contact": "Call"}, {"eventType": "custom", "eventName": "Call"}),
        (bare("view_content"), {}, {"eventType": "custom", "eventName": "view_content"}),
        (bare("view_content", url="https://a.example/"), {}, {"eventType": "pageLoad"}),
        (bare("contact", url="https://a.example/"), {"contact": "pageLoad"},
         {"eventType": "pageLoad"}),
    ],
)  # fmt: skip
def test_event_names(conversion: Conversion, mapping: dict[str, str | None], event: dict[str, str]) -> None:
    target = microsoft(event_names=mapping)
    payload = MICROSOFT.build(conversion, target)
    name_fields = {name: payload[name] for name in ("eventType", "eventName") if name in payload}
    assert name_fields == event
    assert MICROSOFT.find_name(conversion, target)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({}, SkipReason.NO_IDENTIFIER),
        ({"ip": "203.0.113.9", "user_agent": "UA"}, SkipReason.NO_IDENTIFIER),
        ({"person": ConvertedPerson(email="+x@example.com")}, SkipReason.NO_IDENTIFIER),
        ({"person": ConvertedPerson(external_id="a@example.com")}, SkipReason.NO_IDENTIFIER),
        ({"person": ConvertedPerson(external_id="cust-1")}, None),
        ({"person": ConvertedPerson(email="a@example.com")}, None),
        ({"person": ConvertedPerson(phone="+16505551212")}, None),
        ({"url_click_ids": {"msclkid": "m"}}, None),
        ({"url_click_ids": {"msclkid": "m"}, "amount": Decimal(1)}, SkipReason.NO_CURRENCY),
    ],
)
def test_unusable_conversions_are_skipped(columns: dict[str, Any], reason: SkipReason | None) -> None:
    assert MICROSOFT.skip_reason(bare(**columns), microsoft()) is reason


@pytest.mark.parametrize(
    ("consent", "sent_value"),
    [
        (AdConsent(), None),
        (AdConsent(ad_personalization=True), None),
        (GRANTED, "G"),
        (AdConsent(ad_user_data=True), "G"),
        (DENIED, "D"),
        (AdConsent(ad_user_data=True, ad_personalization=False), "D"),
    ],
)
def test_consent(consent: AdConsent, sent_value: str | None) -> None:
    event = make_conversion(consent=consent)
    assert MICROSOFT.skip_reason(event, microsoft()) is None
    assert MICROSOFT.build(event, microsoft()).get("adStorageConsent") == sent_value


def test_a_refusal_can_keep_an_event_back() -> None:
    target = microsoft({"consent_denied": "skip"})
    assert MICROSOFT.skip_reason(make_conversion(consent=DENIED), target) is SkipReason.NO_CONSENT


@pytest.mark.parametrize(
    ("settings", "email", "phone"),
    [
        ({}, "johnosmith@mail.example", "+16505551212"),
        ({"email_form": "plain"}, "john.o.smith+news@mail.example", "+16505551212"),
        ({"phone_form": "digits"}, "johnosmith@mail.example", "16505551212"),
    ],
)
def test_disputed_forms(settings: dict[str, Any], email: str, phone: str) -> None:
    person = ConvertedPerson(email="john.o.smith+news@mail.example", phone="+16505551212")
    user = MICROSOFT.build(bare(person=person), microsoft(settings))["userData"]
    assert user == {"em": sha256(email), "ph": sha256(phone)}


def test_an_address_is_not_sent_as_an_id() -> None:
    person = ConvertedPerson(email="a@example.com", external_id="a@example.com")
    user = MICROSOFT.build(bare(person=person), microsoft())["userData"]
    assert user == {"em": sha256("a@example.com")}


@pytest.mark.parametrize(("amount", "value"), [("0", 0), ("-1.5", -1.5), ("20.00", 20)])
def test_amounts(amount: str, value: float) -> None:
    payload = MICROSOFT.build(make_conversion(amount=Decimal(amount)), microsoft())
    assert payload["customData"]["value"] == value


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (400, Bisect),
        (401, CredentialsRefused),
        (403, CredentialsRefused),
        (404, CallRefused),
        (413, Bisect),
        (429, CallDeferred),
        (500, CallDeferred),
        (504, CallDeferred),
    ],
)
def test_by_status(status: int, verdict: type[Verdict]) -> None:
    error = {"code": "Bad", "message": "Something is wrong.", "details": []}
    for body in (b"", b"<html></html>", {"error": error}, {"error": "x"}):
        assert isinstance(MICROSOFT.classify(answer(status, body), 2), verdict)


def test_all_are_received() -> None:
    body = {"eventsReceived": 2, "traceId": "t"}
    assert MICROSOFT.classify(answer(200, body), 2) == CallAccepted()
    assert MICROSOFT.classify(answer(200, {**body, "error": None}), 2) == CallAccepted()


def test_a_success_with_an_error_is_none() -> None:
    body = {"eventsReceived": 2, "error": {"code": "Bad", "message": "Something is wrong."}}
    assert isinstance(MICROSOFT.classify(answer(200, body), 2), Bisect)


def test_warnings_are_no_errors() -> None:
    details = [{**WRONG_PHONE, "isWarning": True}]
    body = {"eventsReceived": 2, "error": {"code": "V", "details": details}}
    assert MICROSOFT.classify(answer(200, body), 2) == CallAccepted()


@pytest.mark.parametrize(
    ("status", "received_count", "is_accepted"),
    [(200, 1, True), (200, 2, True), (400, 0, False), (400, None, False), (400, True, False)],
)
def test_some_are_invalid(status: int, received_count: int | None, is_accepted: bool) -> None:
    error = {"code": "ValidationError", "message": "Invalid.", "details": [WRONG_PHONE]}
    body = {"eventsReceived": received_count, "error": error, "traceId": "t"}
    assert MICROSOFT.classify(answer(status, body), 2) == PartlyAccepted(
        {1: "userData.ph: '[masked]' is not a SHA-256."}, others_taken=is_accepted
    )


def test_several_errors_of_an_event() -> None:
    details = [{"index": 0, "errorMessage": "one"}, {"index": 0, "errorMessage": "two"}]
    body = {"eventsReceived": 1, "error": {"details": details}}
    assert MICROSOFT.classify(answer(200, body), 2) == PartlyAccepted({0: "one; two"}, others_taken=True)


@pytest.mark.parametrize("index", [-1, 2, None, "0", True, 1.5])
def test_errors_of_no_event_that_was_sent(index: Any) -> None:
    body = {"error": {"message": "Invalid.", "details": [{**WRONG_PHONE, "index": index}]}}
    assert isinstance(MICROSOFT.classify(answer(400, body), 2), Bisect)
    assert isinstance(MICROSOFT.classify(answer(400, body), 1), CallRefused)
    assert isinstance(MICROSOFT.classify(answer(200, body), 2), Bisect)


def test_fewer_are_received() -> None:
    assert isinstance(MICROSOFT.classify(answer(200, {"eventsReceived": 1}), 2), Bisect)
    assert isinstance(MICROSOFT.classify(answer(200, {"eventsReceived": 0}), 1), CallRefused)


def test_a_success_of_somebody_else() -> None:
    assert isinstance(MICROSOFT.classify(answer(200, b"<html>login</html>"), 2), CallDeferred)
    assert isinstance(MICROSOFT.classify(EgressResponse(status=200, body=b'{"e', cut=True), 2), Bisect)


def test_what_it_quotes_is_not_kept() -> None:
    body = answer(400, {"error": {"details": [WRONG_PHONE]}}).body
    mask = Mask(quotes=MICROSOFT.quoted_fields)
    assert '"attemptedValue":"[masked]"' in (mask.answer(body) or "")
    assert mask.answer(body[:-2]) is None


@given(conversions())
def test_personal_values_are_masked(conversion: Conversion) -> None:
    payload = MICROSOFT.build(conversion, microsoft())
    redacted_payload = MICROSOFT.redact(payload)
    assert_shows_nobody(redacted_payload, conversion)
    assert_hashed(payload, conversion)
    assert redacted_payload["eventId"] == "dedup-1"
    assert redacted_payload["eventTime"] == conversion.event_time // 1000
    assert redacted_payload.get("eventName") == payload.get("eventName")
    assert redacted_payload.get("adStorageConsent") == payload.get("adStorageConsent")


def test_what_goes_into_a_call_is_bounded_in_bytes() -> None:
    parts = [{"eventSourceUrl": "u" * 2000}] * 1000
    count = MICROSOFT.count_fitting(parts)
    assert len(MICROSOFT.request(parts[:count], microsoft()).body) <= 1_000_000


def test_settings() -> None:
    assert_described(MICROSOFT)
    for wrong in ({"tag_id": "1/2"}, {"email_form": "other"}, {"api_version": "1"}):
        with pytest.raises(msgspec.ValidationError):
            microsoft(wrong)
