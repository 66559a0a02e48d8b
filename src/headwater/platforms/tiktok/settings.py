"""What a TikTok destination is told besides its token."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from headwater.platforms.setting import VERSION_WITH_POINT, code


class TikTokSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a pixel."""

    pixel_code: Annotated[str, code(5, 40), Meta(description="Id of the pixel (its code).")]
    api_version: Annotated[
        str, VERSION_WITH_POINT, Meta(description="Version of the Business API.")
    ] = "v1.3"
    test_event_code: Annotated[
        Annotated[str, code(1, 64, "_-")] | None,
        Meta(
            description="Code from the Test events tab; used by trials only.",
        ),
    ] = None
    consent_denied: Annotated[
        Literal["limit", "skip"],
        Meta(
            description="Events of people who denied the use of their data for ads: `limit` sends"
            " them for limited data use, `skip` does not send them."
        ),
    ] = "limit"
    limited_data_use: Annotated[
        Literal["denied", "always"],
        Meta(description="Which events carry limited data use: those of a denial, or all."),
    ] = "denied"
