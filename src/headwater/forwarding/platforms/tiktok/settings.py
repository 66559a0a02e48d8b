"""What a TikTok destination is told besides its token."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class TikTokSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a pixel."""

    pixel_code: Annotated[
        str, Meta(pattern=r"^[A-Za-z0-9]{5,40}$", description="Id of the pixel (its code).")
    ]
    api_version: Annotated[
        str, Meta(pattern=r"^v[0-9]{1,3}\.[0-9]{1,2}$", description="Version of the Business API.")
    ] = "v1.3"
    test_event_code: Annotated[
        Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None,
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
