from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from headwater.forwarding.platforms.settings import ConsentDenied, LimitedDataUseSettings
from headwater.http.inputs.account_settings import Version, code, matching


class SnapchatSettings(LimitedDataUseSettings, frozen=True, kw_only=True):
    pixel_id: Annotated[
        str,
        code(1, 64, "8f3a1c52-0b7e-4d8a-9a61-2f0c5be7d913", "-"),
        Meta(description="The pixel's id, a UUID: Ads Manager, Events Manager."),
    ]
    api_version: Annotated[Version, Meta(description="The version of the Conversions API.")] = "v3"
    consent_denied: ConsentDenied = "skip"
    limited_data_use_option: Annotated[
        str,
        matching(r"\A[A-Z]{1,16}\Z", "must be 1 to 16 capital letters", "LDU"),
        Meta(description="The word for limited data use in data_processing_options."),
    ] = "LDU"
    limited_data_use_country: Annotated[
        int, Meta(ge=0, le=999, description="data_processing_options_country; 0: Snap finds out.")
    ] = 0
    limited_data_use_state: Annotated[
        int, Meta(ge=0, le=9999, description="data_processing_options_state; 0: Snap finds out.")
    ] = 0
