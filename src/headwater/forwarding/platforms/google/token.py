"""Tokens for a service account or a user's refresh token. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from google.auth import crypt, jwt
from google.auth.exceptions import GoogleAuthError

from headwater.base.egress.models import EgressRequest
from headwater.forwarding.platforms.google.settings import GoogleSettings
from headwater.forwarding.platforms.models import Destination
from headwater.forwarding.platforms.oauth import exchange

URL = "https://datamanager.googleapis.com"
TOKEN_URL = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
SCOPE = "https://www.googleapis.com/auth/datamanager"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
LIFE = 3600

_BY_USER = ("client_id", "client_secret", "refresh_token")
_ACCOUNT = "service_account_json"
_NEEDED = "Give service_account_json, or all of client_id, client_secret and refresh_token."


def secrets_problem(secrets: Mapping[str, str]) -> str | None:
    if secrets.get(_ACCOUNT):
        try:
            _signer(_account(secrets[_ACCOUNT]))
        except ValueError as problem:
            return str(problem)
        return None
    return None if all(secrets.get(name) for name in _BY_USER) else _NEEDED


def request(destination: Destination, current_time: float) -> EgressRequest:
    """Raise ValueError for bad input."""
    secrets = destination.secrets
    if problem := secrets_problem(secrets):
        raise ValueError(problem)
    url = _token_url(destination)
    if secrets.get(_ACCOUNT):
        return exchange(url, grant_type=GRANT, assertion=_assertion(secrets[_ACCOUNT], int(current_time)))
    fields = {name: secrets[name] for name in _BY_USER}
    return exchange(url, grant_type="refresh_token", **fields)


def _token_url(destination: Destination) -> str:
    settings: GoogleSettings = destination.settings
    if settings.token_url is not None:
        return settings.token_url
    return TOKEN_URL if destination.url == URL else f"{destination.url}/token"


def _assertion(text: str, current_time: int) -> str:
    account = _account(text)
    claims = {
        "iss": account["client_email"],
        "scope": SCOPE,
        # The issuer, even through another host.
        "aud": account.get("token_uri") or TOKEN_URL,
        "iat": current_time,
        "exp": current_time + LIFE,
    }
    encode = cast("Any", jwt).encode
    return cast("bytes", encode(_signer(account), claims)).decode()


def _account(text: str) -> dict[str, Any]:
    try:
        account: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise ValueError("service_account_json is not JSON.") from None
    if not isinstance(account, dict) or not {"client_email", "private_key"} <= account.keys():
        raise ValueError("service_account_json has no client_email and private_key.")
    return cast("dict[str, Any]", account)


def _signer(account: dict[str, Any]) -> Any:
    make = cast("Any", crypt).RSASigner.from_service_account_info
    try:
        return make(account)
    except (ValueError, TypeError, AttributeError, GoogleAuthError):
        # The cause may quote the key.
        raise ValueError("service_account_json has a private_key that cannot be read.") from None
