"""Answers of the endpoints of the spend ledger."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from msgspec import Meta, Struct

from headwater.http.answers import DataPage, Instant


class SpendRowAnswer(Struct, frozen=True):
    """Spend of one day and place, reported by its platform."""

    date: date
    platform: str
    account_id: str | None
    campaign_id: str | None
    adset_id: str | None
    ad_id: str | None
    country: str | None
    currency: str
    amount: float
    impressions: int | None
    clicks: int | None
    platform_conversions: float | None
    platform_revenue: float | None
    timezone: str | None
    as_of: Instant
    complete: Annotated[
        bool,
        Meta(description="Whether the report was made after the end of the day in the account's time zone."),
    ]


class SpendPage(DataPage[SpendRowAnswer], frozen=True):
    """One page of the spend ledger."""


class SpendDeletion(Struct, frozen=True):
    """The rows that were deleted, or with `preview` would be, and their first and last day."""

    rows: int
    deleted: bool
    first_day: date | None
    last_day: date | None
