"""Microsoft's offline conversions: calls, corrections, and verdicts from its answers."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import pytest
from hypothesis import given

from headwater.base.egress.models import EgressResponse
from headwater.base.egress.oauth import IssuedToken
from headwater.forwarding.destinations.destination_check import try_destination
from headwater.forwarding.destinations.inputs import read_new
from headwater.forwarding.platforms.identifiers import hash_text
from headwater.forwarding.platforms.microsoft_offline import MicrosoftOffline
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
from headwater.http.errors import Invalid
from tests.platforms.examples import EVENT_TIME, answer, example_call, make_conversion
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
from tests.support.destinations import FakeSender, keep_no_token
from tests.support.microsoft_schema import declared

OFFLINE = MicrosoftOffline()
SECRETS = {
    "developer_token": "a-developer-token",
    "client_id": "an-app",
    "client_secret": "a-secret",
    "refresh_token": "M.C5_refresh.0",
}
ACCOUNT = {"customer_id": "12345678", "account_id": "123456789"}
NAMES = {"purchase": "Sale", "lead_generated": "Lead", "contact": "Call", "view_content": "View"}
KEY = {
    "ConversionName": "Sale",
    "ConversionTime": "2026-11-20T10:15:30Z",
    "MicrosoftClickId": "ms1",
    "HashedEmailAddress": hash_text("johnsmith@gmail.com"),
    "HashedPhoneNumber": hash_text("+16505551212"),
}
FOUND = {name: KEY[name] for name in ("ConversionName", "ConversionTime", "MicrosoftClickId")}
"""The fields that Microsoft finds a conversion by. The other fields may have changed since."""


def make_destination(settings: dict[str, Any] | None = None, **changes: Any) -> Destination:
    values = {"secrets": SECRETS, "event_names": NAMES, "access_token": "***"} | changes
    return destination(OFFLINE, {**ACCOUNT, **(settings or {})}, **values)


def correction(amount: str | None, currency: str | None = "USD", event: Conversion | None = None) -> Any:
    remaining_amount = None if amount is None else Decimal(amount)
    changed_event = msgspec.structs.replace(
        event or make_conversion(), amount=remaining_amount, currency=currency
    )
    return OFFLINE.build_correction(changed_event, make_destination(), EVENT_TIME / 1000 + 86_400.999)


def fault(code: object, name: str = "Invalid", member: str = "OperationErrors") -> dict[str, Any]:
    return {member: [{"Code": code, "ErrorCode": name, "Message": "Text."}], "TrackingId": "t"}


def make_error(
    index: object, code: object = 5602, name: str = "OfflineConversionNameInvalid"
) -> dict[str, Any]:
    return {"Index": index, "Code": code, "ErrorCode": name, "Message": "Text."}


def test_it_works() -> None:
    target = make_destination()
    assert example_call(OFFLINE.request([OFFLINE.build(make_conversion(), target)], target)) == expected_call(
        "microsoft_offline"
    )
    assert OFFLINE.skip_reason(make_conversion(), target) is None


def test_the_least_it_takes() -> None:
    event = bare(url_click_ids={"msclkid": "ms1"})
    assert OFFLINE.skip_reason(event, make_destination()) is None
    assert OFFLINE.build(event, make_destination()) == {
        "ConversionName": "Lead",
        "ConversionTime": "2026-11-20T10:15:30Z",
        "MicrosoftClickId": "ms1",
    }


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({}, SkipReason.NO_IDENTIFIER),
        ({"ip": "203.0.113.9", "user_agent": "UA"}, SkipReason.NO_IDENTIFIER),
        ({"person": ConvertedPerson(external_id="cust-1")}, SkipReason.NO_IDENTIFIER),
        ({"person": ConvertedPerson(email="+x@example.com")}, SkipReason.NO_IDENTIFIER),
        ({"person": ConvertedPerson(email="a@example.com")}, None),
        ({"person": ConvertedPerson(phone="+16505551212")}, None),
        ({"url_click_ids": {"msclkid": "m"}}, None),
        ({"url_click_ids": {"msclkid": "m"}, "amount": Decimal(1)}, SkipReason.NO_CURRENCY),
        ({"url_click_ids": {"msclkid": "m"}, "consent": DENIED}, SkipReason.NO_CONSENT),
        ({"url_click_ids": {"msclkid": "m"}, "consent": AdConsent(ad_personalization=False)}, None),
    ],
)
def test_unusable_conversions_are_skipped(columns: dict[str, Any], reason: SkipReason | None) -> None:
    assert OFFLINE.skip_reason(bare(**columns), make_destination()) is reason


def test_only_mapped_events_are_sent() -> None:
    assert OFFLINE.find_name(bare("subscribe"), make_destination()) is None
    assert OFFLINE.find_name(bare("custom_event_1", configured_name="Call"), make_destination()) is None


@pytest.mark.parametrize(
    ("name", "is_right"), [("Käufe (Web) 2", True), ("a" * 100, True), ("a" * 101, False)]
)
def test_names_of_goals(name: str, is_right: bool) -> None:
    body = {"platform": OFFLINE.name, "settings": ACCOUNT, "secrets": SECRETS}
    body |= {"event_names": {"purchase": name}}
    if is_right:
        assert read_new(body)[1].event_names == {"purchase": name}
    else:
        with pytest.raises(Invalid, match="must be the name of an offline conversion goal: 1 to 100"):
            read_new(body)


def test_there_is_no_trial() -> None:
    sender = FakeSender()
    check = asyncio.run(try_destination(sender, make_destination(), OFFLINE, keep_no_token))
    assert (check.ok, check.http_status, sender.calls) == (False, None, [])
    assert "no test mode" in check.message


@pytest.mark.parametrize(("amount", "value"), [("0", 0), ("-1.5", -1.5), ("20.00", 20), ("149.9000", 149.9)])
def test_amounts(amount: str, value: float) -> None:
    assert (
        OFFLINE.build(make_conversion(amount=Decimal(amount)), make_destination())["ConversionValue"] == value
    )


# ------------------------------------------------------------------------------------ corrections


def test_a_value_is_restated() -> None:
    assert correction("99.50", "EUR") == FOUND | {
        "AdjustmentTime": "2026-11-21T10:15:30Z",
        "AdjustmentType": "Restate",
        "AdjustmentValue": 99.5,
        "AdjustmentCurrencyCode": "EUR",
    }


@pytest.mark.parametrize("amount", ["0", "0.00", None])
def test_a_conversion_without_value_is_retracted(amount: str | None) -> None:
    retraction = {"AdjustmentTime": "2026-11-21T10:15:30Z", "AdjustmentType": "Retract"}
    assert correction(amount) == FOUND | retraction


@given(conversions())
def test_a_correction_names_its_conversion(event: Conversion) -> None:
    payload, correction_payload = OFFLINE.build(event, make_destination()), correction("1", "USD", event)
    assert {name: payload.get(name) for name in FOUND} == {
        name: correction_payload.get(name) for name in FOUND
    }


def test_the_call_with_corrections() -> None:
    call = example_call(
        OFFLINE.correction_request([correction("0")], make_destination({"api_version": "v14"}))
    )
    address = "https://campaign.api.bingads.microsoft.com/CampaignManagement/v14"
    assert call["url"] == f"{address}/OfflineConversionAdjustments/Apply"
    assert call["headers"] == example_call(OFFLINE.request([], make_destination()))["headers"]
    assert call["body"] == {"OfflineConversionAdjustments": [correction("0")]}


def test_members_are_declared_by_microsofts_own_library() -> None:
    campaign = "campaignmanagement"
    assert OFFLINE.build(make_conversion(), make_destination()).keys() <= set(
        declared(campaign, "OfflineConversion")
    )
    for amount in ("1", "0"):
        assert correction(amount).keys() <= set(declared(campaign, "OfflineConversionAdjustment"))
    for kind, call in (("OfflineConversions", OFFLINE.request),
                       ("OfflineConversionAdjustments", OFFLINE.correction_request)):  # fmt: skip
        assert list(json.loads(call([], make_destination()).body)) == declared(
            campaign, f"Apply{kind}Request"
        )
        assert declared(campaign, f"Apply{kind}Response") == ["PartialErrors"]
    assert make_error(0).keys() <= set(declared(campaign, "BatchError"))


# ----------------------------------------------------------------------------------------- tokens


def test_the_request_for_a_token() -> None:
    call = OFFLINE.token_request(make_destination(), 0)
    assert call.url == "https://login.microsoftonline.com/common/oauth2/v2.0/token"
    assert dict(parse_qsl(call.body.decode())) == {
        "grant_type": "refresh_token",
        "scope": "https://ads.microsoft.com/msads.manage offline_access",
        **{name: SECRETS[name] for name in ("client_id", "client_secret", "refresh_token")},
    }
    public = {name: text for name, text in SECRETS.items() if name != "client_secret"}
    assert b"client_secret" not in OFFLINE.token_request(make_destination(secrets=public), 0).body
    elsewhere = msgspec.structs.replace(make_destination(), url="http://127.0.0.1:9")
    assert OFFLINE.token_request(elsewhere, 0).url == "http://127.0.0.1:9/common/oauth2/v2.0/token"


def test_the_refresh_token_that_comes_with_a_token() -> None:
    body = {"access_token": "a", "expires_in": 3599, "refresh_token": "r1"}
    assert OFFLINE.read_token(answer(200, body)) == IssuedToken("a", 3599, "r1")


# ---------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize(
    "body", [{}, {"PartialErrors": None}, {"PartialErrors": []}, {"PartialErrors": [None]}]
)
def test_all_are_accepted(body: dict[str, Any]) -> None:
    assert OFFLINE.classify(answer(200, body), 2) == CallAccepted()


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", {"ok": 1}, {"PartialErrors": "x"}, {"PartialErrors": [1]}]
)
def test_a_success_of_somebody_else(body: object) -> None:
    assert isinstance(OFFLINE.classify(answer(200, body), 2), CallDeferred)


def test_a_success_that_was_cut_off() -> None:
    assert isinstance(OFFLINE.classify(EgressResponse(status=200, body=b'{"P', cut=True), 2), Bisect)


def test_some_events_are_refused() -> None:
    body = {
        "PartialErrors": [
            make_error(1),
            make_error(2, 117, "CallRateExceeded"),
            make_error(3, 0),
            make_error(3),
        ]
    }
    text = "Text. (OfflineConversionNameInvalid)"
    assert OFFLINE.classify(answer(200, body), 5) == PartlyAccepted(
        {1: text, 3: text}, others_taken=True, retryable={2: "Text. (CallRateExceeded)"}
    )


def test_a_fault_with_events() -> None:
    body = {"OperationErrors": [], "BatchErrors": [make_error(1)], "Type": "ApiFaultDetail"}
    assert OFFLINE.classify(answer(400, body), 2) == PartlyAccepted(
        {1: "Text. (OfflineConversionNameInvalid)"}, others_taken=False
    )


@pytest.mark.parametrize("index", [-1, 2, None, "0", True, 1.5, [1]])
def test_errors_of_no_event_that_was_sent(index: Any) -> None:
    body = {"PartialErrors": [make_error(index)]}
    assert isinstance(OFFLINE.classify(answer(200, body), 2), Bisect)
    assert isinstance(OFFLINE.classify(answer(200, body), 1), CallRefused)
    mixed_body = {"PartialErrors": [make_error(0), make_error(index)]}
    verdict = OFFLINE.classify(answer(200, mixed_body), 2)
    assert isinstance(verdict, PartlyAccepted)
    assert not verdict.others_taken, "which of the others is refused is unknown"


@pytest.mark.parametrize("member", ["OperationErrors", "Errors"])
@pytest.mark.parametrize(
    ("code", "name", "verdict"),
    [
        (105, "InvalidCredentials", CredentialsRefused("Text. (InvalidCredentials)")),
        (109, "AuthenticationTokenExpired", CredentialsRefused("Text. (AuthenticationTokenExpired)")),
        (106, "UserIsNotAuthorized", CredentialsRefused("Text. (UserIsNotAuthorized)", account=True)),
        (116, "RequestMissingHeaders", CredentialsRefused("Text. (RequestMissingHeaders)", account=True)),
        (1, "InvalidAccountId", CredentialsRefused("Text. (InvalidAccountId)", account=True)),
        (1, "CustomerIdHasToBeSpecified",
         CredentialsRefused("Text. (CustomerIdHasToBeSpecified)", account=True)),
        (117, "CallRateExceeded", CallDeferred("Text. (CallRateExceeded)", 60)),
        (207, "ConcurrentRequestOverLimit", CallDeferred("Text. (ConcurrentRequestOverLimit)", 60)),
        (0, "InternalError", CallDeferred("Text. (InternalError)")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_faults(member: str, code: int, name: str, verdict: Verdict, status: int) -> None:
    assert OFFLINE.classify(answer(status, fault(code, name, member)), 2) == verdict


@pytest.mark.parametrize("code", [100, None, [], True])
def test_other_faults(code: object) -> None:
    for status, kind in ((200, Bisect), (400, Bisect), (401, CredentialsRefused), (500, CallDeferred)):
        assert isinstance(OFFLINE.classify(answer(status, fault(code)), 2), kind)
    assert isinstance(OFFLINE.classify(answer(200, fault(code)), 1), CallRefused)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Bisect),
        (401, CredentialsRefused),
        (403, CredentialsRefused),
        (429, CallDeferred),
        (503, CallDeferred),
    ],
)
def test_by_status(status: int, kind: type[Verdict]) -> None:
    for body in (b"", b"<html></html>", {"Errors": []}):
        assert isinstance(OFFLINE.classify(answer(status, body), 2), kind)


def test_a_version_that_has_ended() -> None:
    verdict = OFFLINE.classify(answer(404), 2)
    assert isinstance(verdict, CredentialsRefused)
    assert "api_version" in verdict.error


@given(conversions())
def test_personal_values_are_masked(conversion: Conversion) -> None:
    for payload in (OFFLINE.build(conversion, make_destination()), correction("5", "USD", conversion)):
        redacted_payload = OFFLINE.redact(payload)
        assert_shows_nobody(redacted_payload, conversion)
        assert_hashed(payload, conversion)
        assert redacted_payload["ConversionTime"] == payload["ConversionTime"]
        assert redacted_payload.get("ConversionValue") == payload.get("ConversionValue")
        assert redacted_payload.get("AdjustmentType") == payload.get("AdjustmentType")


def test_settings() -> None:
    assert_described(OFFLINE)
    for settings in ({"customer_id": "1/2"}, {"account_id": ""}, {"api_version": "13"}, {"tag_id": "1"}):
        with pytest.raises(msgspec.ValidationError):
            make_destination(settings)
