"""Rows of the spend ledger. Money is exact: no float."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b

import msgspec

from headwater.sources.catalogue import SOURCE_IDS

LEVELS = ("account_id", "campaign_id", "adset_id", "ad_id")
"""The places in an ad account, from the coarsest to the finest."""
FIGURES = ("amount", "impressions", "clicks", "platform_conversions", "platform_revenue")


class SpendRow(msgspec.Struct, frozen=True, gc=False):
    """The cost of one place in an ad account on one day. An id, or the country, is empty where
    the row is of more than one.
    """

    date: date
    """On the ad account's clock."""
    platform: str
    currency: str
    amount: Decimal
    account_id: str = ""
    campaign_id: str = ""
    adset_id: str = ""
    ad_id: str = ""
    country: str = ""
    impressions: int | None = None
    clicks: int | None = None
    platform_conversions: Decimal | None = None
    platform_revenue: Decimal | None = None
    timezone: str | None = None
    """The ad account's zone."""
    as_of: datetime | None = None
    """When the platform reported it; None is now."""
    place: int = 0
    """Its place in that report."""
    names: tuple[tuple[str, str, str], ...] = ()
    """What ids of it are called: the kind, the id and the name."""

    def key(self) -> bytes:
        """Return a hash of what, with the day, tells one row from another."""
        return _hash(
            self.platform, self.account_id, self.campaign_id, self.adset_id, self.ad_id,
            self.country, self.currency,
        )  # fmt: skip


@lru_cache(50_000)
def _hash(*parts: str) -> bytes:
    """Return a hash of texts: a place of an ad account stands in the rows of many days."""
    return blake2b("\0".join(parts).encode(), digest_size=16).digest()


_SAME = {
    "facebook": "meta", "fb": "meta", "bing": "microsoft", "microsoft_advertising": "microsoft",
    "adwords": "google", "twitter": "x", "snap": "snapchat", "chatgpt": "openai",
}  # fmt: skip
"""Platforms by their other names."""
_SOURCES = {"meta": "facebook_ads", "microsoft": "bing_ads", "openai": "chatgpt_ads"}
"""The sources of platforms that are called otherwise than their source."""


@lru_cache(1024)
def platform_of(text: str) -> str:
    """Return a platform by the name that somebody has for it: `Google Ads` is `google`."""
    word = re.sub(r"[^\w]+", "_", text.strip().lower()).strip("_")
    word = word.removesuffix("_ads") or word
    return _SAME.get(word, word)


def source_of(platform: str) -> str | None:
    """Return the source that clicks on a platform's ads have; None where there is none."""
    names = (_SOURCES.get(platform, f"{platform}_ads"), platform)
    return next((name for name in names if name in SOURCE_IDS), None)
