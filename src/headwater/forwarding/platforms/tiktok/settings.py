from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from headwater.forwarding.platforms.settings import LimitedDataUseSettings, TestEventCode
from headwater.http.inputs.account_settings import PointVersion, code


class TikTokSettings(LimitedDataUseSettings, frozen=True, kw_only=True):
    pixel_code: Annotated[
        str,
        code(5, 40, "C4A1B2C3D4E5F6G7H8I9"),
        Meta(description="Id of the pixel: TikTok Ads Manager, Tools, Events, Web events."),
    ]
    api_version: Annotated[PointVersion, Meta(description="Version of the Business API.")] = "v1.3"
    test_event_code: TestEventCode = None
