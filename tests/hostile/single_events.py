"""Single events, as hostile as ingestion accepts: odd money, times, names and texts, sent by pages, webhooks
and API clients.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.support.webhook_samples import SAMPLES

AMOUNTS = (
    0, 0.0001, 0.00005, 0.01, 1, 9.999, 99.9999, 1e7, 10_000_000.0001, 99_999_999_999.9999, 1e11,
    100_000_000_000.0001, 1e12, 99_999_999_999_999.98, 1e14, None,
)  # fmt: skip
CURRENCIES = (None, "EUR", "USD", "JPY", "IDR", "KWD", "XAF", "XXX", "BTC", "ZZZ", "eur")
KNOWN = {"USD": "1.1", "JPY": "160", "IDR": "17000.123456", "KWD": "0.000000000001"}
"""The value of a euro. Other currencies have no rate."""
TEXTS = (
    "=1+1", "\uff1d1+1", "@SUM(A1)", "\t=cmd", "<script>alert(1)</script>", "'\"><img src=x>",
    "{{7*7}}",
    "${x}", "%s %(x)s {0}", "\\", "a\nb", "0", "-1", "1e308", "null", "NaN", "true", "١٢٣",
    "\u202eevil\u202c", "e\u0301" * 40, "\u200b", "\ufeffx", "👩‍👩‍👧‍👦" * 20, "ﷺ" * 50,
    "ß" * 255, "\uff21",
    "\U0010ffff", "x" * 255, "a>b > c", "none", "(not set)", "unattributed", "'; DROP TABLE x; --",
)  # fmt: skip
URLS = (
    "https://shop.example/?utm_source=google&utm_medium=cpc&utm_campaign=%3D1%2B1",
    "https://shop.example/" + "a/" * 900, "https://shop.example/?" + "x=1&" * 400,
    "https://shop.example/#utm_source=x", "https://xn--bcher-kva.example/?gclid=1",
    "https://shop.example/?utm_source=%00&utm_campaign=%F0%9F%98%80", "https://[::1]/?fbclid=2",
)  # fmt: skip
NAMES = ("purchase", "upsell_purchase", "sign_up", "custom_event_1", "custom_event_30", "lead")
TIMES = (
    "2000-01-01T00:00:00Z", "2000-02-29T23:59:59.999Z", "2024-02-29T12:00:00+14:00",
    "2025-03-30T01:30:00Z", "2025-10-26T00:30:00Z", "2025-10-26T01:30:00Z", "2011-12-30T10:00:00Z",
    "2025-12-31T23:59:59.999999Z", "2026-01-01T00:00:00.000001Z", "1999-12-31T24:00:00-12:00",
)  # fmt: skip
WAYS = ("track", "batch", "batch", "page", "page", "generic", "stripe", "shopify", "woocommerce")
SOURCES = ("google", "facebook_ads", "=1", "", "direct", "x" * 512, "ai_chat_gpt")
MONEY_FIELDS = ("amount", "amount_total", "total_price", "total")


@dataclass(frozen=True)
class HostileEvent:
    """An event and the way it is sent."""

    channel: str
    body: dict[str, Any]


def some_event(dice: Random, number: int, now: datetime) -> HostileEvent:
    """Return an event, the same for the same dice."""
    way = dice.choice(WAYS)
    amount = dice.choice(AMOUNTS)
    if amount and way in ("track", "batch") and dice.random() < 0.3:
        amount = -amount
    currency = dice.choice(CURRENCIES)
    if way in SAMPLES and way != "generic":
        return HostileEvent(way, _delivery(dice, way, number, amount, currency))
    body = {"event_name": dice.choice(NAMES), "amount": amount, "currency": currency}
    body |= _identifiers(dice, number, way)
    body |= _texts(dice)
    if way == "page":
        return HostileEvent(way, body | {"ago": dice.choice((0, 1, 86_400_000, 2_000_000_000))})
    return HostileEvent(way, body | {"event_time": _time(dice, now)})


def _identifiers(dice: Random, number: int, channel: str) -> dict[str, Any]:
    """Return identifiers of a new person, or of one of a few that several events share."""
    is_shared = dice.random() < 0.3
    person = f"h{dice.randrange(3)}" if is_shared else f"n{number}"
    identifiers = {"email": f"{person}@hostile.example"}
    if dice.random() < 0.5:
        identifiers["order_id"] = dice.choice((f"o{number}", dice.choice(TEXTS)[:255]))
    if channel != "page" and dice.random() < 0.2:
        identifiers["tracking_id"] = f"{person}-{dice.choice(TEXTS)}"[:255]
    return identifiers


def _texts(dice: Random) -> dict[str, Any]:
    fields: dict[str, Any] = {
        name: dice.choice(TEXTS)
        for name in (
            "full_name", "company_name", "company_external_id", "order_name", "checkout_token",
            "trk_campaign", "trk_ad_group", "trk_ad_id", "trk_keyword", "heard_about_us",
            "profile_field_1", "upsell_common_id", "idempotency_key", "fbp", "nonsense",
        )
        if dice.random() < 0.2
    }  # fmt: skip
    if dice.random() < 0.4:
        fields["trk_source"] = dice.choice(SOURCES)
    if dice.random() < 0.3:
        fields["url"] = dice.choice(URLS)
    if dice.random() < 0.2:
        fields["is_upsell"] = True
    if dice.random() < 0.2:
        fields["items"] = [{"id": dice.choice(TEXTS), "price": 1e14, "quantity": -1}]
    return fields


def _time(dice: Random, now: datetime) -> str | float:
    moments = (
        now, now - timedelta(minutes=1), now + timedelta(hours=23, minutes=59),
        now - timedelta(days=dice.randrange(400), microseconds=dice.randrange(10**6)),
    )  # fmt: skip
    if dice.random() < 0.5:
        return dice.choice(TIMES)
    moment = dice.choice(moments)
    return moment.isoformat() if dice.random() < 0.5 else moment.timestamp()


def _delivery(
    dice: Random, sender: str, number: int, amount: float | None, currency: str | None
) -> dict[str, Any]:
    """Return a sender's delivery with hostile money, texts and ids."""
    minor = int(abs(amount or 0) * 100)
    text = dice.choice(TEXTS)

    hostile_values: dict[str, Any] = {
        **dict.fromkeys(MONEY_FIELDS, f"{abs(amount or 0):f}"),
        **dict.fromkeys(("first_name", "utm_campaign", "company"), text),
        "email": f"n{number}@hostile.example",
    }
    if currency is not None:
        hostile_values["currency"] = currency.lower()

    def change_value(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: change_value(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [change_value(name, item) for item in value]
        if name in ("id", "number"):
            return f"{value}{number}" if isinstance(value, str) else value + number
        if name in MONEY_FIELDS and not isinstance(value, str):
            return minor
        return hostile_values.get(name, value)

    return {key: change_value(key, value) for key, value in deepcopy(SAMPLES[sender].body).items()}


def some_group(seed: int, size: int) -> list[HostileEvent]:
    """Return the events of one group."""
    dice, now = Random(seed), datetime.now(UTC)
    return [some_event(dice, 1000 * seed + number, now) for number in range(size)]
