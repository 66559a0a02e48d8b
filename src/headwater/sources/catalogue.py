"""The 53 sources, and the numbers they are stored under.

A source's number is its position here, from 1. Numbers are in the database: append, never
reorder. Paid sources are exactly those ending in `_ads`.
"""

from __future__ import annotations

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
PAID_IDS = [number for name, number in SOURCE_IDS.items() if name.endswith("_ads")]
DIRECT_ID = SOURCE_IDS["direct"]

PAID = "paid"
CHANNELS = (PAID, "ai", "organic", "email", "sms", "referral", "direct")
"""Kinds of sources, in the order of their numbers, from 1."""
_CHANNEL_OF = {
    "email": "email", "substack": "email", "sms": "sms", "direct": "direct",
    "referral": "referral", "shop_app": "referral", "capterra": "referral",
    "trustpilot": "referral", "g2": "referral", "yelp": "referral",
}  # fmt: skip


def channel_of(source: str) -> str:
    """Return the channel of a source."""
    if source.endswith("_ads"):
        return PAID
    if source.endswith("_organic"):
        return "organic"
    return "ai" if source.startswith("ai_") else _CHANNEL_OF[source]


CHANNEL_IDS = [1 + CHANNELS.index(channel_of(source)) for source in SOURCES]
"""The channel of every source, in the order of their numbers."""


def mask(source_ids: list[int]) -> int:
    """A set of sources as bits, bit n for source number n; fits PostgreSQL's bigint."""
    bits = 0
    for number in source_ids:
        bits |= 1 << number
    return bits
