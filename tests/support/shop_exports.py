"""Generated order exports of shops, with the awkward cases of real ones, and the expected value of each
order.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from random import Random

SHOPIFY_HEADER = (
    """
    Name,Email,Financial Status,Paid at,Fulfillment Status,Fulfilled at,Accepts Marketing,Currency,Subtotal,
    Shipping,Taxes,Total,Discount Code,Discount Amount,Shipping Method,Created at,Lineitem quantity,
    Lineitem name,Lineitem price,Lineitem sku,Billing Name,Billing Company,Billing Phone,Shipping Name,Notes,
    Note Attributes,Cancelled at,Payment Method,Payment Reference,Refunded Amount,Vendor,Id,Tags,Risk Level,
    Source,Phone,Landing Site,Referring Site
""".strip()
    .replace(",\n    ", ",")
    .split(",")
)
_LANDINGS = {
    "facebook_ads": ("/products/hat?utm_source=facebook&utm_medium=paid&utm_campaign=Spring", ""),
    "google_ads": ("/?gclid=Cj0KCQ{number}", "https://www.google.com/"),
    "google_organic": ("/blogs/news/first", "https://www.google.com/"),
    "email": ("/sale?utm_source=newsletter&utm_medium=email&utm_campaign=May", ""),
    "": ("", ""),
}
_NAMES = ("Ada Lovelace", "Zoë, Müller", 'Anna "Nan" Berg', "李 小龍", "O'Brien", "")
_NOTES = ("", "Leave it\nat the door", 'She said: "ring twice",\r\nthen wait', ",,,")
_BEGIN = datetime(2025, 3, 1, 8, tzinfo=UTC)
CANCELLED, UNPAID, TEST = "The order was cancelled.", "The order is not paid.", "It is a test order."


@dataclass
class ExpectedImport:
    """The expected result of importing the export."""

    orders: int = 0
    revenue: defaultdict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    """By currency, before refunds."""
    refunds: defaultdict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    sources: Counter[str] = field(default_factory=Counter[str])
    refusals: Counter[str] = field(default_factory=Counter[str])
    rows: int = 0
    """Rows in the table: one for each item of each order."""


def write_shopify(path: Path, orders: int, seed: str = "shopify") -> ExpectedImport:
    expected, dice = ExpectedImport(), Random(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, SHOPIFY_HEADER)
        writer.writeheader()
        for number in range(orders):
            for row in _write_order(number, dice, expected):
                expected.rows += 1
                writer.writerow(row)
    return expected


def _write_order(number: int, dice: Random, expected: ExpectedImport) -> Iterator[dict[str, str]]:
    total = Decimal(dice.randrange(0, 50_000)) / 100
    offset = timezone(timedelta(hours=dice.choice((-8, 0, 2, 5.5))))
    moment = (_BEGIN + timedelta(seconds=number * 600)).astimezone(offset)
    source = dice.choice([*_LANDINGS])
    landing_page, referrer = (text.format(number=number) for text in _LANDINGS[source])
    email = f"buyer{max(number - dice.choice((0, 0, 400)), number % 400)}@example.com"
    order = {
        "Name": f"#{1001 + number}", "Email": email, "Financial Status": "paid",
        "Paid at": f"{moment:%Y-%m-%d %H:%M:%S %z}", "Currency": dice.choice(("EUR", "EUR", "USD", "JPY")),
        "Subtotal": f"{total:.2f}", "Taxes": "0.00", "Total": f"{total:.2f}",
        "Created at": f"{moment:%Y-%m-%d %H:%M:%S %z}", "Billing Name": dice.choice(_NAMES),
        "Notes": dice.choice(_NOTES), "Note Attributes": "gift: yes\ncolour: a:b",
        "Payment Method": "Shopify Payments",
        "Refunded Amount": "0.00", "Vendor": "Acme", "Id": str(5_500_000_000_000 + number),
        "Tags": "vip, b2c",
        "Source": "web", "Phone": "", "Landing Site": landing_page, "Referring Site": referrer,
    }  # fmt: skip
    yield from _spread_items(_age(order, total, source, dice, expected), dice)


def _age(
    order: dict[str, str], total: Decimal, source: str, dice: Random, expected: ExpectedImport
) -> dict[str, str]:
    """Give an order one of the fates of a year, and count it."""
    fate, currency, refunded_amount = dice.random(), order["Currency"], Decimal(0)
    reason = ""
    if fate < 0.05:
        reason, order["Cancelled at"] = CANCELLED, order["Created at"]
        order["Financial Status"], order["Refunded Amount"] = "refunded", order["Total"]
    elif fate < 0.07:
        reason, order["Financial Status"] = CANCELLED, "voided"
    elif fate < 0.10:
        reason, order["Financial Status"], order["Paid at"] = UNPAID, "pending", ""
    elif fate < 0.11:
        reason, order["Payment Method"] = TEST, "(for testing) Bogus Gateway"
    elif fate < 0.16:
        order["Financial Status"], refunded_amount = "refunded", total
    elif fate < 0.22:
        order["Financial Status"], refunded_amount = (
            "partially_refunded",
            (total / 3).quantize(Decimal("0.01")),
        )
    elif fate < 0.26:
        order["Email"], order["Phone"] = "", f"'+49170{int(order['Id']) % 10_000_000:07}"
    elif fate < 0.28:
        # At a till: no page was visited, and the customer is unknown.
        order |= {"Email": "", "Source": "pos"}
        source = ""
    order["Refunded Amount"] = order["Refunded Amount"] if reason else f"{refunded_amount:.2f}"
    if reason:
        expected.refusals[reason] += 1
        return order
    expected.orders += 1
    expected.revenue[currency] += total
    expected.refunds[currency] += refunded_amount
    expected.sources[source] += 1
    return order


def _spread_items(order: dict[str, str], dice: Random) -> Iterator[dict[str, str]]:
    for index in range(dice.choice((1, 1, 2, 5))):
        item = {
            "Lineitem quantity": "1", "Lineitem name": f"Hat, {index}", "Lineitem price": "9.99",
            "Lineitem sku": f"HAT-{index}",
        }  # fmt: skip
        shared_cells = {name: order[name] for name in ("Name", "Email", "Created at", "Vendor", "Phone")}
        yield (order if index == 0 else shared_cells) | item
