"""In any order and with any repeats, an order's deliveries give events that add up to its final amount,
computed independently in plain Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from headwater.intake.webhooks.models import Status
from tests.support.campaigns import campaign_size
from tests.support.pipeline import Accepted, Stage, add_sender, event, new_stage
from tests.support.webhook_samples.sample import T0
from tests.support.webhook_samples.shopify import ORDER
from tests.support.webhook_samples.stripe import CHARGE, INVOICE, SESSION, stripe
from tests.support.webhook_samples.woocommerce import WOO
from tests.support.webhooks import read

LIVES = campaign_size("HEADWATER_ORDER_LIVES", 10, 1000)
"""For each sender."""
Delivery = tuple[dict[str, Any], dict[str, str]]
"""A body and headers."""


@dataclass
class Life:
    """An order, its deliveries and its final amount."""

    draw: random.Random
    amount: Decimal = Decimal("100.00")
    returned_amount: Decimal = Decimal(0)
    deliveries: list[Delivery] = field(default_factory=list[Delivery])
    time: int = T0

    @property
    def remaining_amount(self) -> Decimal:
        return self.amount - min(self.amount, self.returned_amount)

    def next_time(self) -> str:
        """Return the next time as ISO 8601."""
        self.time += 60
        return datetime.fromtimestamp(self.time, UTC).strftime("%Y-%m-%dT%H:%M:%S")

    def part(self) -> Decimal:
        return Decimal(self.draw.randrange(1, 5000)) / 100


def shopify_life(life: Life) -> None:
    """Refunds with several transactions or of goods only, reported twice, a cancellation, a deletion."""
    order = {**ORDER, "total_price": "100.00", "refunds": []}

    def add_delivery(topic: str, body: dict[str, Any]) -> None:
        life.deliveries.append((body, {"X-Shopify-Topic": topic}))

    add_delivery("orders/create", order)
    add_delivery("orders/paid", order)
    for number in range(life.draw.randrange(4)):
        transactions: list[dict[str, Any]] = []
        for kind, status in life.draw.sample(SHOPIFY_TRANSACTIONS, life.draw.randrange(4)):
            amount = life.part()
            transactions.append({
                "id": number * 10 + len(transactions), "amount": str(amount), "kind": kind,
                "status": status, "currency": "USD", "gateway": "shopify_payments",
            })  # fmt: skip
            if kind in ("refund", "void") and status == "success":
                life.returned_amount += amount
        refund = {"id": number, "order_id": ORDER["id"], "transactions": transactions,
                  "processed_at": life.next_time() + "Z"}  # fmt: skip
        order = {**order, "refunds": [*order["refunds"], refund], "updated_at": life.next_time() + "Z"}
        add_delivery("refunds/create", refund)
        add_delivery("orders/updated", order)
        for transaction in transactions:
            add_delivery("order_transactions/create", {**transaction, "order_id": ORDER["id"]})
    if life.draw.random() < 0.3:
        add_delivery("orders/cancelled", {**order, "cancelled_at": life.next_time() + "Z"})
        life.returned_amount = life.amount
    if life.draw.random() < 0.3:
        add_delivery("orders/delete", {"id": ORDER["id"]})
        life.returned_amount = life.amount


SHOPIFY_TRANSACTIONS = [
    ("refund", "success"), ("refund", "failure"), ("refund", "pending"), ("refund", "error"),
    ("sale", "success"), ("capture", "success"), ("authorization", "success"), ("void", "success"),
]  # fmt: skip


def woocommerce_life(life: Life) -> None:
    """Partial refunds, some deleted later. The order is cancelled, reopened, refunded and put in trash."""
    order = {**WOO, "total": "100.00", "refunds": []}

    def add_delivery(**changes: Any) -> None:
        order.update(changes, date_modified_gmt=life.next_time())
        life.deliveries.append(({**order}, {"X-WC-Webhook-Topic": "order.updated"}))

    for status in life.draw.sample(["pending", "on-hold", "failed"], life.draw.randrange(3)):
        add_delivery(status=status)
    add_delivery(status="processing")
    for number in range(life.draw.randrange(4)):
        amount = life.part()
        add_delivery(refunds=[*order["refunds"], {"id": number, "total": f"-{amount}"}])
        if life.draw.random() < 0.3:
            add_delivery(refunds=order["refunds"][:-1])
    for status in life.draw.sample(WOO_STATUSES, life.draw.randrange(3)):
        add_delivery(status=status)
    add_delivery(status=life.draw.choice(["processing", "completed", *WOO_STATUSES]))
    is_void = order["status"] in WOO_STATUSES
    refunds = sum(-Decimal(refund["total"]) for refund in order["refunds"])
    life.returned_amount = life.amount if is_void else Decimal(refunds)


WOO_STATUSES = ["cancelled", "failed", "refunded", "trash"]


def stripe_life(life: Life) -> None:
    """Refunds reported as a total and singly, some failing. A dispute, lost or won. The order is an invoice
    or a payment.
    """
    by_invoice = life.draw.random() < 0.5
    ids = {"invoice": "in_1" if by_invoice else None, "payment_intent": "pi_1"}

    def add_delivery(topic: str, data: dict[str, Any]) -> None:
        life.next_time()
        body = {**stripe(topic, data), "created": life.time, "id": f"evt_{life.time}"}
        life.deliveries.append((body, {}))

    if by_invoice:
        add_delivery("invoice.paid", {**INVOICE, "amount_paid": 10000, "currency": "usd"})
        link = {"id": "inpay_1", "object": "invoice_payment", "invoice": "in_1",
                "payment": {"type": "payment_intent", "payment_intent": "pi_1"}}  # fmt: skip
        add_delivery("invoice_payment.paid", link)
    else:
        add_delivery("checkout.session.completed", {**SESSION, "amount_total": 10000})
    charge = {**CHARGE, **ids, "amount": 10000, "amount_refunded": 0}
    has_both = life.draw.random() < 0.5
    for number in range(life.draw.randrange(4)):
        cents = life.draw.randrange(1, 3000)
        refund = {"id": f"re_{number}", "object": "refund", "amount": cents, "charge": "ch_1",
                  "payment_intent": "pi_1", "currency": "usd"}  # fmt: skip
        charge["amount_refunded"] += cents
        add_delivery("charge.refunded", {**charge})
        if has_both:
            add_delivery("refund.created", {**refund, "status": life.draw.choice(["succeeded", "pending"])})
        if life.draw.random() < 0.3:
            add_delivery("refund.failed", {**refund, "status": "failed"})
            charge["amount_refunded"] -= cents
        else:
            life.returned_amount += Decimal(cents) / 100
    if life.draw.random() < 0.3:
        status = life.draw.choice(["lost", "won"])
        dispute = {"id": "dp_1", "object": "dispute", "amount": 2500, "charge": "ch_1",
                   "payment_intent": "pi_1", "currency": "usd", "status": status}  # fmt: skip
        add_delivery("charge.dispute.created", {**dispute, "status": "needs_response"})
        add_delivery("charge.dispute.closed", dispute)
        if status == "lost":
            life.returned_amount += 25


def generic_life(life: Life) -> None:
    """Negative amounts that refer to the order."""
    life.deliveries.append(({"email": "ada@example.com", "amount": "100.00", "order": "o1"}, {}))
    for _ in range(life.draw.randrange(4)):
        amount = life.part()
        reference = life.draw.choice(["order", "refund_of"])
        key = f"k{len(life.deliveries)}"
        life.deliveries.append(({"amount": f"-{amount}", reference: "o1", "key": key}, {}))
        life.returned_amount += amount


def calendly_life(life: Life) -> None:
    """A paid booking that is cancelled. Calendly doesn't refund it automatically."""
    payload = {"uri": "https://api.calendly.com/i/1", "email": "ada@example.com",
               "payment": {"amount": 100.0, "currency": "USD", "successful": True}}  # fmt: skip
    life.deliveries.append(({"event": "invitee.created", "payload": payload}, {}))
    life.deliveries.append(({"event": "invitee.canceled", "payload": payload}, {}))


SENDERS: dict[str, Callable[[Life], None]] = {
    "shopify": shopify_life, "woocommerce": woocommerce_life, "stripe": stripe_life,
    "generic": generic_life, "calendly": calendly_life,
}  # fmt: skip
SETTINGS = {
    "generic": {
        "event": "purchase", "map.email": "email", "map.amount": "amount", "map.order_id": "order",
        "map.buyer_of_order": "refund_of", "map.idempotency_key": "key",
    },
    "shopify": {}, "stripe": {}, "woocommerce": {}, "calendly": {},
}  # fmt: skip


def accept_delivery(kind: str, delivery: Delivery) -> list[Accepted]:
    body, headers = delivery
    outcome = read(kind, body, headers=headers, settings=SETTINGS[kind])
    assert outcome.status is not Status.REFUSED, outcome
    items = [item for item in (outcome.event, outcome.refund) if item is not None]
    return [add_sender("webhook", item) for item in items]


def run(stage: Stage, kind: str, deliveries: list[Delivery], limit: int) -> None:
    for delivery in deliveries:
        stage.put(*accept_delivery(kind, delivery))
    stage.process(limit)
    assert stage.values("rejected", "id") == []


def test_it_works(connection: psycopg.Connection) -> None:
    stage = new_stage(connection, currency="USD")
    refund = {"id": 1, "order_id": ORDER["id"], "transactions": [
        {"id": 1, "amount": "30.00", "kind": "refund", "status": "failure"},
        {"id": 2, "amount": "30.00", "kind": "refund", "status": "success"}]}  # fmt: skip
    deliveries: list[Delivery] = [
        ({**refund}, {"X-Shopify-Topic": "refunds/create"}), (ORDER, {}), (ORDER, {})
    ]  # fmt: skip
    run(stage, "shopify", deliveries, 10)
    assert sorted(map(float, stage.values("events", "amount"))) == [-30, 403]


@pytest.mark.parametrize("kind", SENDERS)
def test_any_life_in_any_order(connection: psycopg.Connection, kind: str) -> None:
    for number in range(LIVES):
        draw = random.Random(f"{kind}{number}")
        life = Life(draw)
        SENDERS[kind](life)
        arrivals = life.deliveries + draw.choices(life.deliveries, k=draw.randrange(4))
        draw.shuffle(arrivals)
        stage = new_stage(connection, currency="USD")
        run(stage, kind, arrivals, draw.choice([1, 3, 100]))
        assert sum(stage.values("events", "amount")) == life.remaining_amount, (number, arrivals)


@pytest.mark.parametrize("kind", ["shopify", "woocommerce", "stripe", "generic"])
def test_as_it_happens(connection: psycopg.Connection, kind: str) -> None:
    """At no time is more refunded than was paid, and no event is an empty refund."""
    for number in range(5):
        life = Life(random.Random(f"{kind}{number}"))
        SENDERS[kind](life)
        stage = new_stage(connection, currency="USD")
        for delivery in life.deliveries:
            run(stage, kind, [delivery], 100)
            amounts = stage.values("events", "amount")
            assert 0 <= sum(amounts) <= life.amount
            assert 0 not in amounts
        assert sum(stage.values("events", "amount")) == life.remaining_amount


def test_the_plugin_of_woocommerce_beside_its_webhook(connection: psycopg.Connection) -> None:
    """The plugin sends the order and each refund to the API, and the webhook sends the order's current state.
    A refund may be withdrawn, and the order cancelled and reopened.
    """
    for number in range(LIVES):
        draw = random.Random(f"both {number}")
        life = Life(draw)
        order = {**WOO, "total": "100.00", "status": "processing", "refunds": []}
        person = {"email": "ada@example.com", "currency": "USD"}
        key = f"woocommerce:shop.example:order:{WOO['id']}:refund"
        events = [add_sender("api_key", event(order_id=str(WOO["id"]), amount="100.00", **person))]
        for refund in range(1, draw.randrange(2, 5)):
            if draw.random() < 0.7:
                events += accept_delivery(
                    "woocommerce", ({**order, "date_modified_gmt": life.next_time()}, {})
                )
            amount = life.part()
            order["refunds"] = [*order["refunds"], {"id": refund, "total": f"-{amount}"}]
            refund_event = event(amount=f"-{amount}", idempotency_key=f"{key}:{refund}", **person)
            events += [add_sender("api_key", refund_event)] * draw.choice([1, 1, 2])
            life.returned_amount += amount
        later = (life.time + 60) * 1000
        if draw.random() < 0.5:
            life.returned_amount -= amount
            order["refunds"].pop()
            withdrawal = {"amount": "0", "event_time": later, **person}
            events.append(
                add_sender("api_key", event(**withdrawal, idempotency_key=refund_event.idempotency_key))
            )
        if draw.random() < 0.5:
            state = {"idempotency_key": f"{key}:0", **person}
            events.append(add_sender("api_key", event(**state, amount="-100.00", event_time=later)))
            events.append(add_sender("api_key", event(**state, amount="0", event_time=later + 1000)))
        events += accept_delivery("woocommerce", ({**order, "date_modified_gmt": life.next_time()}, {}))
        draw.shuffle(events)
        stage = new_stage(connection, currency="USD")
        stage.put(*events)
        stage.process(draw.choice([1, 3, 100]))
        assert sum(stage.values("events", "amount")) == life.remaining_amount, (number, events)
