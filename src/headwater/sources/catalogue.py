"""The 53 sources, and the numbers they are stored under.

A source's number is its position here, from 1. Numbers are in the database: append, never
reorder. Paid sources are exactly those ending in `_ads`.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.sources.networks import NUMBERS

SOURCES = (
    "facebook_ads", "google_ads", "linkedin_ads", "tiktok_ads", "youtube_ads", "instagram_ads",
    "bing_ads", "yahoo_ads", "pinterest_ads", "reddit_ads", "snapchat_ads", "telegram_ads",
    "twitch_ads", "x_ads", "quora_ads", "duckduckgo_ads", "whop_ads",
    "facebook_organic", "google_organic", "linkedin_organic", "tiktok_organic",
    "youtube_organic", "instagram_organic", "bing_organic", "yahoo_organic",
    "pinterest_organic", "reddit_organic", "snapchat_organic", "telegram_organic",
    "twitch_organic", "x_organic", "quora_organic", "duckduckgo_organic", "messenger_organic",
    "brave_organic", "threads_organic",
    "ai_chat_gpt", "ai_perplexity", "ai_copilot", "ai_claude", "ai_grok", "ai_gemini",
    "ai_deepseek",
    "email", "sms", "referral", "direct", "shop_app", "substack", "capterra", "trustpilot",
    "g2", "yelp",
)  # fmt: skip

SOURCE_IDS = {name: number for number, name in enumerate(SOURCES, start=1)}
LISTED_PAID_IDS = [number for name, number in SOURCE_IDS.items() if name.endswith("_ads")]
PAID_IDS = [*LISTED_PAID_IDS, *NUMBERS]
"""The numbers of paid sources, those of the Spaces' own networks included."""
EVERY_ID = (*SOURCE_IDS.values(), *NUMBERS)
"""All numbers that sources can have."""
DIRECT_ID = SOURCE_IDS["direct"]

CHANNELS = ("paid", "ai", "organic", "email", "sms", "referral", "direct")
"""Kinds of sources, in the order of their numbers, from 1."""
_CHANNEL_OF = {
    "email": "email", "substack": "email", "sms": "sms", "direct": "direct",
    "referral": "referral", "shop_app": "referral", "capterra": "referral",
    "trustpilot": "referral", "g2": "referral", "yelp": "referral",
}  # fmt: skip


def channel_of(source: str) -> str:
    """Return the channel of a source."""
    if source.endswith("_ads"):
        return "paid"
    if source.endswith("_organic"):
        return "organic"
    return "ai" if source.startswith("ai_") else _CHANNEL_OF[source]


CHANNEL_IDS = {
    **{number: 1 + CHANNELS.index(channel_of(name)) for name, number in SOURCE_IDS.items()},
    **dict.fromkeys(NUMBERS, 1 + CHANNELS.index("paid")),
}
"""The channel of every source, by their numbers, ascending."""

_NETWORK_BIT = 62
"""The bit that all networks of a Space's own share. Bit 63 is the sign of PostgreSQL's bigint."""


def listed_name(number: int) -> str | None:
    """The name of a listed source; None for the number of a Space's own network."""
    return SOURCES[number - 1] if number <= len(SOURCES) else None


def bit_of(number: int) -> int:
    """The bit of a source in a mask, by its number."""
    return 1 << min(number, _NETWORK_BIT)


def mask(source_ids: Iterable[int]) -> int:
    """A set of sources as bits, which fits PostgreSQL's bigint. A mask only rules out: because own
    networks share a bit, one that has the bits of some sources may lack some of these.
    """
    bits = 0
    for number in source_ids:
        bits |= bit_of(number)
    return bits
