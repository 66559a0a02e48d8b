"""LinkedIn: Conversions API."""

from __future__ import annotations

from headwater.platforms.linkedin.payload import (
    RULE,
    build,
    redact,
    request,
    why_no_trial,
    why_not,
)
from headwater.platforms.linkedin.responses import classify
from headwater.platforms.linkedin.settings import LinkedInSettings
from headwater.platforms.linkedin.token import URL, ask, secrets_wrong
from headwater.platforms.oauth import read_token
from headwater.platforms.platform import DAY, Limits, Platform, TokenExchange

_SECRETS = {
    "access_token": "Access token with rw_conversions, used as it is until it expires.",
    "client_id": "Client id of the app, with client_secret and refresh_token.",
    "client_secret": "Client secret of the app.",
    "refresh_token": "Refresh token, by which access tokens are had as they expire.",
}

LINKEDIN = Platform(
    name="linkedin",
    title="LinkedIn Ads",
    url=URL,
    sources=frozenset({"linkedin_ads"}),
    settings=LinkedInSettings,
    secrets=_SECRETS,
    optional_secrets=frozenset(_SECRETS),
    limits=Limits(batch=5000, age=90 * DAY),
    why_not=why_not,
    build=build,
    request=request,
    classify=classify,
    redact=redact,
    name_pattern=rf"({RULE})?[0-9]{{1,20}}",
    name_rule=f"must be the id of a conversion rule: 1 to 20 digits, after {RULE} or alone.",
    token=TokenExchange(request=ask, read=read_token),
    secrets_wrong=secrets_wrong,
    why_no_trial=why_no_trial,
)
