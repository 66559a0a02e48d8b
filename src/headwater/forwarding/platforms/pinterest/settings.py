from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from headwater.forwarding.platforms.settings import ConsentDenied, ConsentSettings
from headwater.http.inputs.account_settings import Version, digits


class PinterestSettings(ConsentSettings, frozen=True, kw_only=True):
    ad_account_id: Annotated[
        str,
        digits(1, 18, "549755885175"),
        Meta(description="The ad account's number, found in the address of Ads Manager."),
    ]
    api_version: Annotated[Version, Meta(description="The version of Pinterest's API.")] = "v5"
    consent_denied: Annotated[
        ConsentDenied,
        Meta(
            description="Events of people who refused the use of their data for ads: "
            "sent with opt_out, or not sent."
        ),
    ] = "limit"
    limited_data_processing: Annotated[
        bool,
        Meta(
            description="Whether every event is marked for limited data processing (opt_out_type "
            "LDP), which some US states require."
        ),
    ] = False
