"""WooCommerce's bodies."""

from __future__ import annotations

from tests.support.webhook_samples.sample import Sample, in_base64

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

SAMPLE = Sample(
    type="woocommerce",
    body=WOO,
    signature="X-WC-Webhook-Signature",
    sign=in_base64,
    key="woocommerce:shop.example:order.processing:727",
    headers={"X-WC-Webhook-Topic": "order.updated", "X-WC-Webhook-Source": "https://shop.example/"},
)
