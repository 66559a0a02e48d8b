"""What a Snapchat destination is told besides its token."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from headwater.platforms.setting import VERSION, code, matching


class SnapchatSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Snap pixel and how events go to it."""

    pixel_id: Annotated[
        str,
        code(1, 64, "-"),
        Meta(
            description="The pixel's id, a UUID: Ads Manager, Events Manager.",
        ),
    ]
    api_version: Annotated[
        str, VERSION, Meta(description="The version of the Conversions API.")
    ] = "v3"
    consent_denied: Annotated[
        Literal["limit", "skip"],
        Meta(
            description="What becomes of an event whose person refused the use of their data for "
            "ads: not sent, or sent for limited data use."
        ),
    ] = "skip"
    limited_data_use: Annotated[
        Literal["denied", "always"],
        Meta(description="Which events are sent for limited data use: those of a denial, or all."),
    ] = "denied"
    limited_data_use_option: Annotated[
        str,
        matching(r"\A[A-Z]{1,16}\Z", "must be 1 to 16 capital letters."),
        Meta(
            description="The word for limited data use in data_processing_options.",
        ),
    ] = "LDU"
    limited_data_use_country: Annotated[
        int,
        Meta(ge=0, le=999, description="data_processing_options_country; 0: Snap finds out."),
    ] = 0
    limited_data_use_state: Annotated[
        int,
        Meta(ge=0, le=9999, description="data_processing_options_state; 0: Snap finds out."),
    ] = 0
