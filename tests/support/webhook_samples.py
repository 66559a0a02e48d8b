"""Bodies as senders document them, cut to what matters."""

from __future__ import annotations

from typing import Any

T0 = 1_778_670_000
T0_ISO = "2026-05-13T11:00:00Z"


def stripe(topic: str, data: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "evt_1", "object": "event", "type": topic, "created": T0, "livemode": True,
            "data": {"object": data, **more}}  # fmt: skip


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
ORDER = {
    "id": 820982911946154508, "name": "#1001", "email": "ada@example.com", "phone": None,
    "currency": "USD", "total_price": "403.00", "created_at": "2026-05-13T12:50:00+02:00",
    "processed_at": "2026-05-13T13:00:00+02:00", "cart_token": "cart-1", "checkout_token": "ch-1",
    "browser_ip": "192.0.2.7", "client_details": {"user_agent": "Browser/1"},
    "landing_site": "/products/x?utm_source=newsletter&utm_medium=email&utm_campaign=may",
    "referring_site": "https://www.blog.example/post",
    "order_status_url": "https://shop.example/5/orders/1/authenticate?key=1",
    "note_attributes": [{"name": "trk_token", "value": "tok-4"}, {"name": "gift", "value": "no"}],
    "customer": {"first_name": "Ada", "last_name": "L", "phone": "+15551234567"},
    "billing_address": {"company": "Acme"}, "company": {"id": 77, "location_id": 1},
}  # fmt: skip
REFUND = {
    "id": 5, "order_id": 820982911946154508, "created_at": "2026-05-13T11:00:00Z",
    "processed_at": "2026-05-13T11:00:00Z",
    "transactions": [{"amount": "10.00", "kind": "refund", "currency": "USD"},
                     {"amount": "5.50", "kind": "refund", "currency": "USD"}],
}  # fmt: skip
WOO = {
    "id": 727, "number": "727", "status": "processing", "currency": "USD", "total": "29.35",
    "order_key": "wc_order_58d2", "date_created_gmt": "2026-05-13T10:59:00",
    "date_paid_gmt": "2026-05-13T11:00:00", "date_modified_gmt": "2026-05-13T11:00:00",
    "customer_ip_address": "192.0.2.7", "customer_user_agent": "Browser/1",
    "_links": {"self": [{"href": "https://shop.example/wp-json/wc/v3/orders/727"}]},
    "billing": {"email": "ada@example.com", "first_name": "Ada", "last_name": "L",
                "phone": "(555) 123-4567", "company": "Acme"},
    "meta_data": [{"id": 1, "key": "trk_token", "value": "tok-5"},
                  {"id": 2, "key": "_wc_order_attribution_utm_source", "value": "google"},
                  {"id": 3, "key": "_wc_order_attribution_utm_medium", "value": "cpc"},
                  {"id": 4, "key": "company_external_id", "value": 12}],
}  # fmt: skip
BOOKING = {
    "event": "invitee.created", "created_at": "2026-05-13T11:00:01.000000Z",
    "payload": {
        "uri": "https://api.calendly.com/scheduled_events/E/invitees/I", "email": "ada@example.com",
        "name": "Ada L", "first_name": None, "last_name": None, "created_at": T0_ISO,
        "old_invitee": None, "text_reminder_number": "+1 555-123-4567",
        "tracking": {"utm_source": "linkedin", "utm_medium": "paid", "utm_campaign": "demo",
                     "utm_content": None, "utm_term": None, "salesforce_uuid": None},
    },
}  # fmt: skip
