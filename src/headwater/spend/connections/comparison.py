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
from decimal import Decimal

import msgspec
from msgspec import Struct

from headwater.spend.models import SpendRow

ZERO = Decimal(0)


class StoredRow(Struct, frozen=True):
    """A row of the ledger."""

    row: SpendRow
    is_complete: bool
    """It was reported after the end of its day."""


def choose_rows(stored_rows: Iterable[StoredRow], pulled: Sequence[SpendRow]) -> list[SpendRow]:
    """Return the rows to store."""
    former_rows = {(stored.row.date, stored.row.key()): stored for stored in stored_rows}
    latest_rows = {(row.date, row.key()): row for row in pulled}
    news_rows = [row for key, row in latest_rows.items() if _is_news(row, former_rows.get(key))]
    removed_rows = [stored.row for key, stored in former_rows.items() if key not in latest_rows]
    return news_rows + [_make_zero(row) for row in removed_rows if _has_figures(row)]


def _is_news(row: SpendRow, former_row: StoredRow | None) -> bool:
    if former_row is None:
        return _has_figures(row)
    return not former_row.is_complete or _figures(row) != _figures(former_row.row)


def _figures(row: SpendRow) -> tuple[Decimal | int | None, ...]:
    return row.amount, row.impressions, row.clicks, row.platform_conversions, row.platform_revenue


def _has_figures(row: SpendRow) -> bool:
    return any(_figures(row))


def _make_zero(row: SpendRow) -> SpendRow:
    return msgspec.structs.replace(
        row,
        amount=ZERO,
        impressions=0,
        clicks=0,
        platform_conversions=None if row.platform_conversions is None else ZERO,
        platform_revenue=None if row.platform_revenue is None else ZERO,
    )
