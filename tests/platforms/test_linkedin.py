"""LinkedIn: calls and their token, skipped conversions, verdicts from answers, and redacted parts."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.base.egress.models import EgressResponse
from headwater.forwarding.platforms.identifiers import hash_text
from headwater.forwarding.platforms.linkedin import LinkedIn
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
)
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

LINKEDIN = LinkedIn()

NAMES = {"purchase": "104012", "lead_generated": "urn:lla:llaPartnerConversion:104013"}
REFRESH = {"client_id": "i", "client_secret": "s", "refresh_token": "r"}


def make_destination(secrets: dict[str, str] | None = None, **settings: Any) -> Destination:
    secrets = {"access_token": "***"} if secrets is None else secrets
    return destination(LINKEDIN, settings, event_names=NAMES, secrets=secrets)


TO = make_destination()


def test_it_works() -> None:
    """The whole request equals the reference."""
    assert example_call(call_for(LINKEDIN, TO, CONVERSION)) == EXAMPLES["linkedin"]


def test_a_minimal_conversion_is_built() -> None:
    least = make_conversion(BARE, person=ConvertedPerson(email="a@example.com"))
    email = {"idType": "SHA256_EMAIL", "idValue": hash_text("a@example.com")}
    assert LINKEDIN.build(least, TO) == {
        "conversion": "urn:lla:llaPartnerConversion:104013",
        "conversionHappenedAt": 1795169730000,
        "eventId": "e1",
        "user": {"userIds": [email]},
    }


@pytest.mark.parametrize(
    ("first_name", "last_name", "expected"),
    [
        ("Mary", "Valéry", {"firstName": "Mary", "lastName": "Valéry", "countryCode": "FR"}),
        ("Mary", None, None),
        (None, "Valéry", None),
        ("Cher", "", None),
    ],
)
def test_both_names_or_none(
    first_name: str | None, last_name: str | None, expected: dict[str, str] | None
) -> None:
    person = ConvertedPerson(email="a@example.com", first_name=first_name, last_name=last_name, country="FR")
    assert LINKEDIN.build(make_conversion(person=person), TO)["user"].get("userInfo") == expected


def test_the_list_of_ids_is_there_even_when_empty() -> None:
    conversion = make_conversion(BARE, person=ConvertedPerson(first_name="Mary", last_name="Valéry"))
    assert LINKEDIN.skip_reason(conversion, TO) is None
    assert LINKEDIN.build(conversion, TO)["user"]["userIds"] == []


@pytest.mark.parametrize(
    ("amount", "text"),
    [("149.9000", "149.9"), ("0", "0"), ("-5.00", "-5"), ("123456789012.1234", "123456789012.1234")],
)
def test_amounts(amount: str, text: str) -> None:
    value = LINKEDIN.build(make_conversion(amount=Decimal(amount)), TO)["conversionValue"]
    assert value == {"currencyCode": "USD", "amount": text}
    assert "conversionValue" not in LINKEDIN.build(make_conversion(amount=None), TO)


@pytest.mark.parametrize(
    ("conversion", "reason"),
    [
        (CONVERSION, None),
        (BARE, SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, person=ConvertedPerson(phone="+16505551212")), SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, person=ConvertedPerson(first_name="Mary")), SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, person=ConvertedPerson(external_id="x")), SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, ip="203.0.113.9", user_agent="x"), SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, url_click_ids={"li_fat_id": "l"}), None),
        (make_conversion(currency=None), SkipReason.NO_CURRENCY),
        (make_conversion(amount=None, currency=None), None),
        (make_conversion(consent=AdConsent(ad_user_data=False)), SkipReason.NO_CONSENT),
        (make_conversion(consent=AdConsent()), None),
        (make_conversion(consent=AdConsent(ad_personalization=False)), None),
    ],
)
def test_skip_reason(conversion: Conversion, reason: SkipReason | None) -> None:
    assert LINKEDIN.skip_reason(conversion, TO) == reason


def test_an_email_address_is_never_sent_in_clear_text() -> None:
    """Many shops use it as their tracking_id."""
    person = ConvertedPerson(email="a@example.com", external_id="a@example.com")
    user = LINKEDIN.build(make_conversion(person=person), TO)["user"]
    assert "externalIds" not in user
    assert user["userIds"][0]["idValue"] == hash_text("a@example.com")


def test_there_is_no_test_mode() -> None:
    assert "no test mode" in (LINKEDIN.test_event_problem(TO) or "")


def ask(destination: Destination) -> tuple[str, dict[str, str]] | None:
    call = LINKEDIN.token_request(destination, 0.0)
    if call is None:
        return None
    return call.url, {name: values[0] for name, values in parse_qs(call.body.decode()).items()}


def test_an_access_token_is_used_as_it_is() -> None:
    assert ask(TO) is None


def test_a_refresh_token_is_exchanged() -> None:
    form = {"grant_type": "refresh_token", **REFRESH}
    with_both = make_destination({**REFRESH, "access_token": "old"})
    assert ask(with_both) == ("https://www.linkedin.com/oauth/v2/accessToken", form)
    other_destination = msgspec.structs.replace(with_both, url="http://127.0.0.1:9")
    assert ask(other_destination) == ("http://127.0.0.1:9/oauth/v2/accessToken", form)
    assert ask(make_destination(REFRESH, token_url="https://t.example/x")) == ("https://t.example/x", form)
    new_destination = msgspec.structs.replace(with_both, access_token="new")
    assert call_for(LINKEDIN, new_destination, CONVERSION).headers["Authorization"] == "Bearer new"


@pytest.mark.parametrize(
    ("secrets", "is_valid"),
    [
        ({"access_token": "t"}, True),
        (REFRESH, True),
        ({"access_token": "t", "client_id": "i"}, True),
        ({}, False),
        ({"refresh_token": "r"}, False),
        ({"access_token": "t", "refresh_token": "r"}, False),
    ],
)
def test_which_secrets_go_together(secrets: dict[str, str], *, is_valid: bool) -> None:
    assert (LINKEDIN.secrets_problem(secrets) is None) == is_valid
    if not is_valid:
        with pytest.raises(ValueError, match="refresh_token"):
            ask(make_destination(secrets))


@pytest.mark.parametrize("bad", [{"api_version": "202613"}, {"api_version": "v1"}, {"token_url": "ftp://x"}])
def test_settings_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        make_destination(**bad)


def failure(status: int, code: str = "X", message: str = "m") -> EgressResponse:
    return answer(status, {"status": status, "serviceErrorCode": 1, "code": code, "message": message})


TWO = (
    "Index: 3, ERROR :: /conversionValue/amount :: field is required\n"
    "ERROR :: /user/userInfo/firstName :: field is required\n"
    "Index: 0, ERROR :: /conversionHappenedAt :: too old\nIndex: 12, ERROR :: x"
)


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (answer(201), CallAccepted),
        (answer(200, {"elements": [{"status": 201}] * 5}), CallAccepted),
        (answer(200, {"elements": [{"status": 201}] * 4}), CallDeferred),
        (answer(200, {"elements": [{"status": 201}, {"status": 422}]}), PartlyAccepted),
        (failure(401, "INVALID_ACCESS_TOKEN"), CredentialsRefused),
        (failure(401, "EXPIRED_ACCESS_TOKEN"), CredentialsRefused),
        (failure(401, "REVOKED_ACCESS_TOKEN"), CredentialsRefused),
        (failure(403, "ACCESS_DENIED"), CredentialsRefused),
        (failure(422, message=TWO), PartlyAccepted),
        (failure(422), Bisect),
        (failure(400), Bisect),
        (failure(400, message=TWO), PartlyAccepted),
        (failure(404), CallRefused),
        (failure(426, "NONEXISTENT_VERSION"), CredentialsRefused),
        *[(failure(status), CallDeferred) for status in (408, 423, 429, 500, 502, 503, 504)],
        (failure(501), Bisect),
        (answer(200, b"<html>"), CallDeferred),
        (answer(500, b"<html>"), CallDeferred),
        (answer(400, b"<html>"), Bisect),
    ],
)
def test_answers(response: EgressResponse, kind: type) -> None:
    assert type(LINKEDIN.classify(response, 5)) is kind


def test_the_events_at_fault_are_named() -> None:
    verdict = LINKEDIN.classify(failure(422, message=TWO), 5)
    assert verdict == PartlyAccepted(
        {
            3: (
                "ERROR :: /conversionValue/amount :: field is required"
                " ERROR :: /user/userInfo/firstName :: field is required"
            ),
            0: "ERROR :: /conversionHappenedAt :: too old",
        },
        others_taken=False,
    )
    single_verdict = LINKEDIN.classify(failure(422, message="Index: 0, ERROR :: /eventId :: bad"), 1)
    assert single_verdict == CallRefused("ERROR :: /eventId :: bad")


def test_elements_that_failed_in_a_success() -> None:
    body = {"elements": [{"status": 201}, {"status": 422, "error": {"message": "bad"}}]}
    verdict = LINKEDIN.classify(answer(200, body), 2)
    assert isinstance(verdict, PartlyAccepted)
    assert verdict.others_taken is True
    assert verdict.errors.keys() == {1}


def test_an_ended_version_is_said_to_be_one() -> None:
    verdict = LINKEDIN.classify(failure(426), 1)
    assert isinstance(verdict, CredentialsRefused)
    assert "api_version" in verdict.error


@given(st.uuids())
def test_what_is_shown_says_nothing_of_the_person(number: Any) -> None:
    conversion, secret = stranger_example(number.hex)
    redacted_payload = LINKEDIN.redact(LINKEDIN.build(conversion, TO))
    assert [value for value in secret if value in json.dumps(redacted_payload)] == []
    assert redacted_payload["conversion"] == "urn:lla:llaPartnerConversion:104012"
    assert redacted_payload["conversionHappenedAt"] == 1795169730000
    assert redacted_payload["eventId"] == CONVERSION.dedup_id
    assert redacted_payload["conversionValue"] == {"currencyCode": "USD", "amount": "149.9"}
