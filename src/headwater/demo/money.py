"""Daily costs of the sample ads, and exchange rates. Identical in every run. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal

from headwater.demo.journeys import DAYS, Payload
from headwater.demo.shops import AdAccount, Shop

EURO_RATES = {"EUR": Decimal(1), "USD": Decimal("0.87"), "CHF": Decimal("1.06")}
"""The approximate value of each currency in euros."""
_DAYS_AHEAD = 1
"""Days after today, which have begun somewhere."""


def rates(shop: Shop, current_time: datetime) -> list[Payload]:
    """Return a rate for each day and other currency."""
    own_currency = shop.settings["currency"]
    return [
        {
            "date": f"{day}",
            "base": currency,
            "currency": own_currency,
            "rate": f"{_rate(currency, own_currency, day)}",
        }
        for day in _days(current_time, days_ahead=_DAYS_AHEAD)
        for currency in EURO_RATES
        if currency != own_currency
    ]


def spend(shop: Shop, current_time: datetime) -> list[Payload]:
    """Omit today, which no platform has reported yet."""
    today = f"{current_time.date()}"
    return [
        row
        for account in shop.accounts
        for row in spend_of_account(shop, account, current_time)
        if row["date"] != today
    ]


def spend_of_account(shop: Shop, account: AdAccount, current_time: datetime) -> Iterator[Payload]:
    """Yield an account's rows of every day. Today is complete."""
    for day in _days(current_time, days_ahead=0):
        yield from _day(account, day, random.Random(f"{shop.seed}/{account.id}/{day}"))  # noqa: S311


def _day(account: AdAccount, day: date, dice: random.Random) -> Iterator[Payload]:
    base = {
        "date": f"{day}",
        "platform": account.platform,
        "account_id": account.id,
        "currency": account.currency,
        "timezone": account.timezone,
    }
    total = Decimal(0)
    for campaign, name, daily in account.campaigns:
        amount = _cents(daily * dice.uniform(0.7, 1.3))
        clicks = round(float(amount) / dice.uniform(0.6, 1.1))
        claimed_conversions = round(clicks * dice.uniform(0.01, 0.05))
        names = {"campaign_name": name} if name else {}
        total += amount
        yield (
            base
            | names
            | {
                "campaign_id": campaign,
                "amount": f"{amount}",
                "clicks": clicks,
                "impressions": clicks * dice.randrange(40, 90),
                "platform_conversions": claimed_conversions,
                "platform_revenue": f"{_cents(claimed_conversions * 95.0)}",
            }
        )
    if day.day == 1 and account.fee:  # for the whole account, not broken down
        yield base | {"amount": f"{total + account.fee}"}


def _days(current_time: datetime, days_ahead: int) -> list[date]:
    return [current_time.date() + timedelta(days=day) for day in range(-DAYS - 10, days_ahead + 1)]


def _rate(currency: str, own_currency: str, day: date) -> Decimal:
    """Vary the rate slightly from week to week."""
    drift = Decimal(day.toordinal() // 7 % 5 - 2) / 200
    return (EURO_RATES[currency] / EURO_RATES[own_currency] * (1 + drift)).quantize(Decimal("0.0001"))


def _cents(amount: float) -> Decimal:
    return Decimal(round(amount * 100)) / 100
