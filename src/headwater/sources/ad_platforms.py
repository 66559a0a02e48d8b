"""Ad platforms, the level above sources. Pure. A platform bills its ads together."""

from __future__ import annotations

import re
from functools import lru_cache

from headwater.sources.catalogue import SOURCES, find_channel
from headwater.sources.titles import format_title

PLATFORM_ALIASES = {
    "facebook": "meta",
    "fb": "meta",
    "bing": "microsoft",
    "microsoft_advertising": "microsoft",
    "adwords": "google",
    "twitter": "x",
    "snap": "snapchat",
    "chatgpt": "openai",
}
_BILLED_BY = {
    "facebook_ads": "meta",
    "instagram_ads": "meta",
    "google_ads": "google",
    "youtube_ads": "google",
}
"""Audience Network and Messenger have no paid source of their own: their clicks count as Facebook's."""
_FREE_CHANNELS = frozenset({"ai", "organic", "direct"})


@lru_cache(1024)
def normalize_platform(text: str) -> str:
    """Return `google` for `Google Ads`."""
    word = re.sub(r"[^\w]+", "_", text.strip().lower()).strip("_")
    word = word.removesuffix("_ads") or word
    return PLATFORM_ALIASES.get(word, word)


_GOOGLE_ACCOUNT = re.compile(r"[0-9]{3}-[0-9]{3}-[0-9]{4}")
_META_ACCOUNT = re.compile(r"act_[0-9]+")


def normalize_account(text: str) -> str:
    """Return an account's number as APIs write it: `1234567890` for Google's `123-456-7890`, and `2385` for
    Meta's `act_2385`.
    """
    if _GOOGLE_ACCOUNT.fullmatch(text):
        return text.replace("-", "")
    return text.removeprefix("act_") if _META_ACCOUNT.fullmatch(text) else text


def find_billing_platform(source: str) -> str | None:
    """Return the platform that bills a source's clicks; None if they are free. Sources such as `email` are
    platforms.
    """
    if find_channel(source) in _FREE_CHANNELS:
        return None
    return _BILLED_BY.get(source) or normalize_platform(source)


def platform_title(platform: str) -> str:
    """Return a platform's display name, like its sources': `Meta ads`, but `E-mail`."""
    return format_title(platform) if platform in SOURCES else f"{format_title(platform)} ads"


def _list_platforms() -> dict[str, str]:
    by_name: dict[str, str] = {}
    for source in SOURCES:
        if (owner := find_billing_platform(source)) is not None:
            by_name.setdefault(owner, source)
            by_name.setdefault(normalize_platform(source), source)
    return by_name


LISTED_PLATFORMS = _list_platforms()
"""The source of every platform name in the ledger; the first if it has several."""

# Default click windows, adjustable in ad accounts: Meta 7 days, facebook.com/business/help/2198119873776795;
# TikTok 7 days, ads.tiktok.com/help/article/attribution-manager; Amazon Ads 14 days; Google 30 days,
# support.google.com/google-ads/answer/3123169. The others count 30 days, or 28, and 30 is the nearest window.
_CLICK_WINDOWS = {"meta": 7, "tiktok": 7, "amazon": 14}
_USUAL_WINDOW = 30


def usual_click_window(platform: str) -> int:
    """Return how many days after a click a platform counts a conversion."""
    return _CLICK_WINDOWS.get(platform, _USUAL_WINDOW)
