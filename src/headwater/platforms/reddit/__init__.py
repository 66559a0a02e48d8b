"""Reddit's Conversions API v3."""

from headwater.platforms.platform import DAY, Limits, Platform
from headwater.platforms.reddit.payload import (
    EVENT_NAMES,
    build,
    redact,
    request,
    why_no_trial,
    why_not,
)
from headwater.platforms.reddit.responses import QUOTES, classify
from headwater.platforms.reddit.settings import RedditSettings

REDDIT = Platform(
    name="reddit",
    title="Reddit Ads",
    url="https://ads-api.reddit.com",
    sources=frozenset({"reddit_ads"}),
    settings=RedditSettings,
    secrets={"access_token": "The pixel's conversion access token, which does not expire."},
    limits=Limits(batch=1000, age=7 * DAY, ahead=300),
    why_not=why_not,
    build=build,
    request=request,
    classify=classify,
    redact=redact,
    event_names=EVENT_NAMES,
    why_no_trial=why_no_trial,
    quotes=QUOTES,
)
