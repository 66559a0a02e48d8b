"""Tokens for a service account or a user's refresh token. Pure."""

from __future__ import annotations

from headwater.base.egress.models import EgressRequest
from headwater.base.egress.oauth import GOOGLE_TOKEN_URL, make_google_call
from headwater.forwarding.platforms.google.settings import GoogleSettings
from headwater.forwarding.platforms.models import Destination

URL = "https://datamanager.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/datamanager"


def request(destination: Destination, current_time: float) -> EgressRequest:
    """Raise ValueError for bad input."""
    return make_google_call(_token_url(destination), destination.secrets, SCOPE, current_time)


def _token_url(destination: Destination) -> str:
    settings: GoogleSettings = destination.settings
    if settings.token_url is not None:
        return settings.token_url
    return GOOGLE_TOKEN_URL if destination.url == URL else f"{destination.url}/token"
