"""The sources that touches can have: the one definition of their numbers, names and channels.

A source is stored as its number, which is its place in the catalogue, from 1. Numbers are in the
database: append, never reorder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headwater.sources.networks import NUMBERS
from headwater.sources.titles import title_of

PAID_OTHER = "paid_other"
"""The source of a paid touch whose network no rule names."""

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
"""The keys of all sources, in the order of their numbers."""

PAID = "paid"
CHANNELS = (PAID, "ai", "organic", "email", "sms", "referral", "direct")
"""Kinds of sources, in the order of their numbers, from 1."""
_CHANNEL_OF = {
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


@dataclass(frozen=True)
class CatalogueSource:
    """One source."""

    number: int
    """The number under which it is stored."""
    key: str
    """Its name in reports, settings and rules."""
    api_name: str
    """Its name in answers about events and contacts, whose list of sources is fixed. Several
    sources may share one.
    """
    channel: str

    @property
    def is_paid(self) -> bool:
        return self.channel == "paid"

    @property
    def title(self) -> str:
        """The name by which people know it."""
        return title_of(self.key)


def channel_of(source: str) -> str:
    """Return the channel of a source."""
    if source.endswith("_ads"):
        return PAID
    if source.endswith("_organic"):
        return "organic"
    return "ai" if source.startswith("ai_") else _CHANNEL_OF[source]


CATALOGUE = tuple(
    CatalogueSource(number, key, "referral" if key == PAID_OTHER else key, channel_of(key))
    for number, key in enumerate(SOURCES, start=1)
)
SOURCE_IDS = {source.key: source.number for source in CATALOGUE}
LISTED_PAID_IDS = [source.number for source in CATALOGUE if source.is_paid]
PAID_IDS = [*LISTED_PAID_IDS, *NUMBERS]
"""The numbers of paid sources, those of the Spaces' own networks included."""
EVERY_ID = (*SOURCE_IDS.values(), *NUMBERS)
"""All numbers that sources can have."""
DIRECT_ID = SOURCE_IDS["direct"]
CHANNEL_IDS = {
    **{source.number: 1 + CHANNELS.index(source.channel) for source in CATALOGUE},
    **dict.fromkeys(NUMBERS, 1 + CHANNELS.index("paid")),
}
"""The channel of every source, by their numbers, ascending."""

_NETWORK_BIT = 62
"""The bit that all networks of a Space's own share. Bit 63 is the sign of PostgreSQL's bigint."""

API_NAMES = tuple(source.api_name for source in CATALOGUE)
"""The names in answers about events and contacts, in the order of the sources' numbers."""
LISTED_SOURCES = tuple(dict.fromkeys(API_NAMES))
"""The different ones of these: the values that such answers and their filters can have."""
LISTED_IDS: Mapping[str, tuple[int, ...]] = {
    name: tuple(source.number for source in CATALOGUE if source.api_name == name) for name in LISTED_SOURCES
}
"""The numbers of the sources that go by each of these names."""


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
