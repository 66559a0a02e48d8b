"""Tokens for a service account or a user's refresh token. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.base.egress.calls import make_form_call
from headwater.base.egress.models import EgressRequest
from headwater.base.egress.oauth import GRANT, check_key_file, sign_assertion
from headwater.forwarding.platforms.google.settings import GoogleSettings
from headwater.forwarding.platforms.models import Destination

URL = "https://datamanager.googleapis.com"
TOKEN_URL = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
SCOPE = "https://www.googleapis.com/auth/datamanager"

_BY_USER = ("client_id", "client_secret", "refresh_token")
_ACCOUNT = "service_account_json"
_NEEDED = "Give service_account_json, or all of client_id, client_secret and refresh_token."


def secrets_problem(secrets: Mapping[str, str]) -> str | None:
    if secrets.get(_ACCOUNT):
        try:
            check_key_file(secrets[_ACCOUNT])
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
        assertion = sign_assertion(secrets[_ACCOUNT], SCOPE, TOKEN_URL, int(current_time))
        return make_form_call(url, grant_type=GRANT, assertion=assertion)
    fields = {name: secrets[name] for name in _BY_USER}
    return make_form_call(url, grant_type="refresh_token", **fields)


def _token_url(destination: Destination) -> str:
    settings: GoogleSettings = destination.settings
    if settings.token_url is not None:
        return settings.token_url
    return TOKEN_URL if destination.url == URL else f"{destination.url}/token"
