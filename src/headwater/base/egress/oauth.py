"""Requests to OAuth 2.0 token endpoints, their answers, and the assertions of service accounts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from headwater.base.egress.answers import is_temporary, join_error_texts, read_object, succeeded
from headwater.base.egress.calls import make_form_call
from headwater.base.egress.models import EgressRequest, EgressResponse

REFRESHING = ("client_id", "client_secret", "refresh_token")
"""The secrets that request an access token."""
SERVICE_ACCOUNT = "service_account_json"
GOOGLE_TOKEN_URL = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
LINKEDIN_TOKEN_URL = "https://www.linkedin.com/oauth/v2/accessToken"  # noqa: S105 - an address
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
"""For assertions of service accounts."""
ASSERTION_SECONDS = 3600
_SHORTEST_LIFE = 60.0
# Temporary errors (the first two from RFC 6749).
_TEMPORARY_ERRORS = frozenset({"server_error", "temporarily_unavailable", "rate_limit_exceeded"})


class IssuedToken(NamedTuple):
    text: str
    seconds: float
    """Its lifetime."""
    refresh_token: str | None = None
    """A new one that replaces the old one."""


class TokenError(NamedTuple):
    text: str
    is_temporary: bool


def read_token(answer: EgressResponse) -> IssuedToken | TokenError:
    body = read_object(answer)
    if body is None:
        return TokenError(f"The token endpoint answered HTTP {answer.status} without JSON.", True)
    token = body.get("access_token")
    if succeeded(answer) and isinstance(token, str) and token:
        refresh_token = body.get("refresh_token")
        return IssuedToken(
            token,
            _read_lifetime(body.get("expires_in")),
            refresh_token if isinstance(refresh_token, str) and refresh_token else None,
        )
    error = body.get("error")
    text = join_error_texts(
        "No access token was issued", f"HTTP {answer.status}", error, body.get("error_description")
    )
    return TokenError(text, error in _TEMPORARY_ERRORS or is_temporary(answer.status))


def _read_lifetime(seconds: Any) -> float:
    return max(float(seconds), _SHORTEST_LIFE) if isinstance(seconds, int | float) else 3600.0


def can_refresh(secrets: Mapping[str, str]) -> bool:
    return all(secrets.get(name) for name in REFRESHING)


def make_refresh_call(url: str, secrets: Mapping[str, str]) -> EgressRequest:
    return make_form_call(url, grant_type="refresh_token", **{name: secrets[name] for name in REFRESHING})


def find_google_problem(secrets: Mapping[str, str]) -> str | None:
    """Check the secrets of a service account or a user at Google, for the operator."""
    if not secrets.get(SERVICE_ACCOUNT):
        advice = f"Give {SERVICE_ACCOUNT}, or all of client_id, client_secret and refresh_token."
        return None if can_refresh(secrets) else advice
    try:
        _read_key(_read_account(secrets[SERVICE_ACCOUNT]))
    except ValueError as problem:
        return str(problem)
    return None


def make_google_call(url: str, secrets: Mapping[str, str], scope: str, current_time: float) -> EgressRequest:
    """Request a token of a service account or a user at Google. Raises ValueError for bad secrets."""
    if problem := find_google_problem(secrets):
        raise ValueError(problem)
    if not secrets.get(SERVICE_ACCOUNT):
        return make_refresh_call(url, secrets)
    assertion = sign_assertion(secrets[SERVICE_ACCOUNT], scope, GOOGLE_TOKEN_URL, int(current_time))
    return make_form_call(url, grant_type=GRANT, assertion=assertion)


def find_linkedin_problem(secrets: Mapping[str, str]) -> str | None:
    """Check the secrets of a user at LinkedIn, for the operator."""
    if can_refresh(secrets) or (secrets.get("access_token") and not secrets.get("refresh_token")):
        return None
    return "Give access_token, or all of client_id, client_secret and refresh_token."


def make_linkedin_call(url: str, secrets: Mapping[str, str]) -> EgressRequest | None:
    """Request a token of a user at LinkedIn; None if the secrets have it. Raises ValueError for bad ones."""
    if problem := find_linkedin_problem(secrets):
        raise ValueError(problem)
    return make_refresh_call(url, secrets) if secrets.get("refresh_token") else None


def sign_assertion(key_file: str, scope: str, audience: str, current_time: int) -> str:
    """Sign a service account's request for a token. Raises ValueError for a bad JSON key file."""
    account = _read_account(key_file)
    claims = {
        "iss": account["client_email"],
        "scope": scope,
        # The issuer, even through another host.
        "aud": account.get("token_uri") or audience,
        "iat": current_time,
        "exp": current_time + ASSERTION_SECONDS,
    }
    header: dict[str, Any] = {"typ": "JWT", "alg": "RS256"}
    if isinstance(account.get("private_key_id"), str):
        header["kid"] = account["private_key_id"]
    return jws.serialize_compact(header, msgspec.json.encode(claims), _read_key(account))


def _read_account(text: str) -> dict[str, Any]:
    try:
        account: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise ValueError("service_account_json is not JSON.") from None
    if not isinstance(account, dict) or not {"client_email", "private_key"} <= account.keys():
        raise ValueError("service_account_json has no client_email and private_key.")
    return cast("dict[str, Any]", account)


def _read_key(account: dict[str, Any]) -> RSAKey:
    try:
        key = RSAKey.import_key(str(account["private_key"]))
    except (ValueError, TypeError, JoseError, UnsupportedAlgorithm):
        key = None
    if key is None or not key.is_private:
        # The cause may quote the key.
        raise ValueError("service_account_json has a private_key that cannot be read.")
    return key
