"""Ad platforms: the level above sources. A platform bills its ads together, whichever of its
sources a click comes from, so spend and credit meet there. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from headwater.sources.catalogue import SOURCES, channel_of
from headwater.sources.titles import title_of

_SAME = {
    "facebook": "meta",
    "fb": "meta",
    "bing": "microsoft",
    "microsoft_advertising": "microsoft",
    "adwords": "google",
    "twitter": "x",
    "snap": "snapchat",
    "chatgpt": "openai",
}
"""Platforms by their other names."""
_BILLED_BY = {
    "facebook_ads": "meta",
    "instagram_ads": "meta",
    "google_ads": "google",
    "youtube_ads": "google",
}
"""The platforms of sources that are billed together. Audience Network and Messenger have no paid
source of their own: their clicks are Facebook's.
"""
_FREE_CHANNELS = frozenset({"ai", "organic", "direct"})
"""Channels that no platform bills."""


@lru_cache(1024)
def platform_of(text: str) -> str:
    """Return a platform by the name that somebody has for it: `Google Ads` is `google`."""
    word = re.sub(r"[^\w]+", "_", text.strip().lower()).strip("_")
    word = word.removesuffix("_ads") or word
    return _SAME.get(word, word)


def platform_of_source(source: str) -> str | None:
    """Return the platform that bills the clicks of a listed source. A source that is no ad network,
    such as `email`, is a platform by itself. None where clicks are free.
    """
    if channel_of(source) in _FREE_CHANNELS:
        return None
    return _BILLED_BY.get(source) or platform_of(source)


def platform_title(platform: str) -> str:
    """Return what people call a platform: `Meta Ads`, but `E-mail`."""
    return title_of(platform) if platform in SOURCES else f"{title_of(platform)} Ads"


def _list_platforms() -> dict[str, str]:
    """Return the source of every name in the ledger: of a platform with several, the first."""
    by_name: dict[str, str] = {}
    for source in SOURCES:
        if (owner := platform_of_source(source)) is not None:
            by_name.setdefault(owner, source)
            by_name.setdefault(platform_of(source), source)
    return by_name


LISTED_PLATFORMS = _list_platforms()
"""The source of every name that the ledger has for a platform, or for a part of one."""
