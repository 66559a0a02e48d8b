"""Meta: Conversions API, for ads on Facebook and Instagram."""

from __future__ import annotations

from headwater.platforms.meta.payload import (
    EVENT_NAMES,
    build,
    redact,
    request,
    why_no_trial,
    why_not,
)
from headwater.platforms.meta.responses import classify
from headwater.platforms.meta.settings import MetaSettings
from headwater.platforms.platform import DAY, Limits, Platform

META = Platform(
    name="meta",
    title="Meta Ads",
    url="https://graph.facebook.com",
    sources=frozenset({"facebook_ads", "instagram_ads"}),
    settings=MetaSettings,
    secrets={"access_token": "Access token of the dataset or of a system user."},
    limits=Limits(batch=1000, age=7 * DAY, ahead=60),
    why_not=why_not,
    build=build,
    request=request,
    classify=classify,
    redact=redact,
    event_names=EVENT_NAMES,
    free_names=True,
    why_no_trial=why_no_trial,
)
