"""Pinterest's API for Conversions v5."""

from headwater.platforms.pinterest.payload import (
    EVENT_NAMES,
    build,
    redact,
    request,
    why_not,
)
from headwater.platforms.pinterest.responses import classify
from headwater.platforms.pinterest.settings import PinterestSettings
from headwater.platforms.platform import DAY, Limits, Platform

PINTEREST = Platform(
    name="pinterest",
    title="Pinterest Ads",
    url="https://api.pinterest.com",
    sources=frozenset({"pinterest_ads"}),
    settings=PinterestSettings,
    secrets={"access_token": "The ad account's conversion access token."},
    limits=Limits(batch=1000, age=7 * DAY),
    why_not=why_not,
    build=build,
    request=request,
    classify=classify,
    redact=redact,
    event_names=EVENT_NAMES,
)
