"""LinkedIn's access tokens: given, or for a refresh token. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.base.egress.models import EgressRequest
from headwater.base.egress.oauth import can_refresh, make_refresh_call
from headwater.forwarding.platforms.linkedin.settings import LinkedInSettings
from headwater.forwarding.platforms.models import Destination

URL = "https://api.linkedin.com"
TOKEN_URL = "https://www.linkedin.com/oauth/v2/accessToken"  # noqa: S105 - an address

_NEEDED_SECRETS = "Give access_token, or all of client_id, client_secret and refresh_token."


def secrets_problem(secrets: Mapping[str, str]) -> str | None:
    if can_refresh(secrets):
        return None
    if secrets.get("refresh_token") or not secrets.get("access_token"):
        return _NEEDED_SECRETS
    return None


def request(destination: Destination) -> EgressRequest | None:
    """Return None if the secrets have a token. Raises ValueError."""
    if problem := secrets_problem(destination.secrets):
        raise ValueError(problem)
    if not destination.secrets.get("refresh_token"):
        return None
    return make_refresh_call(_token_url(destination), destination.secrets)


def _token_url(destination: Destination) -> str:
    settings: LinkedInSettings = destination.settings
    if settings.token_url is not None:
        return settings.token_url
    return TOKEN_URL if destination.url == URL else f"{destination.url}/oauth/v2/accessToken"
