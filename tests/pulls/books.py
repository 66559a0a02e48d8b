"""The books of a fake ad account: spend by day and ad, and later corrections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple


class AdPlace(NamedTuple):
    """Where money is spent. A campaign without ads has no ad set and no ad."""

    campaign: str
    adset: str = ""
    ad: str = ""


@dataclass
class Spent:
    amount: Decimal
    impressions: int = 1000
    clicks: int = 20
    conversions: int = 0
    revenue: Decimal = Decimal(0)


@dataclass
class Books:
    """An ad account. Amounts are in its currency, with two decimals."""

    account: str = "1234567890"
    name: str = "Main shop"
    currency: str = "EUR"
    timezone: str = "Europe/Berlin"
    figures: dict[tuple[date, AdPlace], Spent] = field(default_factory=dict[tuple[date, AdPlace], Spent])
    names: dict[str, str] = field(default_factory=dict[str, str])
    deleted: set[str] = field(default_factory=set[str])
    """Campaigns that were deleted after they had spent money."""

    def spend(self, day: date, ad_place: AdPlace, amount: str, **figures: int) -> None:
        self.figures[day, ad_place] = Spent(Decimal(amount), **figures)

    def find_name(self, level_id: str) -> str:
        return self.names.get(level_id, f"Name of {level_id}")

    def ad_rows(self, first_day: date, last_day: date) -> list[tuple[date, AdPlace, Spent]]:
        """Return the rows of ads, by day and place. Campaigns without ads have none."""
        return [row for row in self._rows(first_day, last_day) if row[1].ad]

    def campaign_rows(self, first_day: date, last_day: date) -> list[tuple[date, AdPlace, Spent]]:
        totals: dict[tuple[date, AdPlace], Spent] = {}
        for day, ad_place, spent in self._rows(first_day, last_day):
            total = totals.setdefault((day, AdPlace(ad_place.campaign)), Spent(Decimal(0), 0, 0))
            total.amount += spent.amount
            total.impressions += spent.impressions
            total.clicks += spent.clicks
            total.conversions += spent.conversions
            total.revenue += spent.revenue
        return [(day, ad_place, spent) for (day, ad_place), spent in totals.items()]

    def total(self, first_day: date, last_day: date) -> Decimal:
        return sum((spent.amount for _, _, spent in self._rows(first_day, last_day)), Decimal(0))

    def without_deleted(self) -> Books:
        kept = {key: spent for key, spent in self.figures.items() if key[1].campaign not in self.deleted}
        return replace(self, figures=kept)

    def _rows(self, first_day: date, last_day: date) -> Iterator[tuple[date, AdPlace, Spent]]:
        for (day, ad_place), spent in sorted(self.figures.items(), key=lambda item: item[0]):
            if first_day <= day <= last_day:
                yield day, ad_place, spent


def fill(books: Books, last_day: date, days: int = 40) -> Books:
    """Add two campaigns with ads and one without, on the days up to `last_day`."""
    for days_ago in range(days):
        day = last_day - timedelta(days=days_ago)
        books.spend(day, AdPlace("11", "111", "1111"), f"{10 + days_ago % 7}.25", conversions=1)
        books.spend(day, AdPlace("11", "112", "1121"), f"{3 + days_ago % 3}.10")
        books.spend(day, AdPlace("12", "121", "1211"), "7.00", clicks=0)
        books.spend(day, AdPlace("13"), f"{20 + days_ago % 5}.33")
    return books
