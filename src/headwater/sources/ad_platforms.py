"""Ad platforms: the level above sources. A platform bills its ads together, whichever of its
sources a click comes from, so spend and credit meet there. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from headwater.sources.catalogue import SOURCES, channel_of

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
    """Return the platform that sells the clicks of a listed source; None for other sources."""
    if not source.endswith("_ads"):
        return None
    return _BILLED_BY.get(source) or platform_of(source)


def _list_platforms() -> dict[str, str]:
    """Return the source of every name in the ledger: of a platform with several, the first."""
    by_name: dict[str, str] = {}
    for source in SOURCES:
        if channel_of(source) not in _FREE_CHANNELS:
            by_name.setdefault(platform_of_source(source) or source, source)
            by_name.setdefault(platform_of(source), source)
    return by_name


LISTED_PLATFORMS = _list_platforms()
"""The source of every name that the ledger has for a platform, or for a part of one."""
