"""Stripe: https://docs.stripe.com/webhooks.

One payment makes several of Stripe's events. Those that are purchases share an order id (the
invoice, else the payment intent), so that an endpoint that sends two of them counts one.
"""

from __future__ import annotations

from headwater.webhooks.expressions import parse
from headwater.webhooks.models import MappingInput, WebhookRequest, WebhookSettings
from headwater.webhooks.providers.provider import (
    Fields,
    Guide,
    Provider,
    SecretMaker,
    first,
    utm_fields,
)
from headwater.webhooks.signatures import check_timestamped

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
_ABOUT: Fields = {
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
    **_ABOUT,
    **_money("amount_total"),
    "email": first("data.object.customer_details.email", "data.object.customer_email"),
    "full_name": "data.object.customer_details.name",
    "phone": "data.object.customer_details.phone",
    "trk_token": first(f"{_METADATA}.trk_token", "data.object.client_reference_id"),
    "order_id": first("data.object.payment_intent", "data.object.invoice", "data.object.id"),
    "checkout_token": "data.object.id",
}
_INTENT: Fields = {
    **_ABOUT,
    **_money("amount_received"),
    "email": first(
        "data.object.receipt_email",
        "data.object.charges.data[0].billing_details.email",
        f"{_METADATA}.email",
    ),
    "full_name": first(
        "data.object.shipping.name", "data.object.charges.data[0].billing_details.name"
    ),
    "phone": "data.object.shipping.phone",
    "order_id": first("data.object.invoice", "data.object.id"),
}  # fmt: skip
_INVOICE: Fields = {
    **_ABOUT,
    **_money("amount_paid"),
    "email": "data.object.customer_email",
    "full_name": "data.object.customer_name",
    "phone": "data.object.customer_phone",
    "trk_token": first(
        f"{_METADATA}.trk_token",
        "data.object.parent.subscription_details.metadata.trk_token",
        "data.object.subscription_details.metadata.trk_token",
    ),
    "order_id": "data.object.id",
    "order_name": "data.object.number",
}  # fmt: skip
_REFUND: Fields = {
    **_ABOUT,
    # All that was refunded so far, less what that was before.
    "amount": "negative(from_minor_units("
              "subtract(data.object.amount_refunded, data.previous_attributes.amount_refunded), "
              "data.object.currency))",
    "currency": "data.object.currency",
    "email": first("data.object.billing_details.email", "data.object.receipt_email"),
    "full_name": "data.object.billing_details.name",
    "phone": "data.object.billing_details.phone",
    "order_name": first("data.object.invoice", "data.object.payment_intent", "data.object.id"),
    "buyer_of_order": first("data.object.invoice", "data.object.payment_intent"),
}  # fmt: skip
_CUSTOMER: Fields = {
    **_ABOUT,
    "email": "data.object.email",
    "full_name": "data.object.name",
    "phone": "data.object.phone",
}

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
                "invoice.paid for subscriptions, or payment_intent.succeeded for a form of your"
                " own; and charge.refunded for refunds."
            ),
            (
                "Save it, reveal the endpoint's signing secret, which begins with whsec_, and "
                "paste it below."
            ),
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
        "charge.refunded": "purchase",
        "customer.created": "sign_up",
    },
    fields={
        "checkout.session": _SESSION,
        "payment_intent": _INTENT,
        "invoice": _INVOICE,
        "charge": _REFUND,
        "customer": _CUSTOMER,
    },
)
