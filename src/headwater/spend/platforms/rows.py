"""Build rows of the ledger from platforms' values. Pure.

Values that are not what the platform documents raise ValueError, TypeError or KeyError, which the engine
reports as an unexpected answer.
"""

from __future__ import annotations

from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import Any, NamedTuple

from headwater.sources.ad_platforms import normalize_account
from headwater.spaces.currencies import parse_currency
from headwater.spaces.settings_input import zone_names
from headwater.spend.inputs import MAX_LENGTH, MAX_NUMBER, STEP
from headwater.spend.models import SpendRow
from headwater.spend.platforms.platform import SpendAccount

MILLION = Decimal(1_000_000)


class AdPlace(NamedTuple):
    """An id and its name for each level; empty below the row's level."""

    campaign: tuple[str, str]
    adset: tuple[str, str] = ("", "")
    ad: tuple[str, str] = ("", "")


class Figures(NamedTuple):
    amount: Decimal
    impressions: int
    clicks: int
    conversions: Decimal | None = None
    """As counted by the platform; None if it isn't asked."""
    revenue: Decimal | None = None


def make_account(account_id: str, name: Any, currency: Any, timezone: Any) -> SpendAccount:
    """Build an account, with the id that sent and imported spend has. A time zone that is not an IANA one is
    left out.
    """
    if not isinstance(currency, str):
        raise TypeError("a currency is missing")
    zone = timezone if isinstance(timezone, str) and timezone in zone_names() else None
    return SpendAccount(normalize_account(account_id), read_name(name), parse_currency(currency), zone)


def make_row(platform: str, account: SpendAccount, day: date, place: AdPlace, figures: Figures) -> SpendRow:
    levels = [(kind, level_id, _clean(name)) for kind, (level_id, name) in place._asdict().items()]
    return SpendRow(
        date=day,
        platform=platform,
        currency=account.currency,
        amount=figures.amount,
        account_id=account.id,
        campaign_id=place.campaign[0],
        adset_id=place.adset[0],
        ad_id=place.ad[0],
        impressions=figures.impressions,
        clicks=figures.clicks,
        platform_conversions=figures.conversions,
        platform_revenue=figures.revenue,
        timezone=account.timezone,
        names=tuple(level for level in levels if all(level)),
    )


def _clean(name: str) -> str:
    return name.replace("\0", "").strip()[:MAX_LENGTH]


def read_place(item: dict[str, Any], adset: str = "adset") -> AdPlace:
    """Read the ids and names of a row's levels; `adset` is the platform's word for an ad set."""
    return AdPlace(
        *(
            (read_id(item[f"{kind}_id"]), read_name(item.get(f"{kind}_name")))
            for kind in ("campaign", adset, "ad")
            if f"{kind}_id" in item
        )
    )


def read_id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value):
        raise TypeError("an id is missing")
    return str(value)


def read_name(value: Any) -> str:
    return value if isinstance(value, str) else ""


def read_money(value: Any, parts: Decimal = Decimal(1)) -> Decimal:
    """Read an amount in `parts` of a currency unit, a number or its text. Not below 0."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError("an amount is missing")
    try:
        amount = Decimal(str(value)) / parts
    except InvalidOperation:
        raise ValueError("an amount is not a number") from None
    if not amount.is_finite() or not 0 <= amount <= MAX_NUMBER:
        raise ValueError("an amount is out of range")
    return amount.quantize(STEP, ROUND_HALF_EVEN)


def read_micros(value: Any) -> Decimal:
    """Read an amount in millionths. Not below 0."""
    return read_money(value, MILLION)


def read_count(value: Any) -> int:
    """Read a count; a missing one is 0."""
    if value is None or value == "":
        return 0
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError("a count is not a number")
    count = int(value)
    if not 0 <= count < 10**15:
        raise ValueError("a count is out of range")
    return count


def read_day(value: Any) -> date:
    """Read the day at the start of an ISO date or time."""
    if not isinstance(value, str):
        raise TypeError("a day is missing")
    return date.fromisoformat(value[:10])
