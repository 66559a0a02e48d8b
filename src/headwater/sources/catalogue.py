"""The catalogue of sources: their numbers, names and channels. Append only, because a source is stored as its
number, its position from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from headwater.sources.networks import NUMBERS
from headwater.sources.titles import format_title

PAID_OTHER = "paid_other"
"""A paid touch of an unnamed network."""

SOURCES = (
    "facebook_ads",
    "google_ads",
    "linkedin_ads",
    "tiktok_ads",
    "youtube_ads",
    "instagram_ads",
    "bing_ads",
    "yahoo_ads",
    "pinterest_ads",
    "reddit_ads",
    "snapchat_ads",
    "telegram_ads",
    "twitch_ads",
    "x_ads",
    "quora_ads",
    "duckduckgo_ads",
    "whop_ads",
    "facebook_organic",
    "google_organic",
    "linkedin_organic",
    "tiktok_organic",
    "youtube_organic",
    "instagram_organic",
    "bing_organic",
    "yahoo_organic",
    "pinterest_organic",
    "reddit_organic",
    "snapchat_organic",
    "telegram_organic",
    "twitch_organic",
    "x_organic",
    "quora_organic",
    "duckduckgo_organic",
    "messenger_organic",
    "brave_organic",
    "threads_organic",
    "ai_chat_gpt",
    "ai_perplexity",
    "ai_copilot",
    "ai_claude",
    "ai_grok",
    "ai_gemini",
    "ai_deepseek",
    "email",
    "sms",
    "referral",
    "direct",
    "shop_app",
    "substack",
    "capterra",
    "trustpilot",
    "g2",
    "yelp",
    "chatgpt_ads",
    PAID_OTHER,
)

PAID = "paid"
CHANNELS = (PAID, "ai", "organic", "email", "sms", "referral", "direct")
"""Kinds of sources, in the order of their numbers, from 1."""
_CHANNELS_BY_SOURCE = {
    "email": "email",
    "substack": "email",
    "sms": "sms",
    "direct": "direct",
    "referral": "referral",
    "shop_app": "referral",
    "capterra": "referral",
    "trustpilot": "referral",
    "g2": "referral",
    "yelp": "referral",
    PAID_OTHER: "paid",
}


class CatalogueSource(Struct, frozen=True):
    number: int
    key: str
    api_name: str
    """Its name in API responses about events and contacts. Several sources may share one."""
    channel: str

    @property
    def is_paid(self) -> bool:
        return self.channel == "paid"

    @property
    def title(self) -> str:
        return format_title(self.key)


def find_channel(source: str) -> str:
    if source.endswith("_ads"):
        return PAID
    if source.endswith("_organic"):
        return "organic"
    return "ai" if source.startswith("ai_") else _CHANNELS_BY_SOURCE[source]


CATALOGUE = tuple(
    CatalogueSource(number, key, "referral" if key == PAID_OTHER else key, find_channel(key))
    for number, key in enumerate(SOURCES, start=1)
)
SOURCE_IDS = {source.key: source.number for source in CATALOGUE}
LISTED_PAID_IDS = [source.number for source in CATALOGUE if source.is_paid]
PAID_IDS = [*LISTED_PAID_IDS, *NUMBERS]
"""Numbers of paid sources, including networks added by Spaces."""
ALL_IDS = (*SOURCE_IDS.values(), *NUMBERS)
DIRECT_ID = SOURCE_IDS["direct"]
CHANNEL_IDS = {
    **{source.number: 1 + CHANNELS.index(source.channel) for source in CATALOGUE},
    **dict.fromkeys(NUMBERS, 1 + CHANNELS.index("paid")),
}
"""The channel number of every source number, ascending."""

_NETWORK_BIT = 62
"""Shared by all networks added by Spaces. Bit 63 is the sign of PostgreSQL's bigint."""

API_NAMES = tuple(source.api_name for source in CATALOGUE)
LISTED_SOURCES = tuple(dict.fromkeys(API_NAMES))
"""The distinct API names: the values in API responses and filters."""
LISTED_IDS: Mapping[str, tuple[int, ...]] = {
    name: tuple(source.number for source in CATALOGUE if source.api_name == name) for name in LISTED_SOURCES
}


def listed_name(number: int) -> str | None:
    """Return None for a network added by the Space."""
    return SOURCES[number - 1] if number <= len(SOURCES) else None


def source_bit(number: int) -> int:
    return 1 << min(number, _NETWORK_BIT)


def source_mask(source_ids: Iterable[int]) -> int:
    """Return bits of a PostgreSQL bigint. Added networks share a bit."""
    bits = 0
    for number in source_ids:
        bits |= source_bit(number)
    return bits
