from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from headwater.forwarding.platforms.settings import LimitedDataUseSettings
from headwater.http.inputs.account_settings import Version, code, matching


class RedditSettings(LimitedDataUseSettings, frozen=True, kw_only=True):
    pixel_id: Annotated[
        str,
        code(1, 64, "a2_abc123", "_-"),
        Meta(
            description="The pixel's id, the code that begins with a2_ or t2_: Ads Manager, Events Manager."
        ),
    ]
    api_version: Annotated[Version, Meta(description="The version of Reddit's Ads API.")] = "v3"
    test_id: Annotated[
        Annotated[str, code(1, 128, "t2_abc123", "_.-")] | None,
        Meta(description="The id that Ads Manager shows under Event Testing. Only tests carry it."),
    ] = None
    hash_ip: Annotated[
        bool, Meta(description="Whether the IP address is hashed. Reddit takes it in clear as well.")
    ] = True
    limited_data_use_country: Annotated[
        Annotated[str, matching(r"\A[A-Z]{2}\Z", "must be two capital letters", "US")] | None,
        Meta(description="ISO 3166-1 alpha-2, sent with limited data use; without it the person's."),
    ] = None
    limited_data_use_region: Annotated[
        Annotated[str, matching(r"\A[A-Z]{2}-[A-Z0-9]{1,3}\Z", "must be a region code", "US-CA")] | None,
        Meta(description="ISO 3166-2, such as US-CA, sent with limited data use."),
    ] = None
