"""What a Google destination is told besides its secrets."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class GoogleSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a Google Ads account."""

    customer_id: Annotated[
        str,
        Meta(
            pattern=r"^[0-9]{10}$",
            description="Customer id of the Google Ads account the conversion actions are in: ten"
            " digits, without dashes.",
        ),
    ]
    login_customer_id: Annotated[
        Annotated[str, Meta(pattern=r"^[0-9]{10}$")] | None,
        Meta(
            description="Customer id of the manager account the access is through, if it is.",
        ),
    ] = None
    api_version: Annotated[
        str, Meta(pattern=r"^v[0-9]{1,3}$", description="Version of the Data Manager API.")
    ] = "v1"
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
        Annotated[str, Meta(pattern=r"^https?://[^\s?#]+$", max_length=500)] | None,
        Meta(
            description="Where access tokens are had. By default Google's, or /token where"
            " HEADWATER_GOOGLE_URL names another host.",
        ),
    ] = None
