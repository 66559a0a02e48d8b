"""The event that each type makes from its sender's documented bodies, and how settings change it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from headwater.intake.webhooks.mapping import DESTINATIONS
from headwater.intake.webhooks.models import Status
from headwater.intake.webhooks.providers import PROVIDERS
from headwater.intake.webhooks.settings_input import read_settings
from tests.support.webhook_samples.calendly import BOOKING
from tests.support.webhook_samples.sample import T0, T0_ISO
from tests.support.webhook_samples.shopify import ORDER, REFUND
from tests.support.webhook_samples.stripe import CHARGE, INTENT, INVOICE, SESSION, stripe
from tests.support.webhook_samples.woocommerce import WOO
from tests.support.webhooks import map_event, map_refund, read

PERSON = {"email": "ada@example.com", "full_name": "Ada L", "event_time": T0 * 1000}
NAMED = {"email": "ada@example.com", "first_name": "Ada", "last_name": "L"}


def test_it_works() -> None:
    """Stripe Checkout."""
    assert map_event("stripe", stripe("checkout.session.completed", SESSION)) == {
        **PERSON, "event_name": "purchase", "amount": "49", "currency": "USD", "order_id": "pi_1",
        "checkout_token": "cs_1", "trk_token": "tok-1", "phone": "+15551234567",
        "trk_source": "google", "trk_type": "cpc", "trk_campaign": "spring",
        "company_external_id": "c-9", "company_name": "Acme", "idempotency_key": "stripe:evt_1",
    }  # fmt: skip


def test_stripe_s_other_purchases() -> None:
    assert map_event("stripe", stripe("payment_intent.succeeded", INTENT)) == {
        **PERSON, "event_name": "purchase", "amount": "49", "currency": "USD", "order_id": "pi_1",
        "trk_token": "tok-2", "phone": "+15551234567", "idempotency_key": "stripe:evt_1",
    }  # fmt: skip
    assert map_event("stripe", stripe("invoice.paid", INVOICE)) == {
        **PERSON, "event_name": "purchase", "amount": "1000", "currency": "JPY", "order_id": "in_1",
        "order_name": "A-1", "trk_token": "tok-3", "idempotency_key": "stripe:evt_1",
    }  # fmt: skip


def test_one_payment_has_one_order_id() -> None:
    """Any of Stripe's events for the payment give the same order id."""
    subscription = {**SESSION, "payment_intent": None, "invoice": "in_1", "mode": "subscription"}
    of_invoice = {**INTENT, "invoice": "in_1"}
    orders = [
        map_event("stripe", stripe(topic, data))["order_id"]
        for topic, data in [
            ("checkout.session.completed", subscription),
            ("invoice.paid", INVOICE),
            ("payment_intent.succeeded", of_invoice),
        ]
    ]
    assert orders == ["in_1"] * 3


def test_stripe_s_refund_is_the_sum_of_all_so_far() -> None:
    """It names the invoice and the payment intent. The order has one of these ids."""
    assert map_refund("stripe", stripe("charge.refunded", CHARGE)) == {
        "order_ids": ["pi_1"], "at": T0 * 1000, "currency": "USD",
        "statements": [{"part": "ch_1", "amount": "30", "version": T0 * 1000}],
    }  # fmt: skip
    of_invoice = {**CHARGE, "invoice": "in_1"}
    refund = map_refund("stripe", stripe("charge.refunded", of_invoice))
    assert refund["order_ids"] == ["in_1", "pi_1"]


def test_stripe_s_customer() -> None:
    customer = {"id": "cus_1", "email": "ada@example.com", "name": "Ada L", "phone": None}
    assert map_event("stripe", stripe("customer.created", customer)) == {
        **PERSON, "event_name": "sign_up", "idempotency_key": "stripe:evt_1",
    }  # fmt: skip


@pytest.mark.parametrize("topic", ["orders/create", "orders/paid"])
def test_shopify_s_order(topic: str) -> None:
    headers = {"X-Shopify-Topic": topic, "X-Shopify-Event-Id": "e-1"}
    assert map_event("shopify", ORDER, headers=headers) == {
        **NAMED, "event_name": "purchase", "event_time": T0 * 1000, "amount": "403",
        "currency": "USD",
        "order_id": "820982911946154508", "order_name": "#1001", "checkout_token": "ch-1",
        "trk_token": "tok-4", "phone": "+15551234567", "user_agent": "Browser/1",
        "url": "https://shop.example/products/x?utm_source=newsletter&utm_medium=email"
               "&utm_campaign=may",
        "referrer": "https://www.blog.example/post",
        "company_external_id": "77", "company_name": "Acme",
        "idempotency_key": f"shopify:{topic}:820982911946154508",
    }  # fmt: skip


def test_a_note_of_shopify_s_order_names_the_source() -> None:
    notes = [{"name": "trk_source", "value": "tiktok_ads"}]
    assert map_event("shopify", {**ORDER, "note_attributes": notes})["trk_source"] == "tiktok_ads"


def test_shopify_s_fingerprint_needs_its_ip() -> None:
    notes = [{"name": "fingerprint", "value": "fp"}]
    event = map_event("shopify", {**ORDER, "note_attributes": notes})
    assert (event["fingerprint"], event["ip"]) == ("fp", "192.0.2.7")
    event = map_event("shopify", {**ORDER, "note_attributes": notes, "browser_ip": None})
    assert event.keys().isdisjoint({"fingerprint", "ip"})


def test_shopify_s_refund_is_of_its_order() -> None:
    headers = {"X-Shopify-Topic": "refunds/create"}
    assert map_refund("shopify", REFUND, headers=headers) == {
        "order_ids": ["820982911946154508"], "at": T0 * 1000, "currency": "USD",
        "statements": [{"item": "5/0", "amount": "10"}, {"item": "5/1", "amount": "5.5"}],
    }  # fmt: skip


def test_shopify_s_customer() -> None:
    customer = {"id": 7, "email": "ada@example.com", "first_name": "Ada", "last_name": "L",
                "phone": None, "created_at": T0_ISO}  # fmt: skip
    headers = {"X-Shopify-Topic": "customers/create"}
    assert map_event("shopify", customer, headers=headers) == {
        **NAMED, "event_name": "sign_up", "event_time": T0 * 1000,
        "idempotency_key": "shopify:customers/create:7",
    }  # fmt: skip


def test_woocommerce_s_order() -> None:
    assert map_event("woocommerce", WOO) == {
        **NAMED, "event_name": "purchase", "event_time": T0 * 1000, "amount": "29.35",
        "currency": "USD",
        "order_id": "727", "order_name": "727", "checkout_token": "wc_order_58d2",
        "trk_token": "tok-5", "phone": "(555) 123-4567", "user_agent": "Browser/1",
        "trk_source": "google", "trk_type": "cpc", "referrer": "",
        "company_external_id": "12", "company_name": "Acme",
        "idempotency_key": "woocommerce:shop.example:order.processing:727",
    }  # fmt: skip


def test_the_token_of_the_woocommerce_plugin() -> None:
    notes = [{"key": "_headwater_token", "value": "tok-7"}]
    headers = {"X-WC-Webhook-Topic": "order.updated"}
    assert map_event("woocommerce", {**WOO, "meta_data": notes}, headers=headers)["trk_token"] == "tok-7"


def test_woocommerce_s_statuses() -> None:
    completed_order = map_event("woocommerce", {**WOO, "status": "completed"})
    assert (completed_order["event_name"], completed_order["order_id"]) == ("purchase", "727")
    for status in ("refunded", "cancelled", "failed", "trash"):
        refund = map_refund("woocommerce", {**WOO, "status": status})
        assert (refund["order_ids"], refund["statements"]) == (
            ["727"], [{"version": T0 * 1000}]
        )  # fmt: skip
    for status in ("pending", "on-hold", "checkout-draft"):
        assert read("woocommerce", {**WOO, "status": status}).status is Status.IGNORED


def test_woocommerce_s_ping_and_customer() -> None:
    assert read("woocommerce", b"webhook_id=12").status is Status.IGNORED
    customer = {"id": 3, "email": "ada@example.com", "first_name": "Ada", "last_name": "L",
                "date_created_gmt": "2026-05-13T11:00:00", "billing": {},
                "_links": WOO["_links"]}  # fmt: skip
    headers = {"X-WC-Webhook-Topic": "customer.created"}
    assert map_event("woocommerce", customer, headers=headers) == {
        **NAMED, "event_name": "sign_up", "event_time": T0 * 1000,
        "idempotency_key": "woocommerce:shop.example:customer.created:3",
    }  # fmt: skip


def test_calendly_s_booking() -> None:
    assert map_event("calendly", BOOKING) == {
        **PERSON, "event_name": "schedule", "phone": "+1 555-123-4567",
        "trk_source": "linkedin", "trk_type": "paid", "trk_campaign": "demo",
        "idempotency_key": "calendly:invitee.created:"
                           "https://api.calendly.com/scheduled_events/E/invitees/I",
    }  # fmt: skip


MOVED = copy.deepcopy(BOOKING)
MOVED["payload"]["old_invitee"] = "https://api.calendly.com/scheduled_events/D/invitees/H"  # type: ignore[index]

IGNORED = [
    ("stripe", stripe("customer.subscription.created", {}), {}, "customer.subscription.created"),
    ("stripe", stripe("checkout.session.completed", {**SESSION, "payment_status": "unpaid"}), {},
     "checkout.session.completed.unpaid"),
    ("stripe", stripe("invoice.paid", {**INVOICE, "amount_paid": 0}), {}, "invoice.paid.nothing"),
    ("stripe", {"type": 7}, {}, "It has no topic."),
    ("stripe", [1], {}, "It has no topic."),
    ("shopify", ORDER, {"X-Shopify-Topic": "orders/updated"}, "orders/updated"),
    ("shopify", ORDER, {"X-Shopify-Test": "true"}, "orders/paid: test order"),
    ("calendly", MOVED, {}, "invitee.created.rescheduled"),
    ("calendly", {**BOOKING, "event": "invitee.canceled"}, {}, "invitee.canceled"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "body", "headers", "reason"), IGNORED)
def test_other_bodies_are_ignored(kind: str, body: Any, headers: dict[str, str], reason: str) -> None:
    outcome = read(kind, body, headers=headers)
    assert (outcome.status, outcome.event) == (Status.IGNORED, None)
    assert reason in outcome.detail


def test_settings_go_over_what_is_ready_made() -> None:
    unpaid = stripe("checkout.session.completed", {**SESSION, "payment_status": "unpaid"})
    settings = {
        "event.checkout.session.completed.unpaid": "initiate_checkout",
        "event.customer.created": "",
        "map.profile_field_1": "data.object.mode",
        "map.profile_field_16@checkout.session.completed.unpaid": "data.object.amount_total",
        "map.profile_field_17@other": "data.object.amount_total",
        "map.idempotency_key": "data.object.id",
        "map.phone": "",
        "map.is_upsell": "'true'",
        "map.amount": "`12.5`",
    }
    event = map_event("stripe", unpaid, settings=settings)
    assert (event["event_name"], event["amount"], event["is_upsell"]) == (
        "initiate_checkout", "12.5", True,
    )  # fmt: skip
    assert event["profile_fields"] == {"1": "payment", "16": "4900"}
    assert event["idempotency_key"] == "cs_1"
    assert "phone" not in event
    customer = stripe("customer.created", {"email": "ada@example.com"})
    assert read("stripe", customer, settings=settings).status is Status.IGNORED


@pytest.mark.parametrize("kind", PROVIDERS)
def test_the_tables_are_sound(kind: str) -> None:
    """Every predefined expression is valid and maps to an existing field."""
    provider = PROVIDERS[kind]
    for fields in provider.fields.values():
        assert fields.keys() <= DESTINATIONS.keys()
        pairs = {f"map.{name}": text for name, text in fields.items()}
        read_settings(kind, {**pairs, "event": "purchase"} if kind == "generic" else pairs)
    pairs = {f"event.{topic}": name for topic, name in provider.events.items()}
    assert read_settings(kind, pairs or {"event": "purchase"})


@pytest.mark.parametrize(
    ("currency", "amount", "refunded"),
    [("KWD", "3.105", "3.105"), ("USD", "10.00", "10"), ("JPY", "1601", "1601")],
)
def test_a_converted_refund_has_the_decimals_of_its_currency(
    currency: str, amount: str, refunded: str
) -> None:
    """So a refund of the whole order leaves nothing of it."""
    total = {
        "shop_money": {"amount": amount, "currency_code": currency},
        "presentment_money": {"amount": "9.37", "currency_code": "EUR"},
    }
    transaction = {"id": 9, "amount": "9.37", "currency": "EUR", "kind": "refund", "status": "success"}
    body = {
        "id": 5,
        "order_id": 7,
        "transactions": [transaction],
        "refund_line_items": [{"subtotal_set": total}],
    }
    refund = map_refund("shopify", body, headers={"X-Shopify-Topic": "refunds/create"})
    assert (refund["currency"], refund["statements"]) == (currency, [{"item": "9", "amount": refunded}])


def test_a_refund_in_the_buyer_s_currency_is_read_in_the_shop_s() -> None:
    """The shop's amount comes from the transaction, or else from the exchange rate of one of the refund's
    lines.
    """

    def order_with_buyer(shop: str, buyer: str) -> dict[str, Any]:
        return {"shop_money": {"amount": shop, "currency_code": "USD"},
                "presentment_money": {"amount": buyer, "currency_code": "EUR"}}  # fmt: skip

    transaction = {"id": 9, "amount": "9.20", "currency": "EUR", "kind": "refund",
                   "status": "success"}  # fmt: skip
    line = {"subtotal_set": order_with_buyer("20.00", "18.40")}
    for details in (
        {"transactions": [{**transaction, "amount_set": order_with_buyer("10.00", "9.20")}]},
        {"transactions": [transaction], "refund_line_items": [line]},
        {"transactions": [transaction], "order_adjustments": [{"amount_set": order_with_buyer("5", "4.6")}]},
    ):
        refund = map_refund(
            "shopify", {"id": 5, "order_id": 7, **details}, headers={"X-Shopify-Topic": "refunds/create"}
        )
        assert (refund["currency"], refund["statements"]) == (
            "USD", [{"item": "9", "amount": "10"}]
        )  # fmt: skip
