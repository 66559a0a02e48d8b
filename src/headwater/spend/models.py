"""Rows of the spend ledger. Money is exact, never a float."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b

import msgspec

LEVELS = ("account_id", "campaign_id", "adset_id", "ad_id")
"""The levels of an ad account, from coarse to fine."""
FIGURES = ("amount", "impressions", "clicks", "platform_conversions", "platform_revenue")


class SpendRow(msgspec.Struct, frozen=True, gc=False):
    """The cost of an account, campaign, ad set or ad on one day. An id or the country is empty if the row
    covers several.
    """

    date: date
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
    as_of: datetime | None = None
    """The platform's report time; None means now."""
    place: int = 0
    """Its index in that report."""
    names: tuple[tuple[str, str, str], ...] = ()
    """Names of its ids: the kind, the id and the name."""

    def key(self) -> bytes:
        return _hash(
            self.platform,
            self.account_id,
            self.campaign_id,
            self.adset_id,
            self.ad_id,
            self.country,
            self.currency,
        )


@lru_cache(50_000)
def _hash(*parts: str) -> bytes:
    """Cache hashes: a campaign or ad has rows on many days."""
    return blake2b("\0".join(parts).encode(), digest_size=16).digest()
