"""Settings of a TikTok destination."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from headwater.platforms.settings import LimitedDataUseSettings, PointVersion, TestEventCode, code


class TikTokSettings(LimitedDataUseSettings, frozen=True, kw_only=True):
    """Settings of a pixel."""

    pixel_code: Annotated[str, code(5, 40), Meta(description="Id of the pixel (its code).")]
    api_version: Annotated[PointVersion, Meta(description="Version of the Business API.")] = "v1.3"
    test_event_code: TestEventCode = None
