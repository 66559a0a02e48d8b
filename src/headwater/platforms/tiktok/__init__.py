"""TikTok: Events API 2.0."""

from __future__ import annotations

from headwater.platforms.platform import DAY, Limits, Platform
from headwater.platforms.tiktok.payload import (
    EVENT_NAMES,
    build,
    redact,
    request,
    why_no_trial,
    why_not,
)
from headwater.platforms.tiktok.responses import classify
from headwater.platforms.tiktok.settings import TikTokSettings

TIKTOK = Platform(
    name="tiktok",
    title="TikTok Ads",
    url="https://business-api.tiktok.com",
    sources=frozenset({"tiktok_ads"}),
    settings=TikTokSettings,
    secrets={"access_token": "Access token of the pixel."},
    limits=Limits(batch=1000, age=7 * DAY),
    why_not=why_not,
    build=build,
    request=request,
    classify=classify,
    redact=redact,
    event_names=EVENT_NAMES,
    free_names=True,
    why_no_trial=why_no_trial,
)
