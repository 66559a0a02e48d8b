"""Compare a pull with the ledger. Pure.

    the platform's answer      the ledger               to be stored
    campaign 1   12.00         campaign 1   12.00       nothing
    campaign 2    8.00         campaign 2    9.50       campaign 2    8.00, a correction
    campaign 3    1.00                                  campaign 3    1.00
                               campaign 4    2.00       campaign 4    0.00: it is gone

A row with the same figures is stored again only if the stored one was reported before its day ended: then it
becomes complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal

import msgspec
from msgspec import Struct

from headwater.spend.models import SpendRow

ZERO = Decimal(0)


class StoredRow(Struct, frozen=True):
    """A row of the ledger."""

    date: date
    key: bytes
    campaign_id: str
    adset_id: str
    ad_id: str
    country: str
    currency: str
    amount: Decimal
    impressions: int | None
    clicks: int | None
    platform_conversions: Decimal | None
    platform_revenue: Decimal | None
    timezone: str | None
    is_complete: bool
    """It was reported after the end of its day."""


def choose_rows(
    source: tuple[str, str], stored_rows: Iterable[StoredRow], pulled: Sequence[SpendRow]
) -> list[SpendRow]:
    """Return the rows to store; `source` is the platform and the account."""
    former_rows = {(row.date, row.key): row for row in stored_rows}
    latest_rows = {(row.date, row.key()): row for row in pulled}
    news_rows = [row for key, row in latest_rows.items() if _is_news(row, former_rows.get(key))]
    removed_rows = [row for key, row in former_rows.items() if key not in latest_rows and _has_figures(row)]
    return news_rows + [_make_zero(source, row) for row in removed_rows]


def _is_news(row: SpendRow, former_row: StoredRow | None) -> bool:
    if former_row is None:
        return _has_figures(row)
    return not former_row.is_complete or _figures(row) != _figures(former_row)


def _figures(row: SpendRow | StoredRow) -> tuple[Decimal | int | None, ...]:
    return row.amount, row.impressions, row.clicks, row.platform_conversions, row.platform_revenue


def _has_figures(row: SpendRow | StoredRow) -> bool:
    return any(_figures(row))


def _make_zero(source: tuple[str, str], row: StoredRow) -> SpendRow:
    platform, account_id = source
    zero = SpendRow(
        date=row.date,
        platform=platform,
        currency=row.currency,
        amount=ZERO,
        account_id=account_id,
        campaign_id=row.campaign_id,
        adset_id=row.adset_id,
        ad_id=row.ad_id,
        country=row.country,
        impressions=0,
        clicks=0,
        timezone=row.timezone,
    )
    conversions = None if row.platform_conversions is None else ZERO
    revenue = None if row.platform_revenue is None else ZERO
    return msgspec.structs.replace(zero, platform_conversions=conversions, platform_revenue=revenue)
