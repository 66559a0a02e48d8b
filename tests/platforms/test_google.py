"""Google: calls, skipped conversions, and the token from each kind of credential."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs

import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc import jwt
from joserfc.jwk import RSAKey

from headwater.forwarding.platforms.google import MOST_ACTIONS, Google
from headwater.forwarding.platforms.models import (
    AdConsent,
    Conversion,
    ConvertedPerson,
    Destination,
    SkipReason,
)
from tests.platforms.examples import (
    BARE,
    CONVERSION,
    EVENT_TIME,
    EXAMPLES,
    call_for,
    destination,
    example_call,
    make_conversion,
)

GOOGLE = Google()

SETTINGS = {"customer_id": "1234567890", "login_customer_id": "9876543210"}
NAMES = {"purchase": "555000111", "lead_generated": "555000222"}
NOW = 1_795_170_000.7
REFRESH = {"client_id": "i", "client_secret": "s", "refresh_token": "r/1"}


def make_destination(secrets: dict[str, str] | None = None, **settings: Any) -> Destination:
    return destination(
        GOOGLE,
        {**SETTINGS, **settings},
        event_names=NAMES,
        access_token="***",
        secrets=REFRESH if secrets is None else secrets,
    )


TO = make_destination()
LEAD = make_conversion(BARE, url_click_ids={"gclid": "g1"})


def test_it_works() -> None:
    """The whole request equals the reference."""
    assert example_call(call_for(GOOGLE, TO, CONVERSION)) == EXAMPLES["google_data_manager"]


def test_a_minimal_conversion_is_built() -> None:
    plain = destination(GOOGLE, {"customer_id": "1234567890"}, event_names=NAMES)
    assert example_call(call_for(GOOGLE, plain, LEAD))["body"] == {
        "destinations": [
            {
                "operatingAccount": {"accountType": "GOOGLE_ADS", "accountId": "1234567890"},
                "productDestinationId": "555000222",
            }
        ],
        "encoding": "HEX",
        "validateOnly": False,
        "events": [
            {
                "transactionId": "e1",
                "eventTimestamp": "2026-11-20T10:15:30Z",
                "eventSource": "WEB",
                "adIdentifiers": {"gclid": "g1"},
            }
        ],
    }


def test_several_actions_in_one_call() -> None:
    """Each event names its conversion action. An event without one would go to all of them."""
    body = example_call(call_for(GOOGLE, TO, CONVERSION, LEAD, CONVERSION))["body"]
    assert [(target["reference"], target["productDestinationId"]) for target in body["destinations"]] == [
        ("555000111", "555000111"),
        ("555000222", "555000222"),
    ]
    assert [event["destinationReferences"] for event in body["events"]] == [
        ["555000111"], ["555000222"], ["555000111"],
    ]  # fmt: skip


def test_a_call_names_ten_actions_at_most() -> None:
    parts = [{"destinationReferences": [str(n // 2)]} for n in range(40)]
    assert GOOGLE.count_fitting(parts) == 2 * MOST_ACTIONS
    assert GOOGLE.count_fitting(parts[:20]) == 20
    assert GOOGLE.count_fitting(parts[:1]) == 1


def test_a_trial_only_validates() -> None:
    trial = msgspec.structs.replace(TO, test=True)
    assert example_call(call_for(GOOGLE, trial, CONVERSION))["body"]["validateOnly"] is True
    assert GOOGLE.test_event_problem(trial) is None


@pytest.mark.parametrize(
    ("credited", "url_click_ids", "expected"),
    [
        ({"gclid": "a", "gbraid": "b", "wbraid": "c"}, {}, {"gclid": "a"}),
        ({"wbraid": "c", "gbraid": "b"}, {}, {"gbraid": "b"}),
        ({"wbraid": "c"}, {"gclid": "own"}, {"wbraid": "c"}),
        ({}, {"gclid": "own"}, {"gclid": "own"}),
        ({"fbclid": "x"}, {}, None),
    ],
)
def test_one_click_id(
    credited: dict[str, str], url_click_ids: dict[str, str], expected: dict[str, str] | None
) -> None:
    click = msgspec.structs.replace(CONVERSION.click, ids=credited)
    payload = GOOGLE.build(make_conversion(click=click, url_click_ids=url_click_ids), TO)
    assert payload.get("adIdentifiers") == expected


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (EVENT_TIME, "2026-11-20T10:15:30Z"),
        (EVENT_TIME + 7, "2026-11-20T10:15:30.007Z"),
        (0, "1970-01-01T00:00:00Z"),
    ],
)
def test_times(moment: int, text: str) -> None:
    assert GOOGLE.build(make_conversion(event_time=moment), TO)["eventTimestamp"] == text


@pytest.mark.parametrize("amount", ["0", "-12.5", "123456789012.1234"])
def test_amounts(amount: str) -> None:
    assert GOOGLE.build(make_conversion(amount=Decimal(amount)), TO)["conversionValue"] == float(amount)
    assert GOOGLE.build(make_conversion(amount=None), TO).keys().isdisjoint({"conversionValue", "currency"})


@pytest.mark.parametrize(
    ("consent", "expected"),
    [
        (AdConsent(), None),
        (AdConsent(ad_user_data=True), {"adUserData": "CONSENT_GRANTED"}),
        (
            AdConsent(ad_user_data=True, ad_personalization=False),
            {"adUserData": "CONSENT_GRANTED", "adPersonalization": "CONSENT_DENIED"},
        ),
        (AdConsent(ad_user_data=False), {"adUserData": "CONSENT_DENIED"}),
    ],
)
def test_consent(consent: AdConsent, expected: dict[str, str] | None) -> None:
    payload = GOOGLE.build(make_conversion(consent=consent), TO)
    assert payload.get("consent") == expected
    assert ("userData" in payload) == (consent.ad_user_data is not False)


DENIED = AdConsent(ad_user_data=False)


@pytest.mark.parametrize(
    ("conversion", "settings", "reason"),
    [
        (CONVERSION, {}, None),
        (LEAD, {}, None),
        (BARE, {}, SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, ip="203.0.113.9", user_agent="x"), {}, SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, person=ConvertedPerson(external_id="x")), {}, SkipReason.NO_IDENTIFIER),
        (make_conversion(BARE, person=ConvertedPerson(email="a@example.com")), {}, None),
        (make_conversion(BARE, person=ConvertedPerson(phone="+16505551212")), {}, None),
        (make_conversion(currency=None), {}, SkipReason.NO_CURRENCY),
        (make_conversion(amount=None, currency=None), {}, None),
        (make_conversion(consent=DENIED), {}, None),
        (make_conversion(consent=DENIED), {"consent_denied": "skip"}, SkipReason.NO_CONSENT),
        (make_conversion(consent=DENIED, click=None), {}, SkipReason.NO_CONSENT),
        (make_conversion(consent=AdConsent(ad_personalization=False)), {"consent_denied": "skip"}, None),
    ],
)
def test_skip_reason(conversion: Conversion, settings: dict[str, Any], reason: SkipReason | None) -> None:
    assert GOOGLE.skip_reason(conversion, make_destination(**settings)) == reason


@pytest.fixture(scope="module")
def key() -> str:
    private_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return private_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def account(key: str, **settings: str) -> dict[str, str]:
    fields = {"type": "service_account", "client_email": "h@p.iam.example", "private_key": key}
    return {"service_account_json": json.dumps(fields | settings)}


def ask(destination: Destination) -> tuple[str, dict[str, str]]:
    call = GOOGLE.token_request(destination, NOW)
    assert call is not None
    assert call.content_type == "application/x-www-form-urlencoded"
    return call.url, {name: values[0] for name, values in parse_qs(call.body.decode()).items()}


def test_a_service_account_signs_for_itself(key: str) -> None:
    url, form = ask(make_destination(account(key, private_key_id="k1")))
    assert url == "https://oauth2.googleapis.com/token"
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    public = serialization.load_pem_private_key(key.encode(), None).public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    token = jwt.decode(form["assertion"], RSAKey.import_key(pem))
    assert token.header == {"typ": "JWT", "alg": "RS256", "kid": "k1"}
    assert token.claims == {
        "iss": "h@p.iam.example",
        "scope": "https://www.googleapis.com/auth/datamanager",
        "aud": "https://oauth2.googleapis.com/token",
        "iat": 1_795_170_000,
        "exp": 1_795_173_600,
    }


def test_a_refresh_token_is_exchanged() -> None:
    url, form = ask(TO)
    assert url == "https://oauth2.googleapis.com/token"
    assert form == {"grant_type": "refresh_token", **REFRESH}


def test_the_token_comes_from_where_google_is_said_to_be(key: str) -> None:
    other_destination = msgspec.structs.replace(make_destination(account(key)), url="http://127.0.0.1:9")
    assert ask(other_destination)[0] == "http://127.0.0.1:9/token"
    configured_destination = msgspec.structs.replace(
        make_destination(token_url="https://t.example/x"), url="http://127.0.0.1:9"
    )
    assert ask(configured_destination)[0] == "https://t.example/x"


@pytest.mark.parametrize(
    "secrets",
    [
        {},
        {"client_id": "i"},
        {"client_id": "i", "client_secret": "s", "refresh_token": ""},
        {"service_account_json": "{"},
        {"service_account_json": "[]"},
        {"service_account_json": '{"client_email": "a"}'},
        {"service_account_json": '{"client_email": "a", "private_key": "sesame"}'},
        {"service_account_json": '{"client_email": "a", "private_key": 1}'},
        {"service_account_json": '{"client_email": "a", "private_key": {"kty": "RSA"}}'},
        {"service_account_json": '{"client_email": null, "private_key": null}'},
    ],
)
def test_secrets_that_cannot_be_used(secrets: dict[str, str]) -> None:
    problem = GOOGLE.secrets_problem(secrets)
    assert problem is not None
    assert "service_account_json" in problem
    assert "sesame" not in problem
    with pytest.raises(ValueError, match="service_account_json"):
        ask(make_destination(secrets))


def test_a_public_key_signs_nothing(key: str) -> None:
    public = serialization.load_pem_private_key(key.encode(), None).public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    assert GOOGLE.secrets_problem(account(pem.decode())) is not None


def test_complete_secrets_are_accepted(key: str) -> None:
    assert GOOGLE.secrets_problem(REFRESH) is None
    assert GOOGLE.secrets_problem(account(key)) is None
