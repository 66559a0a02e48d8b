"""Stripe's bodies."""

from __future__ import annotations

from typing import Any

from tests.support.webhook_samples.sample import T0, Sample, sign_with_time


def stripe(topic: str, data: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"id": "evt_1", "object": "event", "type": topic, "created": T0, "livemode": True,
            "data": {"object": data, **members}}  # fmt: skip


SESSION = {
    "id": "cs_1", "object": "checkout.session", "amount_total": 4900, "currency": "usd",
    "client_reference_id": "tok-1", "customer": "cus_1", "invoice": None, "mode": "payment",
    "customer_details": {"email": "Ada@Example.com", "name": "Ada L", "phone": "+15551234567"},
    "metadata": {"utm_source": "google", "utm_medium": "cpc", "utm_campaign": "spring",
                 "company_external_id": "c-9", "company_name": "Acme"},
    "payment_intent": "pi_1", "payment_status": "paid",
}  # fmt: skip
INTENT = {
    "id": "pi_1", "object": "payment_intent", "amount": 4900, "amount_received": 4900,
    "currency": "usd", "receipt_email": "ada@example.com", "metadata": {"trk_token": "tok-2"},
    "shipping": {"name": "Ada L", "phone": "+15551234567"},
}  # fmt: skip
INVOICE = {
    "id": "in_1", "object": "invoice", "amount_paid": 1000, "currency": "jpy", "number": "A-1",
    "customer_email": "ada@example.com", "customer_name": "Ada L", "customer_phone": None,
    "metadata": {},
    "parent": {"subscription_details": {"metadata": {"trk_token": "tok-3"}}},
}  # fmt: skip
CHARGE = {
    "id": "ch_1", "object": "charge", "amount": 4900, "amount_refunded": 3000, "currency": "usd",
    "billing_details": {"email": "ada@example.com", "name": "Ada L", "phone": None},
    "payment_intent": "pi_1", "metadata": {},
}  # fmt: skip

SAMPLE = Sample(
    type="stripe",
    body=stripe("checkout.session.completed", SESSION),
    signature="Stripe-Signature",
    sign=sign_with_time,
    key="stripe:evt_1",
)
