"""Data that arrives after a report was read: a late order by phone, a newsletter reader who turns out to be a
customer, and corrected costs of an ad platform. Identical in every run. Pure.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from urllib.parse import urlencode

from headwater.demo.journeys import Payload, written
from headwater.demo.shops import Shop
from headwater.events.accepted import SALES_EVENTS

SPAN = range(8, 36)
"""The reported days, counted back from today."""
RESTATED = 1.18
"""The later cost of a campaign, relative to the earlier one."""
_RESTATED_DAYS = range(10, 14)


def make_earlier_events(shop: Shop, current_time: datetime) -> tuple[list[Payload], list[Payload]]:
    """Return visits and the customer's order before the report."""
    letter = urlencode({"utm_source": "newsletter", "utm_medium": "email"})
    advert = urlencode({"gclid": f"{shop.slug}-late"})
    visits = [
        {
            "occurred_at": written(current_time - timedelta(days=days)),
            "trk_token": f"{shop.slug}-{person}",
            "url": f"{shop.origin}/{shop.pages[0]}?{parameters}",
        }
        for person, days, parameters in (
            ("customer", 16, advert),
            ("reader", 15, letter),
            ("caller", 13, advert),
        )
    ]
    sign_up = _event(shop, "customer", "sign_up", current_time - timedelta(days=16))
    caller = _event(shop, "caller", "sign_up", current_time - timedelta(days=13))
    purchase = _event(shop, "customer", "purchase", current_time - timedelta(days=14), amount=shop.prices[-1])
    return visits, [sign_up, caller, purchase]


def make_later_events(shop: Shop, current_time: datetime) -> list[Payload]:
    """Return the caller's order, and the customer's login in the reader's browser."""
    order = _event(shop, "caller", "purchase", current_time - timedelta(days=12), amount=shop.prices[0])
    login = _event(shop, "customer", "custom_event_1", current_time - timedelta(minutes=1))
    return [
        {name: value for name, value in order.items() if name != "trk_token"},
        {**login, "trk_token": f"{shop.slug}-reader"},
    ]


def restated(rows: list[Payload], current_time: datetime) -> list[Payload]:
    """Correct rows that a platform has reported."""
    days = {f"{current_time.date() - timedelta(days=day)}" for day in _RESTATED_DAYS}
    first = next(row["campaign_id"] for row in rows if row.get("campaign_id"))
    return [
        row | {"amount": f"{float(row['amount']) * RESTATED:.2f}"}
        for row in rows
        if row["date"] in days and row.get("campaign_id") == first
    ]


def question(current_time: datetime) -> list[tuple[str, str]]:
    """Return the reports' subjects, in the form of the console's queries."""
    first, last = (f"{current_time.date() - timedelta(days=SPAN[index])}" for index in (-1, 0))
    dates = [("start_date", f"{first} 00:00:00"), ("end_date", f"{last} 23:59:59")]
    return [*dates, *(("event_names", name) for name in SALES_EVENTS)]


def view(current_time: datetime, snapshot: str) -> str:
    """Return the query of the changes since a snapshot."""
    first, last = (f"{current_time.date() - timedelta(days=SPAN[index])}" for index in (-1, 0))
    return urlencode({"start_date": first, "end_date": last, "since": snapshot})


def _event(shop: Shop, visitor: str, name: str, moment: datetime, **values: float) -> Payload:
    return {
        "event_name": name,
        "event_time": written(moment),
        "email": f"{visitor}@{shop.slug}.example",
        "idempotency_key": f"sample-{shop.slug}-{visitor}-{name}",
        "trk_token": f"{shop.slug}-{visitor}",
        **values,
    }
