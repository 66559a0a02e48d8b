"""What a Google destination is told besides its secrets."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from headwater.platforms.setting import URL, VERSION, digits


class GoogleSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
    api_version: Annotated[str, VERSION, Meta(description="Version of the Data Manager API.")] = (
        "v1"
    )
    event_source: Annotated[
        Literal["WEB", "APP", "IN_STORE", "PHONE", "MESSAGE", "OTHER"],
        Meta(description="Where events happen, as Google names it."),
    ] = "WEB"
    consent_denied: Annotated[
        Literal["limit", "skip"],
        Meta(
            description="Events of people who denied the use of their data for ads: `limit` sends"
            " the click id marked as denied and nothing of the person, `skip` does not send them."
        ),
    ] = "limit"
    token_url: Annotated[
        Annotated[str, URL] | None,
        Meta(
            description="Where access tokens are had. By default Google's, or /token where"
            " HEADWATER_GOOGLE_URL names another host.",
        ),
    ] = None
