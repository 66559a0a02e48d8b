"""The platforms of the spend ledger: their names, and the source of clicks on their ads. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from headwater.sources.catalogue import SOURCES, channel_of

_SAME = {
    "facebook": "meta", "fb": "meta", "bing": "microsoft", "microsoft_advertising": "microsoft",
    "adwords": "google", "twitter": "x", "snap": "snapchat", "chatgpt": "openai",
}  # fmt: skip
"""Platforms by their other names."""
_SOURCES = {"meta": "facebook_ads", "microsoft": "bing_ads", "openai": "chatgpt_ads"}
"""The sources of platforms that are called otherwise than their source."""
_FREE_CHANNELS = frozenset({"ai", "organic", "direct"})
"""Channels that no platform bills."""


@lru_cache(1024)
def platform_of(text: str) -> str:
    """Return a platform by the name that somebody has for it: `Google Ads` is `google`."""
    word = re.sub(r"[^\w]+", "_", text.strip().lower()).strip("_")
    word = word.removesuffix("_ads") or word
    return _SAME.get(word, word)


def _listed() -> dict[str, str]:
    by_platform = {
        platform_of(source): source
        for source in SOURCES
        if channel_of(source) not in _FREE_CHANNELS
    }
    return by_platform | _SOURCES


LISTED_PLATFORMS = _listed()
"""The source of every platform that Headwater knows."""
