"""Every endpoint and import keeps an amount and its currency, with or without a stored rate."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from tests.conftest import Running
from tests.mcp.assistants import connect
from tests.support.factories import Stage
from tests.support.importing import Importer
from tests.support.pipeline import Stage as Queue
from tests.support.reading_fixtures import Api
from tests.support.sites import Site, event
from tests.support.webhook_samples.calendly import BOOKING
from tests.support.webhook_samples.shopify import ORDER
from tests.support.webhook_samples.stripe import CHARGE, INTENT, INVOICE, SESSION, stripe
from tests.support.webhook_samples.woocommerce import WOO
from tests.support.webhooks import Hooks, map_event, map_refund

CODES = (
    "USD", "EUR", "GBP", "JPY", "KWD", "CHF", "SEK", "XAF", "XOF", "ISK", "UGX", "HUF", "TWD",
    "CLP", "VND", "KRW", "BHD", "TND", "BRL", "INR", "ZAR", "MXN", "AUD", "ZWL",
)  # fmt: skip
WITHOUT_DECIMALS = {"JPY", "XAF", "XOF", "CLP", "VND", "KRW"}
WITH_THOUSANDTHS = {"KWD", "BHD", "TND"}
PLACES = {**dict.fromkeys(WITHOUT_DECIMALS, 0), **dict.fromkeys(WITH_THOUSANDTHS, 3)}

Sales = list[tuple[Decimal, str]]


def draw_sales(seed: int) -> Sales:
    """Draw an amount in each currency, with the currency's decimals."""
    dice = random.Random(seed)
    return [(Decimal(dice.randrange(1, 10**7)).scaleb(-PLACES.get(code, 2)), code) for code in CODES]


def in_minor_units(amount: Decimal, code: str) -> int:
    return int(amount.scaleb(PLACES.get(code, 2)))


def stored_amounts(stage: Stage) -> set[tuple[Decimal, str]]:
    """Process the inbox, and return the amounts and currencies of all events."""
    Queue(stage.connection, stage.space_id).process()
    rows = stage.connection.execute(
        "SELECT trim_scale(amount), currency FROM events WHERE space_id = %s", (stage.space_id,)
    ).fetchall()
    assert len(rows) == len(CODES)
    return {(amount, code) for amount, code in rows}


def payload(number: int, amount: Decimal, code: str) -> dict[str, Any]:
    spelling = code.lower() if number % 3 else f" {code}"
    return {
        "event_name": "purchase", "email": f"buyer{number}@example.com", "amount": float(amount),
        "currency": spelling, "order_id": f"o-{number}",
    }  # fmt: skip


def send_singly(api: Api, sales: Sales) -> None:
    for number, sale in enumerate(sales):
        body = payload(number, *sale)
        assert api.send("POST", "/events/track", json=body).status_code == 202


def send_in_batch(api: Api, sales: Sales) -> None:
    body = {"events": [payload(number, *sale) for number, sale in enumerate(sales)]}
    assert api.send("POST", "/events/batch", json=body).status_code == 202


@pytest.mark.parametrize("send", [send_singly, send_in_batch])
def test_it_works(api: Api, stage: Stage, send: Callable[[Api, Sales], None]) -> None:
    sales = draw_sales(1)
    send(api, sales)
    assert stored_amounts(stage) == set(sales)
    rows = api.get("/events", params={
        "start_date": "2020-01-01 00:00:00", "end_date": "2030-01-01 00:00:00",
        "fields": ["amount", "currency", "amount_in_space_currency"],
    }).json()["data"]  # fmt: skip
    assert {(Decimal(str(row["amount"])), row["currency"]) for row in rows} == set(sales)
    without_rate = {row["currency"] for row in rows if row["amount_in_space_currency"] is None}
    assert without_rate == {*CODES} - {"USD"}
    row = api.get(f"/events/{rows[0]['id']}").json()
    assert {name: row[name] for name in ("amount", "currency")} == {
        name: rows[0][name] for name in ("amount", "currency")
    }


def test_pages_keep_them(site: Site, stage: Stage) -> None:
    sales = draw_sales(2)
    items = [
        event(amount=float(amount), currency=code, order_id=f"o-{number}")
        for number, (amount, code) in enumerate(sales)
    ]
    assert site.report(*items).status_code == 202
    assert stored_amounts(stage) == set(sales)


@pytest.mark.parametrize("name", ["orders.csv", "orders.ndjson"])
def test_imports_keep_them(importer: Importer, stage: Stage, name: str) -> None:
    sales = draw_sales(3)
    rows = [payload(number, *sale) for number, sale in enumerate(sales)]
    importer.run("events", importer.write(name, *rows))
    assert stored_amounts(stage) == set(sales)


def test_assistants_keep_them(server: Running, stage: Stage) -> None:
    sales = draw_sales(4)
    with connect(server, stage.connection, stage.space_id) as assistant:
        for number, sale in enumerate(sales):
            assistant.call("track_event", **payload(number, *sale))
    assert stored_amounts(stage) == set(sales)


def shopify(number: int, amount: Decimal, code: str) -> Any:
    return {**ORDER, "id": number + 1, "currency": code, "total_price": f"{amount}"}


def woocommerce(number: int, amount: Decimal, code: str) -> Any:
    return {**WOO, "id": number + 1, "currency": code, "total": f"{amount}"}


def calendly(number: int, amount: Decimal, code: str) -> Any:
    payment = {"amount": float(amount), "currency": code, "successful": True}
    invitee = {"uri": f"https://api.calendly.com/i/{number}", "payment": payment}
    return {**BOOKING, "payload": {**BOOKING["payload"], **invitee}}


def checkout(number: int, amount: Decimal, code: str) -> Any:
    paid = {"amount_total": in_minor_units(amount, code), "currency": code.lower()}
    intent = {"payment_intent": f"pi_{number}"}
    body = stripe("checkout.session.completed", {**SESSION, **paid, **intent})
    return {**body, "id": f"evt_{number}"}


def generic(number: int, amount: Decimal, code: str) -> Any:
    return {"email": f"buyer{number}@example.com", "amount": f"{amount}", "in": code, "id": number}


SENDERS = {
    "shopify": shopify, "woocommerce": woocommerce, "calendly": calendly, "stripe": checkout,
    "generic": generic,
}  # fmt: skip


@pytest.mark.parametrize("kind", SENDERS)
def test_webhooks_keep_them(webhooks: Hooks, stage: Stage, kind: str) -> None:
    sales = draw_sales(5)
    if kind == "generic":
        hook = webhooks.generic(map__currency='"in"', map__order_id="id")
    else:
        hook = webhooks.make(kind)
    for number, sale in enumerate(sales):
        headers = {"X_Shopify_Webhook_Id": f"{number}"} if kind == "shopify" else {}
        answer = hook.deliver(SENDERS[kind](number, *sale), **headers)
        assert answer.status_code == 200, answer.text
    assert stored_amounts(stage) == set(sales)
    assert not [detail for detail in hook.deliveries("detail") if "Left out" in detail]


@pytest.mark.parametrize(("amount", "code"), draw_sales(6))
def test_every_event_of_stripe_keeps_them(amount: Decimal, code: str) -> None:
    units = in_minor_units(amount, code)
    for topic, data, member in (
        ("payment_intent.succeeded", INTENT, "amount_received"),
        ("invoice.paid", INVOICE, "amount_paid"),
    ):
        body = stripe(topic, {**data, member: units, "currency": code.lower()})
        event = map_event("stripe", body)
        assert (Decimal(event["amount"]), event["currency"]) == (amount, code), topic
    charge = {**CHARGE, "amount_refunded": units, "currency": code.lower()}
    refund = map_refund("stripe", stripe("charge.refunded", charge))
    (statement,) = refund["statements"]
    assert (Decimal(statement["amount"]), refund["currency"]) == (amount, code)


def test_a_row_names_the_currency_of_the_space_where_it_has_none(api: Api, stage: Stage) -> None:
    queue = Queue(stage.connection, stage.space_id)
    for number, currency in enumerate((None, "", "  ")):
        body = {**payload(number, Decimal(5), "USD"), "currency": currency}
        assert api.send("POST", "/events/track", content=json.dumps(body)).status_code == 202
    queue.process()
    rows = api.get("/events", params={
        "start_date": "2020-01-01 00:00:00", "end_date": "2030-01-01 00:00:00",
        "fields": ["currency", "amount_in_space_currency"],
    }).json()["data"]  # fmt: skip
    assert [(row["currency"], row["amount_in_space_currency"]) for row in rows] == [("USD", 5)] * 3
