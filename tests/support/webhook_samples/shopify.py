"""Shopify's bodies."""

from __future__ import annotations

from tests.support.webhook_samples.sample import Sample, in_base64

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

SAMPLE = Sample(
    type="shopify",
    body=ORDER,
    signature="X-Shopify-Hmac-Sha256",
    sign=in_base64,
    key="shopify:orders/paid:820982911946154508",
    headers={"X-Shopify-Topic": "orders/paid"},
)
