"""Rows of the spend ledger. Money is exact: no float."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b

import msgspec

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
    """Return a hash of texts: a place of an ad account stands in the rows of many days."""
    return blake2b("\0".join(parts).encode(), digest_size=16).digest()
