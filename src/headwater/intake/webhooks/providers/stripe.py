"""Stripe: https://docs.stripe.com/webhooks.

Several events of a payment share an order id (the invoice, else the payment intent), and count once.
"""

from __future__ import annotations

from typing import Any

import msgspec

from headwater.events.refunds.reports import AcceptedRefund, MoneyBack
from headwater.intake.webhooks.expressions import parse
from headwater.intake.webhooks.functions import from_minor_units
from headwater.intake.webhooks.models import MappingInput, WebhookRequest, WebhookSettings
from headwater.intake.webhooks.money_back import find, format_amount, ids, moment, report
from headwater.intake.webhooks.providers.provider import (
    Fields,
    Guide,
    Provider,
    SecretMaker,
    first,
    utm_fields,
)
from headwater.intake.webhooks.signatures import check_timestamped

TOLERANCE_SECONDS = 300


def _check(secret: bytes, message: WebhookRequest, _: WebhookSettings) -> None:
    check_timestamped(secret, message, "stripe-signature", TOLERANCE_SECONDS)


def _topic(document: MappingInput, _: WebhookSettings) -> str | None:
    topic = parse("type").find(document)
    if not isinstance(topic, str):
        return None
    if topic == "checkout.session.completed":
        status = parse("data.object.payment_status").find(document)
        return topic if status == "paid" else f"{topic}.{status}"
    if topic == "invoice.paid" and parse("data.object.amount_paid").find(document) == 0:
        return "invoice.paid.nothing"
    return topic


def _identity(document: MappingInput, _: str) -> str | None:
    identity = parse("id").find(document)
    return identity if isinstance(identity, str) else None


_METADATA = "data.object.metadata"
_COMMON: Fields = {
    "event_time": "created",
    "trk_token": f"{_METADATA}.trk_token",
    "company_external_id": f"{_METADATA}.company_external_id",
    "company_name": f"{_METADATA}.company_name",
    **utm_fields(_METADATA),
}


def _money(member: str) -> Fields:
    amount = f"from_minor_units(data.object.{member}, data.object.currency)"
    return {"amount": amount, "currency": "data.object.currency"}


_SESSION: Fields = {
    **_COMMON,
    **_money("amount_total"),
    "email": first("data.object.customer_details.email", "data.object.customer_email", f"{_METADATA}.email"),
    "full_name": "data.object.customer_details.name",
    "phone": "data.object.customer_details.phone",
    "trk_token": first(f"{_METADATA}.trk_token", "data.object.client_reference_id"),
    "order_id": first("data.object.payment_intent", "data.object.invoice", "data.object.id"),
    "checkout_token": "data.object.id",
}
_INTENT: Fields = {
    **_COMMON,
    **_money("amount_received"),
    "email": first(
        "data.object.receipt_email",
        "data.object.charges.data[0].billing_details.email",
        "data.object.latest_charge.billing_details.email",
        f"{_METADATA}.email",
    ),
    "full_name": first("data.object.shipping.name", "data.object.charges.data[0].billing_details.name"),
    "phone": "data.object.shipping.phone",
    "order_id": first("data.object.invoice", "data.object.id"),
}
_INVOICE: Fields = {
    **_COMMON,
    **_money("amount_paid"),
    "email": first("data.object.customer_email", "data.object.customer.email", f"{_METADATA}.email"),
    "full_name": "data.object.customer_name",
    "phone": "data.object.customer_phone",
    "trk_token": first(
        f"{_METADATA}.trk_token",
        "data.object.parent.subscription_details.metadata.trk_token",
        "data.object.subscription_details.metadata.trk_token",
    ),
    "order_id": "data.object.id",
    "order_name": "data.object.number",
}
_CUSTOMER: Fields = {
    **_COMMON,
    "email": "data.object.email",
    "full_name": "data.object.name",
    "phone": "data.object.phone",
}

_RENEWALS = frozenset(
    {
        "subscription_cycle",
        "subscription_threshold",
        "subscription",
        "manual",
        "automatic_pending_invoice_item_invoice",
    }
)
"""Billing reasons of invoices without a visit."""


def _is_test(document: MappingInput) -> bool:
    return find(document, "livemode") is False


def _has_no_visitor(document: MappingInput) -> bool:
    return str(find(document, "data.object.billing_reason")) in _RENEWALS


def _money_back(document: MappingInput, topic: str, current_time: float) -> AcceptedRefund | None:
    kind = find(document, "data.object.object") or topic.rpartition(".")[0]
    refunded_at = moment(current_time, find(document, "created"))
    if topic.startswith("charge.dispute."):
        statements = _list_lost(document)
    elif topic == "charge.refunded":
        statements = [
            _make_statement(document, "amount_refunded", _find_charge(document, "id"), "", refunded_at)
        ]
    elif kind == "refund":
        statements = _single_refund(document, refunded_at)
    elif topic in ("invoice.paid", "invoice_payment.paid"):
        statements = []
    else:
        return None
    return report(
        _list_order_ids(document, kind), refunded_at, find(document, "data.object.currency"), statements
    )


def _list_order_ids(document: MappingInput, kind: str) -> tuple[str, ...]:
    """Return the invoice and payment intent, else the charge."""
    invoice_id = find(document, "data.object.id") if kind == "invoice" else None
    invoice = invoice_id or _find_id(document, "invoice")
    payment = _find_id(document, "payment_intent") or _find_id(document, "payment.payment_intent")
    charge = _find_charge(document, "id" if kind == "charge" else "charge")
    return ids(invoice, payment) or ids(charge)


def _find_id(document: MappingInput, member: str) -> Any:
    """Return the id of a member, which may be expanded."""
    return find(document, f"data.object.{member}.id || data.object.{member}")


def _find_charge(document: MappingInput, member: str) -> str:
    return str(_find_id(document, member) or "")


def _list_lost(document: MappingInput) -> list[MoneyBack]:
    if find(document, "data.object.status") != "lost":
        return []
    return [_make_statement(document, "amount", "dispute", str(find(document, "data.object.id")), 0)]


def _single_refund(document: MappingInput, refunded_at: int) -> list[MoneyBack]:
    """Return a single refund; the charge's events have totals."""
    status = find(document, "data.object.status")
    if status not in ("succeeded", "failed", "canceled"):
        return []
    statement = _make_statement(
        document,
        "amount",
        _find_charge(document, "charge"),
        str(find(document, "data.object.id")),
        refunded_at,
    )
    return [msgspec.structs.replace(statement, failed=status != "succeeded")]


def _make_statement(document: MappingInput, member: str, part_id: str, item: str, version: int) -> MoneyBack:
    amount = find(document, f"data.object.{member}")
    money = from_minor_units(amount, find(document, "data.object.currency"))
    return MoneyBack(part=part_id, item=item, amount=format_amount(money), version=version)


STRIPE = Provider(
    type="stripe",
    guide=Guide(
        title="Stripe",
        brings="Payments, invoices and refunds, and new customers.",
        steps=(
            (
                "In the Stripe Dashboard open Developers, Webhooks, and add an endpoint with "
                "the address above."
            ),
            (
                "Select the event checkout.session.completed for Stripe Checkout, or "
                "invoice.paid and invoice_payment.paid for subscriptions, or "
                "payment_intent.succeeded for a form of your own; and charge.refunded, "
                "refund.failed and charge.dispute.closed for money that comes back."
            ),
            ("Save it, reveal the endpoint's signing secret, which begins with whsec_, and paste it below."),
        ),
        secret_maker=SecretMaker.SENDER,
    ),
    needs_secret=True,
    check=_check,
    topic=_topic,
    identity=_identity,
    events={
        "checkout.session.completed": "purchase",
        "checkout.session.async_payment_succeeded": "purchase",
        "payment_intent.succeeded": "purchase",
        "invoice.paid": "purchase",
        "customer.created": "sign_up",
    },
    money_topics=frozenset(
        {
            "charge.refunded",
            "charge.refund.updated",
            "refund.created",
            "refund.updated",
            "refund.failed",
            "charge.dispute.closed",
            "invoice_payment.paid",
        }
    ),
    money_back=_money_back,
    is_test=_is_test,
    has_no_visitor=_has_no_visitor,
    fields={
        "checkout.session": _SESSION,
        "payment_intent": _INTENT,
        "invoice": _INVOICE,
        "customer": _CUSTOMER,
    },
)
