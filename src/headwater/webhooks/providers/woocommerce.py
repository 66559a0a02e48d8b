"""WooCommerce: https://developer.woocommerce.com/docs/webhooks.

An order is reported each time anything of it changes. Its status says what that means, so the
topics of orders are order.processing, order.completed and so on; each counts once.
"""

from __future__ import annotations

import re

from headwater.webhooks.expressions import parse
from headwater.webhooks.models import MappingInput, WebhookRequest, WebhookSettings
from headwater.webhooks.providers.provider import (
    Fields,
    Guide,
    Provider,
    SecretMaker,
    first,
    listed,
    listed_fields,
)
from headwater.webhooks.signatures import check_base64

PING = "WooCommerce's ping, which it sends when a webhook is saved."

_PING_BODY = re.compile(rb"webhook_id=[0-9]{1,18}")
_META = ("meta_data", "key")


def _check(secret: bytes, message: WebhookRequest, _: WebhookSettings) -> None:
    check_base64(secret, message, "x-wc-webhook-signature")


def _not_json(message: WebhookRequest) -> str | None:
    return PING if _PING_BODY.fullmatch(message.body.strip()) else None


def _topic(document: MappingInput, _: WebhookSettings) -> str | None:
    topic = document.headers.get("x-wc-webhook-topic")
    if topic in ("order.created", "order.updated"):
        status = parse("status").find(document)
        return f"order.{status}" if isinstance(status, str) else topic
    return topic


def _identity(document: MappingInput, topic: str) -> str | None:
    number = parse("id").find(document)
    if number is None:
        return None
    # Not the header with the shop's address, which is not signed.
    shop = parse("url_host(_links.self[0].href)").find(document)
    return f"{shop or ''}:{topic}:{number}"


def _attribution(name: str, member: str) -> str:
    """Return an expression for our own note on the order, else WooCommerce's own attribution."""
    return first(listed(*_META, name), listed(*_META, f"_wc_order_attribution_{member}"))


_ENTRY = listed(*_META, "_wc_order_attribution_session_entry")
_PERSON: Fields = {
    "email": "billing.email",
    "phone": "billing.phone",
    "first_name": "billing.first_name",
    "last_name": "billing.last_name",
    "currency": "currency",
    **listed_fields(*_META),
    "ip": "customer_ip_address",
    "company_name": first("billing.company", listed(*_META, "company_name")),
}
_ORDER: Fields = {
    **_PERSON,
    "event_time": first("date_paid_gmt", "date_created_gmt"),
    "amount": "total",
    "order_id": "id",
    "order_name": "number",
    "checkout_token": "order_key",
    "user_agent": "customer_user_agent",
    "url": _ENTRY,
    "trk_source": first(
        listed(*_META, "trk_source"),
        f"url_source({_ENTRY})",
        listed(*_META, "_wc_order_attribution_utm_source"),
    ),
    "trk_type": _attribution("trk_type", "utm_medium"),
    "trk_campaign": _attribution("trk_campaign", "utm_campaign"),
    "trk_keyword": _attribution("trk_keyword", "utm_term"),
}  # fmt: skip
_REFUNDED: Fields = {
    **_PERSON,
    "event_time": "date_modified_gmt",
    "amount": "negative(total)",
    "order_name": "number",
}
_CUSTOMER: Fields = {
    "email": "email",
    "first_name": "first_name",
    "last_name": "last_name",
    "phone": "billing.phone",
    "event_time": "date_created_gmt",
}

WOOCOMMERCE = Provider(
    type="woocommerce",
    guide=Guide(
        title="WooCommerce",
        brings="Orders and refunds, and new customers.",
        steps=(
            (
                "In WordPress open WooCommerce, Settings, Advanced, Webhooks, and add a webhook"
                " with the status Active and the topic “Order updated”."
            ),
            (
                "Paste the address above as its delivery URL and the signing secret as its "
                "secret, and choose the API version “WP REST API Integration v3”."
            ),
            "Save it. WooCommerce sends a ping at once, which appears below.",
        ),
        secret_maker=SecretMaker.OURS,
        topic_header="x-wc-webhook-topic",
    ),
    needs_secret=True,
    check=_check,
    topic=_topic,
    identity=_identity,
    events={
        "order.processing": "purchase",
        "order.completed": "purchase",
        "order.refunded": "purchase",
        "customer.created": "sign_up",
    },
    fields={"order": _ORDER, "order.refunded": _REFUNDED, "customer": _CUSTOMER},
    headers=frozenset({
        "x-wc-webhook-topic", "x-wc-webhook-source", "x-wc-webhook-id", "x-wc-webhook-delivery-id",
    }),
    not_json=_not_json,
)  # fmt: skip
