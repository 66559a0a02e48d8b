"""Microsoft Advertising's REST services: access tokens, headers and error codes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.base.egress.answers import objects
from headwater.base.egress.calls import make_form_call
from headwater.base.egress.models import EgressRequest
from headwater.base.egress.oauth import REFRESHING

TOKEN_URL = "https://login.microsoftonline.com/common/oauth2/v2.0/token"  # noqa: S105 - an address
_SCOPE = "https://ads.microsoft.com/msads.manage offline_access"
SECRETS = {
    "developer_token": "Developer token: Microsoft Advertising, Settings, Developer settings.",
    "client_id": "Application (client) id of an app in Microsoft Entra.",
    "client_secret": "Client secret of the app, if it is a web app.",
    "refresh_token": "Refresh token of a user of the ad account; replaced when Microsoft issues another.",
}
OPTIONAL_SECRETS = frozenset({"client_secret"})

TOKEN_CODES = frozenset({105, 109})
"""The access token is invalid or has expired."""
PERMISSION_CODE = 106
RATE_CODES = frozenset({117, 207})
RATE_SECONDS = 60.0
"""Microsoft's wait after too many calls."""
INTERNAL_CODE = 0


def make_token_call(url: str, secrets: Mapping[str, str]) -> EgressRequest:
    fields = {name: secrets[name] for name in REFRESHING if secrets.get(name)}
    return make_form_call(url, grant_type="refresh_token", scope=_SCOPE, **fields)


def make_headers(secrets: Mapping[str, str], customer_id: str, account_id: str) -> dict[str, str]:
    """Return what every request has besides the access token."""
    return {
        "DeveloperToken": secrets["developer_token"],
        "CustomerId": customer_id,
        "CustomerAccountId": account_id,
    }


def read_errors(body: Mapping[str, Any], *names: str) -> list[dict[str, Any]]:
    """Return the errors in these members of an answer."""
    return [error for name in names for error in objects(body.get(name))]
