"""Random Spaces with spend, sales and rates in three currencies, with missing rates on some days; and random
questions about them. The pools are small, so that values collide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import psycopg

from headwater.events.accepted import SALES_EVENTS
from headwater.spend.models import FIGURES, LEVELS
from tests.models import spend_model
from tests.support.factories import Stage
from tests.support.report_model import loading
from tests.support.report_model.spend import Money, Spending

ZONES = ("UTC", "UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Tokyo")
CURRENCIES = ("EUR", "EUR", "USD", "JPY")
FIRST = date(2026, 5, 1)
DAYS = 40
PLATFORMS = ("google", "google", "meta", "billboard")
SOURCES = ("google_ads", "google_ads", "facebook_ads", "email", "direct")
CAMPAIGNS: tuple[dict[str, str], ...] = (
    {}, {"campaign_id": "1"}, {"campaign_id": "2", "campaign_name": "Summer"},
    {"campaign_name": "Spring"}, {"campaign_id": "1", "adset_id": "2"},
    {"campaign_id": "1", "adset_id": "2", "ad_id": "1"}, {"campaign_id": "2", "ad_name": "Blue"},
)  # fmt: skip
NAMES = ("Spring", "Blue", "Autumn")
"""Names in the ad catalogue."""
MODELS = ("first_touch", "last_touch", "linear", "u_shaped", "time_decay")
GROUPS = ("none", "source", "campaign", "adset", "ad", "country", "day", "week", "month")
TABLES = (
    "spend", "former_spend", "rates", "former_rates", "events", "touchpoints", "contacts",
    "tag_sets", "ad_names", "currency_days",
)  # fmt: skip
Rates = dict[tuple[date, str, str], Fraction]
Row = dict[str, Any]


@dataclass
class World:
    """A Space, and plain lists of the rows in its ledger and of its rates."""

    connection: psycopg.Connection
    space_id: int
    zone: str = "UTC"
    cost_rate: Decimal | None = None
    ledger: dict[tuple[Any, ...], tuple[int, ...]] = field(
        default_factory=dict[tuple[Any, ...], tuple[int, ...]]
    )
    rates: Rates = field(default_factory=Rates)

    def begin(self, zone: str, cost_rate: Decimal | None) -> None:
        """Delete everything, and begin again in euros."""
        for table in TABLES:
            self.connection.execute(f"DELETE FROM {table} WHERE space_id = %s", (self.space_id,))
        self.connection.execute(
            "UPDATE spaces SET currency = 'EUR', timezone = %s, cost_rate = %s WHERE id = %s",
            (zone, cost_rate, self.space_id),
        )
        self.zone, self.cost_rate, self.ledger, self.rates = zone, cost_rate, {}, {}

    def note(self, rows: Iterable[Row]) -> None:
        """Record that rows were put into the ledger. Of several rows with one key the last counts."""
        self.ledger |= {name_key(row): plain_figures(row) for row in rows}

    def spending(self, target: str) -> Spending:
        """Return the input of a report in a currency."""
        currencies = self.connection.execute(
            "SELECT id, currency FROM events WHERE space_id = %s", (self.space_id,)
        ).fetchall()
        return Spending(
            loading.load(self.connection, self.space_id), dict(currencies),
            [(*key, figures) for key, figures in self.ledger.items()],
            Money(target, "EUR", dict(self.rates)),
            None if self.cost_rate is None else Fraction(self.cost_rate),
        )  # fmt: skip


def name_key(row: Row) -> tuple[Any, ...]:
    ids = (row.get(name) or "" for name in LEVELS)
    prefix = (date.fromisoformat(row["date"]), row["platform"], row["currency"])
    return (*prefix, *ids, row.get("country") or "")


def plain_figures(row: Row) -> tuple[int, ...]:
    """Return the figures of a row, money and conversions in millionths."""
    units = (10**6, 1, 1, 10**6, 10**6)
    return tuple(int(Decimal(row.get(name) or 0) * unit) for name, unit in zip(FIGURES, units, strict=True))


def plain_row(row: Row) -> spend_model.Row:
    return (*name_key(row), plain_figures(row))


def some_day(dice: Random) -> date:
    return FIRST + timedelta(days=dice.randrange(DAYS))


def some_row(
    dice: Random, days: int = DAYS, currencies: tuple[str, ...] = CURRENCIES, first_day: date = FIRST
) -> Row:
    """Return a row of the ledger, at any level."""
    depth = dice.choice((0, 1, 1, 2, 2, 3, 4))
    ids = {name: dice.choice("12") for name in LEVELS[:depth]}
    if depth > 1 and dice.random() < 0.3:
        del ids["account_id"]
    return {
        "date": f"{first_day + timedelta(days=dice.randrange(days))}",
        "platform": dice.choice(PLATFORMS), "currency": dice.choice(currencies),
        "amount": f"{dice.randrange(10**8) / 10 ** dice.randrange(2, 7):f}",
        "country": dice.choice((None, None, "DE", "FR")),
        "impressions": dice.choice((None, 0, dice.randrange(1000))),
        "clicks": dice.choice((None, dice.randrange(9))),
        "platform_conversions": dice.choice((None, f"{dice.randrange(99) / 4}")),
        "platform_revenue": dice.choice((None, f"{dice.randrange(10**6) / 10**3}")), **ids,
    }  # fmt: skip


def some_rates(dice: Random, first_offset: int = 0) -> Rates:
    """Return rates of some days. Most are given directly, some are inverted or go through a third currency;
    after a gap of more than a week a rate is missing.
    """
    interval = dice.choice((2, 5, 8, 8, 30))
    rates: Rates = {}
    for offset in range(first_offset - 20, DAYS + 20):
        day = FIRST + timedelta(days=offset)
        if dice.randrange(interval) and offset % 7:
            continue
        for pair in dice.choice(
            ([("USD", "EUR"), ("JPY", "EUR")], [("EUR", "USD"), ("USD", "JPY")],
             [("EUR", "JPY"), ("EUR", "USD")])
        ):  # fmt: skip
            if dice.randrange(interval + 2) < interval or dice.random() < 0.8:
                rates[day, *pair] = Fraction(dice.randrange(1, 30_000), 10_000)
    gap_start = FIRST + timedelta(days=dice.randrange(DAYS))
    if dice.random() < 0.3:
        rates = {
            key: worth for key, worth in rates.items()
            if not gap_start <= key[0] < gap_start + timedelta(days=12)
        }  # fmt: skip
    return rates


def written_rates(rates: Rates) -> list[Row]:
    """Return rates as `PUT /rates` takes them."""
    return [
        {"date": f"{day}", "base": base, "currency": currency,
         "rate": f"{Decimal(worth.numerator) / worth.denominator:f}"}
        for (day, base, currency), worth in rates.items()
    ]  # fmt: skip


def some_sales(
    dice: Random, stage: Stage, zone: str, currencies: tuple[str, ...] = CURRENCIES,
    first_day: date = FIRST,
) -> None:  # fmt: skip
    """Store people with touches and sales, some in other currencies, at any hour."""
    for _ in range(dice.randrange(1, 5)):
        contact_id = stage.contact(country=dice.choice((None, "DE", "FR")))
        for _ in range(dice.randrange(4)):
            stage.touchpoint(
                contact_id, dice.choice(SOURCES), occurred_at=_some_moment(dice, zone, first_day),
                **dice.choice(CAMPAIGNS),
            )  # fmt: skip
        for _ in range(dice.randrange(1, 4)):
            currency = dice.choice((None, None, *currencies))
            _sell(dice, stage, contact_id, _some_moment(dice, zone, first_day), currency)


def _some_moment(dice: Random, zone: str, first_day: date) -> datetime:
    """Return a random time, often near midnight, where the day differs between zones."""
    day = first_day + timedelta(days=dice.randrange(-40, DAYS + 5))
    hour = dice.choice((0, 0, 12, 23, dice.randrange(24)))
    return datetime(day.year, day.month, day.day, hour, tzinfo=ZoneInfo(zone)).astimezone(UTC)


def _sell(dice: Random, stage: Stage, contact_id: int, moment: datetime, currency: str | None) -> None:
    amount = dice.choice((None, 0, Decimal(dice.randrange(-3000, 10**6)) / 10 ** dice.randrange(5)))
    stage.event(
        contact_id, event_name=dice.choice(("purchase", "purchase", "sign_up")), amount=amount,
        event_time=moment, currency=currency if amount else None,
    )  # fmt: skip
    if currency and amount:
        stage.connection.execute(
            "INSERT INTO currency_days (space_id, currency, day) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            (stage.space_id, currency, moment.date()),
        )


def some_names(dice: Random, stage: Stage) -> None:
    """Put random names into the ad catalogue."""
    for kind in ("campaign", "adset", "ad"):
        for identity in "12":
            if dice.random() < 0.4:
                stage.ad(kind, identity, dice.choice(NAMES))


def some_question(dice: Random) -> dict[str, Any]:
    """Return a random question with the API's parameter names."""
    first, last = sorted((some_day(dice), some_day(dice)))
    if dice.random() < 0.4:
        first, last = date(2026, 5, 1), date(2026, 5, 31)
    question: dict[str, Any] = {
        "start_date": f"{first} 00:00:00", "end_date": f"{last} 23:59:59",
        "group_by": dice.choice(GROUPS), "attribution_model": dice.choice(MODELS),
        "attribution_window": dice.choice((1, 7, 30, 0)),
        "date_basis": dice.choice(("conversion", "conversion", "touch")),
        "currency": dice.choice(("EUR", "EUR", "USD")), "limit": 1000,
        "compare": dice.choice(("none", "previous_period", "previous_year")),
    }  # fmt: skip
    if dice.random() < 0.4:
        question["event_names"] = list(dice.choice((SALES_EVENTS, ("sign_up",))))
    if dice.random() < 0.3:
        question["only"] = dice.sample(
            ("source:google_ads", "source:facebook_ads", "campaign:1", "campaign:Spring",
             "adset:2", "campaign:2"), dice.randint(1, 2),
        )  # fmt: skip
    return question
