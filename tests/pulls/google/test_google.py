"""Spend of a Google Ads account."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs

import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt

from headwater.spend.platforms.google import Google, GoogleSettings
from headwater.spend.platforms.platform import Credentials
from tests.pulls.behaviour import check_clock_change, check_correction, check_ledger, check_names
from tests.pulls.books import Books, fill
from tests.pulls.google.pretend import EXPIRED, MANAGER, SECRETS, PretendGoogle, error
from tests.pulls.staging import TODAY, Pulls
from tests.support.fake_platform import Answer, FakePlatform
from tests.support.wire import Received

SETTINGS = {"customer_id": "1234567890", "login_customer_id": MANAGER}


@pytest.fixture
def google() -> PretendGoogle:
    return PretendGoogle(fill(Books(), TODAY))


@pytest.fixture
def books(google: PretendGoogle) -> Books:
    return google.books


@pytest.fixture
def platform(pulls: Pulls, google: PretendGoogle) -> Iterator[FakePlatform]:
    with FakePlatform(otherwise=google) as platform:
        pulls.urls["google"] = platform.url
        yield platform


@pytest.mark.usefixtures("platform")
def test_it_works(pulls: Pulls, books: Books) -> None:
    connection = pulls.connect("google", SETTINGS, SECRETS)
    pulls.pull()
    check_ledger(pulls, books)
    check_names(pulls, books)
    state = pulls.state(connection)
    assert (state.account_name, state.currency, state.timezone) == ("Main shop", "EUR", "Europe/Berlin")
    assert (state.status, state.fault, state.failures, state.history_share) == ("active", None, 0, 1.0)
    first = next(row for row in pulls.rows() if row[3:6] == ("11", "111", "1111"))
    assert first[6:] == ("EUR", first[7], 1000, 20, 1, 0, "Europe/Berlin")


@pytest.mark.usefixtures("platform")
def test_a_correction_and_a_campaign_that_is_gone(pulls: Pulls, books: Books) -> None:
    check_correction(pulls, books, pulls.connect("google", SETTINGS, SECRETS))


@pytest.mark.usefixtures("platform")
def test_the_day_of_the_clock_change(pulls: Pulls, books: Books) -> None:
    check_clock_change(pulls, books, pulls.connect("google", SETTINGS, SECRETS))


def test_a_token_that_expires_on_the_third_page(
    pulls: Pulls, google: PretendGoogle, platform: FakePlatform
) -> None:
    google.page_size = 20

    def expire(request: Received) -> Answer:
        google.expire_tokens()
        return google(request)

    # The first three are the token, the account and the first page.
    platform.then(*[google] * 4, expire)
    pulls.connect("google", SETTINGS, SECRETS)
    pulls.pull()
    check_ledger(pulls, google.books)
    assert google.issued == 2
    pages = [body["pageToken"] for body in _bodies(platform) if "pageToken" in body]
    assert pages[:4] == ["20", "40", "40", "60"]


def test_answers_that_are_cut_off_or_throttled(pulls: Pulls, books: Books, platform: FakePlatform) -> None:
    token = Answer(body={"access_token": "ya29.0", "expires_in": 3599})
    short = {"quotaErrorDetails": {"retryDelay": "7s"}}
    platform.then(
        token,
        Answer(body=b'[{"results": [{"customer": {"id": "12'),
        error(429, "quotaError", "RESOURCE_TEMPORARILY_EXHAUSTED", details=short),
        error(500, "internalError", "TRANSIENT_ERROR"),
    )
    pulls.connect("google", SETTINGS, SECRETS)
    pulls.pull()
    check_ledger(pulls, books)
    assert pulls.waited == [1, 7, 16]


@pytest.mark.parametrize(
    ("answer", "fault", "status"),
    [
        (EXPIRED, "token", "held"),
        (Answer(401, [EXPIRED.body]), "token", "held"),
        (error(403, "authorizationError", "USER_PERMISSION_DENIED"), "permission", "held"),
        (error(403, "authorizationError", "DEVELOPER_TOKEN_NOT_APPROVED"), "permission", "held"),
        (error(403, "authorizationError", "CUSTOMER_NOT_ENABLED"), "account", "held"),
        (error(401, "authenticationError", "CUSTOMER_NOT_FOUND"), "account", "held"),
        (error(400, "requestError", "UNSUPPORTED_VERSION"), "version", "held"),
        (Answer(404, b"<html>Not Found</html>"), "version", "held"),
        (error(429, "quotaError", "RESOURCE_EXHAUSTED"), "throttled", "active"),
        (Answer(429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}), "throttled", "active"),
        (error(400, "queryError", "UNRECOGNIZED_FIELD"), "refused", "active"),
        (Answer(body=b'{"results": [{"customer'), "temporary", "active"),
        (Answer(503, b"<html>Error 503</html>"), "temporary", "active"),
        (Answer(body={"results": [{"customer": {"manager": True}}]}), "account", "held"),
        (Answer(body={"results": []}), "refused", "active"),
    ],
)
def test_faults(pulls: Pulls, google: PretendGoogle, answer: Answer, fault: str, status: str) -> None:
    def otherwise(request: Received) -> Answer:
        return google(request) if request.target == "/token" else answer

    with FakePlatform(otherwise=otherwise) as platform:
        pulls.urls["google"] = platform.url
        connection = pulls.connect("google", SETTINGS, SECRETS)
        pulls.pull()
    state = pulls.state(connection)
    assert (state.fault, state.status, state.failures) == (fault, status, 1)
    assert not any(secret in (state.fault_message or "") for secret in SECRETS.values())


def test_a_long_quota_ends_the_pull_until_then(pulls: Pulls, google: PretendGoogle) -> None:
    details = {"quotaErrorDetails": {"rateScope": "DEVELOPER", "retryDelay": "7200s"}}
    exhausted = error(429, "quotaError", "RESOURCE_EXHAUSTED", details=details)
    with FakePlatform(google, otherwise=exhausted) as platform:
        pulls.urls["google"] = platform.url
        connection = pulls.connect("google", SETTINGS, SECRETS)
        pulls.pull()
        assert len(platform.requests) == 2
    assert pulls.state(connection).next_pull_at.startswith("2026-11-25T14:00:00")


def test_a_revoked_refresh_token(pulls: Pulls, platform: FakePlatform) -> None:
    connection = pulls.connect("google", SETTINGS, SECRETS | {"refresh_token": "1//revoked"})
    pulls.pull()
    state = pulls.state(connection)
    assert (state.fault, state.status) == ("token", "held")
    assert "invalid_grant" in (state.fault_message or "")
    assert len(platform.requests) == 1


def test_a_service_account_requests_the_scope_of_google_ads() -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    account = msgspec.json.encode({"client_email": "h@p.iam.example", "private_key": key.decode()}).decode()
    settings = GoogleSettings(customer_id="1234567890")
    secrets = {"developer_token": "t", "service_account_json": account}
    credentials = Credentials(space_id=1, id=1, url=Google.url, settings=settings, secrets=secrets)
    request = Google().token_request(credentials, 1_700_000_000)
    assert request.url == "https://oauth2.googleapis.com/token"
    claims = jwt.decode(parse_qs(request.body.decode())["assertion"][0], verify=False)
    assert claims["scope"] == "https://www.googleapis.com/auth/adwords"
    assert "login-customer-id" not in Google().authorize(request, credentials).headers


def _bodies(platform: FakePlatform) -> list[dict[str, str]]:
    return [msgspec.json.decode(r.body) for r in platform.requests if r.target != "/token"]
