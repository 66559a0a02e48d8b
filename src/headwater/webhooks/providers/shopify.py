"""Shopify: https://shopify.dev/docs/api/webhooks.

The same order is reported when it is made and when it is paid; they share the order id, so that a
shop that sends both counts one purchase.
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
    landing_fields,
    listed,
    listed_fields,
)
from headwater.webhooks.signatures import check_base64

_NOTES = ("note_attributes", "name")
_ONCE = ("/create", "/paid")
_LANDING = "absolute_url(landing_site, order_status_url)"


def _check(secret: bytes, message: WebhookRequest, _: WebhookSettings) -> None:
    check_base64(secret, message, "x-shopify-hmac-sha256")


def _topic(document: MappingInput, _: WebhookSettings) -> str | None:
    topic = document.headers.get("x-shopify-topic")
    if topic is not None and document.headers.get("x-shopify-test", "").lower() == "true":
        return f"{topic}.test"
    return topic


def _identity(document: MappingInput, topic: str) -> str | None:
    """Return the body's own id for topics that occur once for each object. Of a topic that occurs
    again and again, such as orders/updated, only the body distinguishes one delivery from another.
    The header with the event's id is not signed.
    """
    number = parse("id").find(document)
    return f"{topic}:{number}" if number is not None and topic.endswith(_ONCE) else None


_LANDED = landing_fields(_LANDING, *_NOTES)
_ORDER: Fields = {
    "email": first("email", "contact_email", "customer.email"),
    "phone": first("phone", "customer.phone", "shipping_address.phone", "billing_address.phone"),
    "first_name": first("customer.first_name", "billing_address.first_name"),
    "last_name": first("customer.last_name", "billing_address.last_name"),
    "event_time": first("processed_at", "created_at"),
    "amount": "total_price",
    "currency": "currency",
    "order_id": "id",
    "order_name": "name",
    "checkout_token": first("checkout_token", "cart_token"),
    "user_agent": "client_details.user_agent",
    "ip": first("browser_ip", "client_details.browser_ip"),
    "url": _LANDING,
    **listed_fields(*_NOTES),
    **_LANDED,
    "trk_source": first(_LANDED["trk_source"], "url_host(referring_site)"),
    "company_external_id": first("company.id", listed(*_NOTES, "company_external_id")),
    "company_name": first("billing_address.company", listed(*_NOTES, "company_name")),
}
_REFUND: Fields = {
    "event_time": first("processed_at", "created_at"),
    "amount": "negative(total(transactions[*].amount))",
    "currency": "transactions[0].currency",
    "order_name": "order_id",
    # A refund does not say whose it is.
    "buyer_of_order": "order_id",
}
_CUSTOMER: Fields = {
    "email": "email",
    "phone": first("phone", "default_address.phone"),
    "first_name": "first_name",
    "last_name": "last_name",
    "event_time": "created_at",
}

SHOPIFY = Provider(
    type="shopify",
    guide=Guide(
        title="Shopify",
        brings="Orders and refunds, and new customers.",
        steps=(
            (
                "In the Shopify admin open Settings, Notifications, Webhooks, and create a "
                "webhook for “Order payment” in JSON, with the address above."
            ),
            (
                "Create others with the same address for “Refund create” and, if you like, "
                "“Customer creation”."
            ),
            "That page shows the key that your webhooks are signed with: paste it below.",
        ),
        secret_maker=SecretMaker.SENDER,
        topic_header="x-shopify-topic",
    ),
    needs_secret=True,
    check=_check,
    topic=_topic,
    identity=_identity,
    events={
        "orders/create": "purchase",
        "orders/paid": "purchase",
        "refunds/create": "purchase",
        "customers/create": "sign_up",
    },
    fields={
        "orders/create": _ORDER,
        "orders/paid": _ORDER,
        "orders/updated": _ORDER,
        "refunds/create": _REFUND,
        "customers/create": _CUSTOMER,
    },
    headers=frozenset({
        "x-shopify-topic", "x-shopify-event-id", "x-shopify-webhook-id", "x-shopify-shop-domain",
        "x-shopify-test", "x-shopify-triggered-at", "x-shopify-api-version",
    }),
)  # fmt: skip
