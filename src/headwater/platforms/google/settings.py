"""Settings of a Google destination."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from headwater.platforms.settings import ConsentDenied, ConsentSettings, TokenUrl, Version, digits


class GoogleSettings(ConsentSettings, frozen=True, kw_only=True):
    """Settings of a Google Ads account."""

    customer_id: Annotated[
        str,
        digits(10, 10),
        Meta(
            description="Customer id of the Google Ads account the conversion actions are in: ten"
            " digits, without dashes.",
        ),
    ]
    login_customer_id: Annotated[
        Annotated[str, digits(10, 10)] | None,
        Meta(
            description="Customer id of the manager account the access is through, if it is.",
        ),
    ] = None
    api_version: Annotated[Version, Meta(description="Version of the Data Manager API.")] = "v1"
    event_source: Annotated[
        Literal["WEB", "APP", "IN_STORE", "PHONE", "MESSAGE", "OTHER"],
        Meta(description="Where events happen, as Google names it."),
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
            description="Where access tokens are had. By default Google's, or /token where"
            " HEADWATER_GOOGLE_URL names another host.",
        ),
    ] = None
