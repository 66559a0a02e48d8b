"""Microsoft Advertising's UET Conversions API."""

from headwater.platforms.microsoft.payload import (
    EVENT_NAMES,
    build,
    redact,
    request,
    why_no_trial,
    why_not,
)
from headwater.platforms.microsoft.responses import QUOTES, classify
from headwater.platforms.microsoft.settings import MicrosoftSettings
from headwater.platforms.platform import DAY, Limits, Platform
from headwater.platforms.sizes import MEGABYTE, within

MICROSOFT = Platform(
    name="microsoft",
    title="Microsoft Advertising",
    url="https://capi.uet.microsoft.com",
    sources=frozenset({"bing_ads"}),
    settings=MicrosoftSettings,
    secrets={"access_token": "The UET tag's Conversions API token."},
    limits=Limits(batch=1000, age=7 * DAY),
    why_not=why_not,
    build=build,
    request=request,
    classify=classify,
    redact=redact,
    event_names=EVENT_NAMES,
    free_names=True,
    why_no_trial=why_no_trial,
    fits=within(MEGABYTE),
    quotes=QUOTES,
)
