"""Spend of a Google Ads account."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from urllib.parse import parse_qs

import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc import jwt
from joserfc.jwk import RSAKey

from headwater.spend.platforms.google import GoogleSpend, GoogleSpendSettings
from headwater.spend.platforms.platform import Credentials
from tests.pulls import checks
from tests.pulls.books import Books, fill
from tests.pulls.google.pretend import EXPIRED, MANAGER, SECRETS, PretendGoogle, error
from tests.pulls.staging import TODAY, Pulls
from tests.support.fake_platform import Answer

SETTINGS = {"customer_id": "1234567890", "login_customer_id": MANAGER}
GOOGLE = checks.Subject("google", SETTINGS, SECRETS, PretendGoogle)
IN_PAGES = replace(GOOGLE, pretend=partial(PretendGoogle, page_size=4))


def test_it_works(pulls: Pulls) -> None:
    checks.check_first_pull(pulls, GOOGLE)
    first = next(row for row in pulls.rows() if row[3:6] == ("11", "111", "1111"))
    assert first[10:12] == (1, 0)
    assert checks.read_names(pulls, "google")["adset", "112"] == "Name of 112"


def test_corrections(pulls: Pulls) -> None:
    checks.check_corrections(pulls, GOOGLE)


def test_the_day_of_the_clock_change(pulls: Pulls) -> None:
    checks.check_clock_change(pulls, GOOGLE)


def test_today_is_the_account_s(pulls: Pulls) -> None:
    checks.check_today_in_zone(pulls, GOOGLE)


def test_pages(pulls: Pulls) -> None:
    platform = checks.check_first_pull(pulls, IN_PAGES, fill(Books(), TODAY, days=5))
    bodies = [request.json() for request in platform.requests if request.target != "/token"]
    assert [body.get("pageToken") for body in bodies[1:7]] == [None, "4", "8", "12", None, "4"]


def test_a_token_that_expires_on_the_third_page(pulls: Pulls) -> None:
    checks.check_expired_token(pulls, IN_PAGES, EXPIRED, is_renewed=True)


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
        (error(500, "internalError", "TRANSIENT_ERROR"), "temporary", "active"),
        (error(400, "queryError", "UNRECOGNIZED_FIELD"), "refused", "active"),
        (Answer(body=b'{"results": [{"customer'), "temporary", "active"),
        (Answer(503, b"<html>Error 503</html>"), "temporary", "active"),
        (Answer(body={"results": [{"customer": {"manager": True}}]}), "account", "held"),
        (Answer(body={"results": []}), "refused", "active"),
    ],
)
def test_faults(pulls: Pulls, answer: Answer, fault: str, status: str) -> None:
    checks.check_fault(pulls, GOOGLE, answer, (fault, status), request_count=0)


def test_short_faults_are_waited_for(pulls: Pulls) -> None:
    short = {"quotaErrorDetails": {"retryDelay": "7s"}}
    throttling = error(429, "quotaError", "RESOURCE_TEMPORARILY_EXHAUSTED", details=short)
    cut_answer = Answer(body=b'{"results": [{"campaign": {"id": "12')
    books = fill(Books(), TODAY, days=3)
    reaction = checks.interrupt(checks.interrupt(PretendGoogle(books), cut_answer, 2, 1), throttling, 2, 1)
    with checks.serve_platform(pulls, GOOGLE, reaction):
        GOOGLE.connect(pulls)
        pulls.pull()
    checks.check_books(pulls, books)
    assert pulls.waits == [7, 4]


def test_a_long_quota_ends_the_pull_until_then(pulls: Pulls) -> None:
    details = {"quotaErrorDetails": {"rateScope": "DEVELOPER", "retryDelay": "7200s"}}
    exhaustion = error(429, "quotaError", "RESOURCE_EXHAUSTED", details=details)
    state = checks.pull_with_fault(pulls, GOOGLE, exhaustion)
    assert state.next_pull_at.startswith("2026-11-25T14:00:00")
    assert pulls.waits == []


def test_a_revoked_refresh_token(pulls: Pulls) -> None:
    with checks.serve_platform(pulls, GOOGLE, PretendGoogle(Books())) as platform:
        connection = pulls.connect("google", SETTINGS, SECRETS | {"refresh_token": "1//revoked"})
        pulls.pull()
    state = pulls.state(connection)
    assert (state.fault, state.status) == ("token", "held")
    assert len(platform.requests) == 1


def test_a_service_account_requests_the_scope_of_google_ads() -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    account = msgspec.json.encode({"client_email": "h@p.iam.example", "private_key": key.decode()}).decode()
    settings = GoogleSpendSettings(customer_id="1234567890")
    secrets = {"developer_token": "t", "service_account_json": account}
    credentials = Credentials(space_id=1, id=1, url=GoogleSpend.url, settings=settings, secrets=secrets)
    request = GoogleSpend().token_request(credentials, 1_700_000_000)
    assert request.url == "https://oauth2.googleapis.com/token"
    claims = jwt.decode(parse_qs(request.body.decode())["assertion"][0], RSAKey.import_key(key)).claims
    assert claims["scope"] == "https://www.googleapis.com/auth/adwords"
    assert "login-customer-id" not in GoogleSpend().authorize(request, credentials).headers
