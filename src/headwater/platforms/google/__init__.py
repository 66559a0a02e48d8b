"""Google: Data Manager API, for ads on Google and YouTube."""

from __future__ import annotations

from headwater.platforms.google.payload import build, fits, redact, request, why_not
from headwater.platforms.google.responses import classify
from headwater.platforms.google.settings import GoogleSettings
from headwater.platforms.google.token import URL, ask, secrets_wrong
from headwater.platforms.oauth import read_token
from headwater.platforms.platform import DAY, Limits, Platform, TokenExchange

_SECRETS = {
    "service_account_json": "Key file of a service account, as JSON.",
    "client_id": "Client id of an OAuth client, with client_secret and refresh_token.",
    "client_secret": "Client secret of the OAuth client.",
    "refresh_token": "Refresh token of a user who may send to the account.",
}

GOOGLE = Platform(
    name="google",
    title="Google Ads",
    url=URL,
    sources=frozenset({"google_ads", "youtube_ads"}),
    settings=GoogleSettings,
    secrets=_SECRETS,
    optional_secrets=frozenset(_SECRETS),
    limits=Limits(batch=2000, age=90 * DAY),
    why_not=why_not,
    build=build,
    request=request,
    classify=classify,
    redact=redact,
    name_pattern=r"[0-9]{1,20}",
    name_rule="must be the id of a conversion action: 1 to 20 digits.",
    token=TokenExchange(request=ask, read=read_token),
    fits=fits,
    secrets_wrong=secrets_wrong,
)
