"""Providers and strangers that lie: each is refused with its reason, on a page that says what to do."""

from __future__ import annotations

import base64
import hmac
import time
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import psycopg
import pytest
import structlog
from joserfc import jwt
from joserfc.jwk import ECKey

from headwater.spaces.sso import documents, sign_in
from headwater.spaces.sso.id_tokens import LOGOUT_EVENT, hash_access_token
from headwater.spaces.sso.refusals import SsoReason, SsoRefused
from tests.sso.fake_provider import DOMAIN, SECRET, Desk, FakeProvider, parameters, signing_key
from tests.support.fake_platform import Answer, GzipBomb, Huge, Raw, Redirect, Silence

DISCOVERY = "/.well-known/openid-configuration"


def check_refusal(response: httpx.Response, reason: SsoReason) -> None:
    """Check that the refusal is a readable page and that no user is logged in."""
    assert f"<code>{reason}</code>" in response.text, response.text
    assert response.status_code == (503 if reason is SsoReason.PROVIDER_UNREACHABLE else 403)
    refusal = SsoRefused(reason)
    assert refusal.advice in response.text
    assert "headwater_session" not in response.cookies
    assert 'href="/login"' in response.text


def test_it_works(desk: Desk, connection: psycopg.Connection) -> None:
    fake, browser = desk.make(), desk.browser()
    page = browser.get("/login", params={"next": "/console/account"})
    assert f'href="/login/sso/{fake.name}?next=/console/account"' in page.text
    query = desk.begin(browser, fake, "/console/account?x=1")
    assert query["code_challenge_method"] == "S256"
    assert query["redirect_uri"] == f"{desk.running.base_url}/login/sso/{fake.name}/callback"
    assert query["scope"] == "openid email profile"
    answer = desk.return_answer(browser, fake, desk.answer(fake, query))
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/account?x=1")
    assert f"ada-{fake.name}@{DOMAIN}" in browser.get("/console/account").text
    cookies = [
        line for line in answer.headers.get_list("set-cookie") if line.startswith("headwater_session=")
    ]
    assert "HttpOnly" in cookies[0]
    row = connection.execute(
        "SELECT u.name, s.provider FROM users u JOIN sso_identities i ON i.user_id = u.id"
        " JOIN sessions s ON s.user_id = u.id WHERE i.provider = %s AND i.subject = %s",
        (fake.name, fake.account["sub"]),
    ).fetchone()
    assert row == ("Ada", fake.name)


CLAIMS: list[tuple[dict[str, Any], SsoReason]] = [
    ({"iss": "https://evil.example"}, SsoReason.ISSUER),
    ({"iss": None}, SsoReason.ISSUER),
    ({"aud": "another"}, SsoReason.AUDIENCE),
    ({"aud": None}, SsoReason.AUDIENCE),
    ({"aud": ["client", "another"]}, SsoReason.AUDIENCE),
    ({"aud": ["client", "another"], "azp": "another"}, SsoReason.AUDIENCE),
    ({"azp": "another"}, SsoReason.AUDIENCE),
    ({"nonce": "n"}, SsoReason.NONCE),
    ({"nonce": None}, SsoReason.NONCE),
    ({"exp": 1}, SsoReason.TOKEN_EXPIRED),
    ({"exp": "tomorrow"}, SsoReason.MALFORMED_TOKEN),
    ({"exp": None}, SsoReason.MALFORMED_TOKEN),
    ({"exp": float("nan")}, SsoReason.MALFORMED_TOKEN),
    ({"iat": True}, SsoReason.MALFORMED_TOKEN),
    ({"iat": 10**12}, SsoReason.TOKEN_NOT_YET_VALID),
    ({"nbf": 10**12}, SsoReason.TOKEN_NOT_YET_VALID),
    ({"nbf": "x"}, SsoReason.MALFORMED_TOKEN),
    ({"at_hash": "x"}, SsoReason.ACCESS_TOKEN_HASH),
    ({"sub": None}, SsoReason.NO_SUBJECT),
    ({"sub": 7}, SsoReason.NO_SUBJECT),
    ({"sub": "x" * 256}, SsoReason.NO_SUBJECT),
    ({"sub": "a\0b"}, SsoReason.NO_SUBJECT),
    ({"email": None}, SsoReason.NO_EMAIL),
    ({"email": ["a@acme.example"]}, SsoReason.NO_EMAIL),
    ({"email": "no address"}, SsoReason.NO_EMAIL),
    ({"email_verified": False}, SsoReason.EMAIL_NOT_VERIFIED),
    ({"email_verified": None}, SsoReason.EMAIL_NOT_VERIFIED),
    ({"email_verified": "yes"}, SsoReason.EMAIL_NOT_VERIFIED),
    ({"email": "eve@evil.example"}, SsoReason.DOMAIN),
    ({"email": f"eve@{DOMAIN}.evil.example"}, SsoReason.DOMAIN),
    ({"email": f"eve@sub.{DOMAIN}"}, SsoReason.DOMAIN),
    ({"email": f'"eve@{DOMAIN}"@evil.example'}, SsoReason.DOMAIN),
]


@pytest.mark.parametrize(("claims", "reason"), CLAIMS)
def test_claims_of_an_id_token(desk: Desk, claims: dict[str, Any], reason: SsoReason) -> None:
    fake = desk.make({"claims": claims})
    with structlog.testing.capture_logs() as logs:
        check_refusal(desk.sign_in(fake), reason)
    (line,) = [line for line in logs if line["event"] == "sso_refused"]
    assert line == {
        "event": "sso_refused", "log_level": "warning", "provider": fake.name, "reason": reason,
    }  # fmt: skip


def test_claims_that_are_fine(desk: Desk) -> None:
    current_time = int(time.time())
    claims = {
        "aud": ["client", "api"], "azp": "client", "iat": current_time + 30, "nbf": current_time + 30,
        "exp": current_time - 30, "email_verified": "true", "at_hash": hash_access_token("RS256", "at"),
        "email": f" Ada.{current_time}@ACME.example",
    }  # fmt: skip
    assert desk.sign_in(desk.make({"claims": claims})).status_code == 303


def forge(header: dict[str, Any], claims: dict[str, Any], key: Any) -> str:
    return jwt.encode({"kid": "first", **header}, claims, key)


def swap_body(fake: FakeProvider, claims: dict[str, Any]) -> str:
    head, _, signature = fake.sign(claims).split(".")
    body = fake.sign({**claims, "sub": "eve"}).split(".")[1]
    return f"{head}.{body}.{signature}"


FORGERIES: dict[str, Callable[[FakeProvider, dict[str, Any]], str]] = {
    "none": lambda fake, claims: f"eyJhbGciOiJub25lIn0.{fake.sign(claims).split('.')[1]}.",
    "public key as a secret": lambda fake, claims: sign_by_hand(fake.key.as_pem(private=False), claims),
    "client secret": lambda _, claims: sign_by_hand(SECRET.encode(), claims),
    "another key, same name": lambda _, claims: forge({"alg": "RS256"}, claims, signing_key("second")),
    "a key of its own": lambda _, claims: forge(
        {"alg": "RS256", "jwk": signing_key("second").as_dict(private=False)}, claims, signing_key("second")
    ),
    "an unknown key": lambda _, claims: forge(
        {"alg": "RS256", "kid": "second"}, claims, signing_key("second")
    ),
    "another kind of key": lambda _, claims: forge({"alg": "ES256"}, claims, ECKey.generate_key("P-256")),
    "changed": swap_body,
}


def sign_by_hand(secret: bytes, claims: dict[str, Any]) -> str:
    """Sign claims with HS256 and any secret."""
    parts = [b'{"alg":"HS256","kid":"first"}', msgspec.json.encode(claims)]
    text = b".".join(base64.urlsafe_b64encode(segment).rstrip(b"=") for segment in parts)
    signature = base64.urlsafe_b64encode(hmac.digest(secret, text, "sha256")).rstrip(b"=")
    return (text + b"." + signature).decode()


def forge_token(fake: FakeProvider, nonce: str, forgery: str) -> str:
    """Return a token that the provider never signed."""
    make = FORGERIES.get(forgery)
    return make(fake, fake.make_claims(nonce)) if make else forgery


@pytest.mark.parametrize(
    ("forgery", "reason"),
    [
        ("none", SsoReason.ALGORITHM),
        ("public key as a secret", SsoReason.ALGORITHM),
        ("client secret", SsoReason.ALGORITHM),
        ("another key, same name", SsoReason.SIGNATURE),
        ("a key of its own", SsoReason.SIGNATURE),
        ("an unknown key", SsoReason.UNKNOWN_KEY),
        ("another kind of key", SsoReason.UNKNOWN_KEY),
        ("changed", SsoReason.SIGNATURE),
        ("", SsoReason.MALFORMED_TOKEN),
        ("a.b", SsoReason.MALFORMED_TOKEN),
        ("....", SsoReason.MALFORMED_TOKEN),
        ("eyJhbGciOlsiUlMyNTYiXX0.e30.AA", SsoReason.MALFORMED_TOKEN),
        ("e30.e30.AA", SsoReason.MALFORMED_TOKEN),
        ("W10.e30.AA", SsoReason.MALFORMED_TOKEN),
        ("x" * 40_000, SsoReason.MALFORMED_TOKEN),
    ],
)  # fmt: skip
def test_forged_tokens(desk: Desk, forgery: str, reason: SsoReason) -> None:
    fake, browser = desk.make(), desk.browser()
    query = desk.begin(browser, fake)
    fake.id_token = forge_token(fake, query["nonce"], forgery) or "-"
    check_refusal(desk.return_answer(browser, fake, desk.answer(fake, query)), reason)


def test_an_answer_counts_once(desk: Desk) -> None:
    fake, browser = desk.make(), desk.browser()
    answer = desk.answer(fake, desk.begin(browser, fake))
    cookie = browser.cookies["headwater_sso"]
    assert desk.return_answer(browser, fake, answer).status_code == 303
    assert "headwater_sso" not in browser.cookies
    check_refusal(desk.return_answer(browser, fake, answer), SsoReason.NOT_STARTED_HERE)
    thief = desk.browser()
    thief.cookies.set("headwater_sso", cookie)
    fake.codes[answer["code"]] = {}  # even if the provider accepts the code again
    check_refusal(desk.return_answer(thief, fake, answer), SsoReason.USED_BEFORE)


def test_a_code_works_only_in_its_own_login(desk: Desk) -> None:
    """A stolen code fails at the provider, because its verifier is in another browser."""
    fake, victim, thief = desk.make(), desk.browser(), desk.browser()
    stolen_answer = desk.answer(fake, desk.begin(victim, fake))
    own_query = desk.begin(thief, fake)
    check_refusal(
        desk.return_answer(thief, fake, {**stolen_answer, "state": own_query["state"]}),
        SsoReason.CODE_REFUSED,
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"state": "other"}, SsoReason.WRONG_STATE),
        ({"state": "\u00e9"}, SsoReason.WRONG_STATE),
        ({"state": None}, SsoReason.WRONG_STATE),
        ({"iss": "https://evil.example"}, SsoReason.OTHER_PROVIDER),
        ({"iss": None}, SsoReason.OTHER_PROVIDER),
        ({"code": None}, SsoReason.PROVIDER_DECLINED),
        ({"code": "x" * 5000}, SsoReason.PROVIDER_DECLINED),
        ({"error": "access_denied"}, SsoReason.PROVIDER_DECLINED),
    ],
)
def test_answers_that_do_not_fit(desk: Desk, changes: dict[str, str | None], reason: SsoReason) -> None:
    fake, browser = desk.make(), desk.browser()
    answer: dict[str, Any] = desk.answer(fake, desk.begin(browser, fake)) | changes
    answer = {name: value for name, value in answer.items() if value is not None}
    check_refusal(desk.return_answer(browser, fake, answer), reason)
    assert "/token" not in fake.calls


def test_an_answer_without_a_login(desk: Desk) -> None:
    fake = desk.make()
    for cookie in (None, "x", "AAAA" * 20, "\u00e9"):
        browser = desk.browser()
        headers = {} if cookie is None else {"Cookie": f"headwater_sso={cookie}".encode("latin-1")}
        page = browser.get(f"/login/sso/{fake.name}/callback?code=c&state=s", headers=headers)
        check_refusal(page, SsoReason.NOT_STARTED_HERE)


def test_providers_are_not_mixed_up(desk: Desk) -> None:
    """An attacker's provider gets neither the code nor the login of an honest one."""
    honest, evil, browser = desk.make(), desk.make(), desk.browser()
    query = desk.begin(browser, evil)
    answer = desk.answer(honest, query)
    check_refusal(desk.return_answer(browser, evil, answer), SsoReason.OTHER_PROVIDER)  # by its `iss`
    desk.begin(browser, evil)
    check_refusal(
        desk.return_answer(browser, honest, answer), SsoReason.OTHER_PROVIDER
    )  # by the login's provider
    assert not {"/token", "/jwks"} & {*honest.calls, *evil.calls}


def test_a_login_that_took_too_long(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    fake, browser = desk.make(), desk.browser()
    answer = desk.answer(fake, desk.begin(browser, fake))
    monkeypatch.setattr(sign_in, "SIGN_IN_SECONDS", -1)
    check_refusal(desk.return_answer(browser, fake, answer), SsoReason.SIGN_IN_EXPIRED)


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)",
        "/\t/evil.example", "/%0d%0aset-cookie:x", "", "console", "\\\\evil.example", "/" + "x" * 3000,
        "/" + "\u4e16" * 1000,
    ],
)  # fmt: skip
def test_no_open_redirect(desk: Desk, target: str) -> None:
    answer = desk.sign_in(desk.make(), next_path=target)
    assert answer.status_code == 303
    location = answer.headers["location"]
    assert location == ("/%0d%0aset-cookie:x" if target.startswith("/%0d") else "/console")


RSA = {"kty": "RSA", "e": "AQAB"}
DOCUMENTS: list[tuple[str, Any, SsoReason]] = [
    (DISCOVERY, Answer(body={"issuer": "https://evil.example"}), SsoReason.PROVIDER_DOCUMENT),
    (DISCOVERY, Answer(404), SsoReason.PROVIDER_DOCUMENT),
    (DISCOVERY, Answer(body=b"<html>"), SsoReason.PROVIDER_DOCUMENT),
    (DISCOVERY, Answer(body=b"[" * 60_000), SsoReason.PROVIDER_DOCUMENT),
    (DISCOVERY, Huge(1 << 24), SsoReason.PROVIDER_DOCUMENT),
    (DISCOVERY, GzipBomb(1 << 24), SsoReason.PROVIDER_DOCUMENT),
    (DISCOVERY, Silence(), SsoReason.PROVIDER_UNREACHABLE),
    (DISCOVERY, Redirect("http://127.0.0.1:9/"), SsoReason.PROVIDER_DOCUMENT),
    (DISCOVERY, Raw(b"?"), SsoReason.PROVIDER_UNREACHABLE),
    ("/jwks", Answer(body={"keys": []}), SsoReason.PROVIDER_DOCUMENT),
    ("/jwks", Answer(body={"keys": [None, 1, {}, {"kty": "RSA"}]}), SsoReason.PROVIDER_DOCUMENT),
    ("/jwks", Answer(body={"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}), SsoReason.PROVIDER_DOCUMENT),
    ("/jwks", Answer(body={"keys": [RSA | {"n": "A" * 170}]}), SsoReason.PROVIDER_DOCUMENT),
    ("/jwks", Answer(body={"keys": [RSA | {"n": "_" * 50_000}]}), SsoReason.PROVIDER_DOCUMENT),
    ("/jwks", Huge(1 << 24, has_length=False), SsoReason.PROVIDER_DOCUMENT),
    ("/jwks", Silence(), SsoReason.PROVIDER_UNREACHABLE),
    ("/token", Answer(400, {"error": "invalid_client"}), SsoReason.CODE_REFUSED),
    ("/token", Answer(body=[]), SsoReason.CODE_REFUSED),
    ("/token", Answer(body={"access_token": "a"}), SsoReason.MALFORMED_TOKEN),
    ("/token", Huge(1 << 24), SsoReason.CODE_REFUSED),
    ("/token", Silence(), SsoReason.PROVIDER_UNREACHABLE),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "step", "reason"), DOCUMENTS, ids=[f"{n} {path}" for n, (path, *_) in enumerate(DOCUMENTS)]
)
def test_documents(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, path: str, step: Any, reason: SsoReason
) -> None:
    if isinstance(step, Silence):
        monkeypatch.setattr(documents, "FETCH_SECONDS", 0.2)
    fake, browser = desk.make({"steps": {path: step}}), desk.browser()
    answer = browser.get(f"/login/sso/{fake.name}")
    if answer.status_code == 303:
        query = parameters(answer.headers["location"])
        answer = desk.return_answer(browser, fake, desk.answer(fake, query))
    check_refusal(answer, reason)


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"}, {"issuer": None}, {"authorization_endpoint": "http://[x"},
        {"authorization_endpoint": "javascript:alert(1)"}, {"authorization_endpoint": "http://a@b/"},
        {"authorization_endpoint": 7}, {"end_session_endpoint": "data:text/html,x"},
    ],
)  # fmt: skip
def test_discovery_that_must_not_be_followed(desk: Desk, metadata: dict[str, Any]) -> None:
    page = desk.browser().get(f"/login/sso/{desk.make({'metadata': metadata}).name}")
    check_refusal(page, SsoReason.ISSUER if "https" in str(metadata) else SsoReason.PROVIDER_DOCUMENT)


def test_an_issuer_with_tls_has_no_addresses_without() -> None:
    body = b'{"issuer":"https://a.example","authorization_endpoint":"http://a.example/x","token_endpoint":"","jwks_uri":""}'
    with pytest.raises(SsoRefused):
        documents.read_metadata(body, "https://a.example")


@pytest.mark.parametrize("path", ["token_endpoint", "jwks_uri"])
def test_only_listed_hosts_may_be_private(desk: Desk, path: str) -> None:
    """A provider cannot make this server call into its own network."""
    fake = desk.make({"metadata": {path: "http://localhost:9/x"}})
    check_refusal(desk.sign_in(fake), SsoReason.PROVIDER_UNREACHABLE)


def test_documents_are_cached_and_keys_are_fetched_rarely(desk: Desk) -> None:
    fake = desk.make()
    for _ in range(3):
        assert desk.sign_in(fake).status_code == 303
    assert fake.calls.count(DISCOVERY) == fake.calls.count("/jwks") == 1
    fake.key = signing_key("second")
    fake.published[:] = [fake.key.as_dict(private=False)]
    assert desk.sign_in(fake).status_code == 303  # a rotated key is found at once
    assert fake.calls.count("/jwks") == 2
    fake.key = signing_key("third")
    for _ in range(10):
        check_refusal(desk.sign_in(fake), SsoReason.UNKNOWN_KEY)
    assert fake.calls.count("/jwks") == documents.FETCHES_A_MINUTE


def test_a_failure_is_remembered_for_seconds(desk: Desk) -> None:
    fake = desk.make({"steps": {DISCOVERY: Answer(500)}})
    browser = desk.browser()
    for _ in range(5):
        check_refusal(browser.get(f"/login/sso/{fake.name}"), SsoReason.PROVIDER_DOCUMENT)
    assert len(fake.calls) == 1


def test_userinfo_is_of_the_same_person(desk: Desk) -> None:
    metadata = {"userinfo_endpoint": "set below"}
    fake = desk.make({"metadata": metadata, "claims": {"email": None, "email_verified": None}})
    metadata["userinfo_endpoint"] = f"{fake.issuer}/userinfo"
    userinfo = {"email": f"info-{fake.name}@{DOMAIN}", "email_verified": True}
    fake.userinfo = {**userinfo, "sub": "another"}
    check_refusal(desk.sign_in(fake), SsoReason.USERINFO)
    fake.userinfo = {**userinfo, "sub": fake.account["sub"], "iss": "x", "nonce": "x"}
    browser = desk.browser()
    assert desk.sign_in(fake, browser).status_code == 303
    assert userinfo["email"] in browser.get("/console/account").text


def test_unknown_providers_and_attempts(desk: Desk) -> None:
    browser = desk.browser()
    for path in ("/login/sso/none", "/login/sso/none/callback", "/login/sso/none/x", "/login/sso/%00"):
        assert browser.get(path).status_code == 404
    fake = desk.make({"claims": {"nonce": "n"}})
    for _ in range(30):
        check_refusal(desk.sign_in(fake, browser), SsoReason.NONCE)
    check_refusal(desk.sign_in(fake, browser), SsoReason.TOO_MANY_ATTEMPTS)


def test_logouts_that_are_refused(desk: Desk) -> None:
    fake, browser = desk.make({"claims": {"sid": "s1"}}), desk.browser()
    desk.sign_in(fake, browser)
    good = fake.make_claims("n") | {"events": {LOGOUT_EVENT: {}}, "sid": "s1"}
    del good["nonce"]

    def report(text: str) -> int:
        return desk.browser().post(f"/login/sso/{fake.name}/logout", data={"logout_token": text}).status_code

    for change in (
        {"iss": "x"}, {"aud": "x"}, {"exp": 1}, {"events": {}}, {"events": None}, {"nonce": "n"},
        {"iat": 10**12}, {"sub": None, "sid": None},
    ):  # fmt: skip
        assert report(fake.sign(good | change)) == 400, change
    assert report(forge_token(fake, "n", "none")) == report("x") == report("") == 400
    assert browser.get("/console/account").status_code == 200
    token = fake.sign(good)
    assert report(token) == 200
    assert browser.get("/console/account").status_code == 303
    desk.sign_in(fake, browser)
    assert report(token) == 400  # a replayed token ends no session
    assert browser.get("/console/account").status_code == 200
