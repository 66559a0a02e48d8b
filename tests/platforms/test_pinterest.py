"""Pinterest: its calls, conversions it can't accept, and verdicts from its answers."""

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
    ConvertedPerson,
    CredentialsRefused,
    Destination,
    PartlyAccepted,
    SkipReason,
    Verdict,
)
from headwater.forwarding.platforms.pinterest import Pinterest
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

PINTEREST = Pinterest()

ALICE = "ff8d9819fc0e12bf0d24892e45987e249a28dce836a85cad60e28eaaa8c6d976"
PROCESSED = {"status": "processed", "error_message": "", "warning_message": ""}
FAILED = {"status": "failed", "error_message": "event_time is in the future"}


def pinterest(settings: dict[str, Any] | None = None, **changes: Any) -> Destination:
    return destination(PINTEREST, {"ad_account_id": "549", **(settings or {})}, **changes)


def test_it_works() -> None:
    target = pinterest()
    call = PINTEREST.request([PINTEREST.build(make_conversion(), target)], target)
    assert example_call(call) == expected_call("pinterest", ad_account_id="549")
    assert PINTEREST.skip_reason(make_conversion(), target) is None


def test_the_least_it_takes() -> None:
    event = bare(person=ConvertedPerson(email="alice@example.com"))
    assert PINTEREST.skip_reason(event, pinterest()) is None
    assert PINTEREST.build(event, pinterest()) == {
        "event_name": "lead",
        "action_source": "web",
        "event_time": 1795169730,
        "event_id": "e1",
        "user_data": {"em": [ALICE]},
    }


def test_a_trial_is_only_validated() -> None:
    target = pinterest(test=True)
    assert example_call(PINTEREST.request([{}], target))["query"] == {"test": "true"}
    assert PINTEREST.test_event_problem(target) is None


@pytest.mark.parametrize(
    ("event_name", "mapping", "platform_name"),
    [
        ("upsell_purchase", {}, "checkout"),
        ("webinar_registration", {}, "signup"),
        ("contact", {}, "contact"),
        ("custom_event_50", {}, "custom"),
        ("contact", {"contact": "lead"}, "lead"),
    ],
)
def test_event_names(event_name: str, mapping: dict[str, str | None], platform_name: str) -> None:
    target = pinterest(event_names=mapping)
    assert PINTEREST.build(bare(event_name), target)["event_name"] == platform_name
    assert PINTEREST.find_name(bare(event_name), target) == platform_name


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({}, SkipReason.NO_IDENTIFIER),
        ({"ip": "203.0.113.9"}, SkipReason.NO_IDENTIFIER),
        ({"user_agent": "UA"}, SkipReason.NO_IDENTIFIER),
        ({"url_click_ids": {"epik": "e"}}, SkipReason.NO_IDENTIFIER),
        ({"person": ConvertedPerson(phone="+16505551212", external_id="x")}, SkipReason.NO_IDENTIFIER),
        ({"person": ConvertedPerson(email="a@@example.com")}, SkipReason.NO_IDENTIFIER),
        ({"ip": "203.0.113.9", "user_agent": "UA"}, None),
        ({"person": ConvertedPerson(email="a@example.com")}, None),
        ({"person": ConvertedPerson(email="a@example.com"), "amount": Decimal(1)}, SkipReason.NO_CURRENCY),
    ],
)
def test_unusable_conversions_are_skipped(columns: dict[str, Any], reason: SkipReason | None) -> None:
    assert PINTEREST.skip_reason(bare(**columns), pinterest()) is reason


@pytest.mark.parametrize(
    ("consent", "opt_out"),
    [
        (AdConsent(), None),
        (AdConsent(ad_personalization=True), None),
        (GRANTED, False),
        (AdConsent(ad_user_data=True), False),
        (DENIED, True),
        (AdConsent(ad_user_data=True, ad_personalization=False), True),
    ],
)
def test_consent(consent: AdConsent, opt_out: bool | None) -> None:
    event = make_conversion(consent=consent)
    assert PINTEREST.skip_reason(event, pinterest()) is None
    assert PINTEREST.build(event, pinterest()).get("opt_out") is opt_out


def test_a_refusal_can_keep_an_event_back() -> None:
    target = pinterest({"consent_denied": "skip"})
    assert PINTEREST.skip_reason(make_conversion(consent=DENIED), target) is SkipReason.NO_CONSENT
    assert PINTEREST.skip_reason(make_conversion(), target) is None


def test_limited_data_processing() -> None:
    payload = PINTEREST.build(bare(), pinterest({"limited_data_processing": True}))
    assert payload["custom_data"] == {"opt_out_type": "LDP"}


@pytest.mark.parametrize(
    ("amount", "value"),
    [("0", "0"), ("-10.5", "-10.5"), ("20.00", "20"), ("149.9000", "149.9"), ("1E+3", "1000")],
)
def test_amounts_are_texts(amount: str, value: str) -> None:
    payload = PINTEREST.build(make_conversion(amount=Decimal(amount)), pinterest())
    assert payload["custom_data"] == {"currency": "USD", "value": value, "order_id": "1001"}


def test_the_place_is_sent() -> None:
    person = ConvertedPerson(city="San José", state="CA", country="US", first_name="정")
    user = PINTEREST.build(bare(person=person), pinterest())["user_data"]
    assert user.keys() == {"ct", "st", "country", "fn"}
    assert user["fn"] == ["8fa8cd9c440be61d0151429310034083132b35975c4bea67fdd74158eb51db14"]
    assert all(len(hashes) == 1 and len(hashes[0]) == 64 for hashes in user.values())


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (400, Bisect),
        (401, CredentialsRefused),
        (403, CredentialsRefused),
        (404, CallRefused),
        (422, Bisect),
        (429, CallDeferred),
        (500, CallDeferred),
        (503, CallDeferred),
    ],
)
def test_by_status(status: int, verdict: type[Verdict]) -> None:
    for body in (b"", b"<html>busy</html>", {"code": 4, "message": "Something is wrong."}):
        assert isinstance(PINTEREST.classify(answer(status, body), 2), verdict)


def test_all_are_processed() -> None:
    body = {"num_events_received": 2, "num_events_processed": 2, "events": [PROCESSED, PROCESSED]}
    assert PINTEREST.classify(answer(200, body), 2) == CallAccepted()
    assert PINTEREST.classify(answer(200, {"num_events_processed": 2}), 2) == CallAccepted()


@pytest.mark.parametrize("status", [200, 422])
def test_some_failed(status: int) -> None:
    """A success has the statuses at the top level, and an error has them in its details."""
    statuses = {"num_events_received": 2, "num_events_processed": 1, "events": [PROCESSED, FAILED]}
    body = statuses if status == 200 else {"code": 1, "message": "Not all", "details": statuses}
    assert PINTEREST.classify(answer(status, body), 2) == PartlyAccepted(
        {1: "event_time is in the future"}, others_taken=True
    )


def test_an_error_that_names_nobody() -> None:
    body = {"message": "Not all", "details": {"events": [PROCESSED, PROCESSED]}}
    assert isinstance(PINTEREST.classify(answer(422, body), 2), Bisect)


def test_a_failure_without_words() -> None:
    body = {"events": [{"status": "failed"}]}
    assert PINTEREST.classify(answer(200, body), 1) == PartlyAccepted({0: "not processed"}, others_taken=True)


def test_some_failed_without_saying_which() -> None:
    body = {"num_events_received": 3, "num_events_processed": 1, "events": [FAILED]}
    assert isinstance(PINTEREST.classify(answer(200, body), 3), Bisect)
    assert isinstance(PINTEREST.classify(answer(200, {"num_events_processed": 0}), 1), CallRefused)


@pytest.mark.parametrize("body", [b"<html>login</html>", [1], "processed"])
def test_a_success_of_somebody_else(body: Any) -> None:
    assert isinstance(PINTEREST.classify(answer(200, body), 2), CallDeferred)


@pytest.mark.parametrize("body", [b"", {}, {"events": "all"}, {"num_events_processed": None}])
def test_a_success_that_says_no_more(body: Any) -> None:
    assert isinstance(PINTEREST.classify(answer(200, body), 2), CallDeferred)


def test_an_answer_that_is_cut() -> None:
    assert isinstance(PINTEREST.classify(EgressResponse(status=200, body=b'{"e', cut=True), 2), Bisect)


@given(conversions())
def test_personal_values_are_masked(conversion: Any) -> None:
    payload = PINTEREST.build(conversion, pinterest())
    redacted_payload = PINTEREST.redact(payload)
    assert_shows_nobody(redacted_payload, conversion)
    assert_hashed(payload, conversion)
    assert redacted_payload["event_id"] == "dedup-1"
    assert redacted_payload["event_name"] == payload["event_name"]
    assert redacted_payload["event_time"] == conversion.event_time // 1000
    assert redacted_payload.get("opt_out") is payload.get("opt_out")


def test_settings() -> None:
    assert_described(PINTEREST)
    for wrong in ({"ad_account_id": "54a"}, {"ad_account_id": "1" * 19}, {"api_version": "5"}):
        with pytest.raises(msgspec.ValidationError):
            pinterest(wrong)
