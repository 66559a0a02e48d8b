from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from headwater.forwarding.platforms.settings import ConsentDenied, ConsentSettings
from headwater.http.inputs.account_settings import TokenUrl, Version, digits


class GoogleSettings(ConsentSettings, frozen=True, kw_only=True):
    customer_id: Annotated[
        str,
        digits(10, 10, "1234567890"),
        Meta(
            description="Number of the Google Ads account that the conversion actions are in: at"
            " the top right of Google Ads, here without dashes."
        ),
    ]
    login_customer_id: Annotated[
        Annotated[str, digits(10, 10, "1234567890")] | None,
        Meta(
            description="Number of the manager account, if access to the account is through one:"
            " without dashes."
        ),
    ] = None
    api_version: Annotated[Version, Meta(description="Version of the Data Manager API.")] = "v1"
    event_source: Annotated[
        Literal["WEB", "APP", "IN_STORE", "PHONE", "MESSAGE", "OTHER"],
        Meta(description="Where events happen, in Google's words."),
    ] = "WEB"
    consent_denied: Annotated[
        ConsentDenied,
        Meta(
            description="Events of people who denied the use of their data for ads: `limit` sends"
            " the click id marked as denied and nothing of the person, `skip` does not send them."
        ),
    ] = "limit"
    token_url: Annotated[
        TokenUrl,
        Meta(
            description="The address to request access tokens from. By default Google's, or /token"
            " on the host of HEADWATER_GOOGLE_URL."
        ),
    ] = None
