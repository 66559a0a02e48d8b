"""Snap's Conversions API v3."""

from headwater.forwarding.platforms.platform import DAY, Limits, Platform
from headwater.forwarding.platforms.sizes import MEGABYTE, within
from headwater.forwarding.platforms.snapchat.payload import (
    EVENT_NAMES,
    build,
    redact,
    request,
    why_not,
)
from headwater.forwarding.platforms.snapchat.responses import classify
from headwater.forwarding.platforms.snapchat.settings import SnapchatSettings

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
