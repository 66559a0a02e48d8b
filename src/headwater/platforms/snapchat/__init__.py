"""Snap's Conversions API v3."""

from headwater.platforms.platform import DAY, Limits, Platform
from headwater.platforms.sizes import MEGABYTE, within
from headwater.platforms.snapchat.payload import (
    EVENT_NAMES,
    build,
    redact,
    request,
    why_not,
)
from headwater.platforms.snapchat.responses import classify
from headwater.platforms.snapchat.settings import SnapchatSettings

SNAPCHAT = Platform(
    name="snapchat",
    title="Snapchat Ads",
    url="https://tr.snapchat.com",
    sources=frozenset({"snapchat_ads"}),
    settings=SnapchatSettings,
    secrets={"access_token": "The long-lived Conversions API token of the pixel's organisation."},
    limits=Limits(batch=2000, age=37 * DAY),
    why_not=why_not,
    build=build,
    request=request,
    classify=classify,
    redact=redact,
    event_names=EVENT_NAMES,
    fits=within(2 * MEGABYTE),
)
