"""WooCommerce: https://developer.woocommerce.com/docs/webhooks.

Orders are reported with every change. The status is part of the topic (order.processing), which counts once
per order.
"""

from __future__ import annotations

import re

from headwater.events.refunds.reports import AcceptedRefund, MoneyBack
from headwater.intake.webhooks.expressions import parse
from headwater.intake.webhooks.models import MappingInput, WebhookRequest, WebhookSettings
from headwater.intake.webhooks.money_back import find, format_amount, ids, list_objects, moment, report
from headwater.intake.webhooks.providers.provider import (
    Fields,
    Guide,
    Provider,
    SecretMaker,
    first,
    listed_fields,
    write_list_field,
)
from headwater.intake.webhooks.signatures import check_base64

PING = "WooCommerce's ping, which it sends when a webhook is saved."

_PING_BODY = re.compile(rb"webhook_id=[0-9]{1,18}")
_META = ("meta_data", "key")


def _check(secret: bytes, message: WebhookRequest, _: WebhookSettings) -> None:
    check_base64(secret, message, "x-wc-webhook-signature")


def _not_json(message: WebhookRequest) -> str | None:
    return PING if _PING_BODY.fullmatch(message.body.strip()) else None


def _topic(document: MappingInput, _: WebhookSettings) -> str | None:
    topic = document.headers.get("x-wc-webhook-topic")
    if topic in ("order.created", "order.updated", "order.restored"):
        status = parse("status").find(document)
        return f"order.{status}" if isinstance(status, str) else topic
    return topic


def _identity(document: MappingInput, topic: str) -> str | None:
    number = parse("id").find(document)
    if number is None:
        return None
    # The header with the shop's address isn't signed.
    shop = parse("url_host(_links.self[0].href)").find(document)
    return f"{shop or ''}:{topic}:{number}"


_ENTRY = write_list_field(*_META, "_wc_order_attribution_session_entry")


def _attribution(name: str, member: str) -> str:
    """Try our order note, then WooCommerce's attribution, which knows fewer click ids than landing pages."""
    shops = write_list_field(*_META, f"_wc_order_attribution_{member}")
    return first(write_list_field(*_META, name), f"!url_source({_ENTRY}) && ({shops}) || `null`")


_PERSON: Fields = {
    "email": first("billing.email", "customer.email", write_list_field(*_META, "_billing_email")),
    "phone": first("billing.phone", "shipping.phone"),
    "first_name": "billing.first_name",
    "last_name": "billing.last_name",
    "currency": "currency",
    **listed_fields(*_META),
    "trk_token": first(write_list_field(*_META, "trk_token"), write_list_field(*_META, "_headwater_token")),
    "ip": "customer_ip_address",
    "company_name": first("billing.company", write_list_field(*_META, "company_name")),
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
    "referrer": write_list_field(*_META, "_wc_order_attribution_referrer"),
    "trk_source": _attribution("trk_source", "utm_source"),
    "trk_type": _attribution("trk_type", "utm_medium"),
    "trk_campaign": _attribution("trk_campaign", "utm_campaign"),
    "trk_keyword": _attribution("trk_keyword", "utm_term"),
}
_CUSTOMER: Fields = {
    "email": "email",
    "first_name": "first_name",
    "last_name": "last_name",
    "phone": "billing.phone",
    "event_time": "date_created_gmt",
}

_VOID = frozenset({"cancelled", "failed", "refunded", "trash", "deleted"})
"""Statuses of refunded or unpaid orders."""
_PAID = frozenset({"processing", "completed"})
_TEST_MODES = frozenset({"test", "sandbox", "testing", "development"})
_GATEWAY_MODE = re.compile(
    r"_wcpay_mode|_ppcp_paypal_payment_mode|_mollie_payment_mode|_wc_[a-z0-9_]+_environment"
)
"""Order notes with a gateway's test mode."""
_STAFF_SOURCES = frozenset({"admin", "subscription", "pos", "pos-rest-api"})
"""Sources of orders without a visit."""
_RENEWAL = frozenset({"_subscription_renewal"})
_SOURCE_TYPE = "_wc_order_attribution_source_type"


def _read_notes(document: MappingInput) -> dict[str, str]:
    """Keep the last of repeated notes."""
    notes = list_objects(document, "meta_data")
    return {
        str(note.get("key")): str(note.get("value")).strip().lower()
        for note in notes
        if isinstance(note.get("value"), str | int)
    }


def _is_test(document: MappingInput) -> bool:
    return any(
        _GATEWAY_MODE.fullmatch(key) and value in _TEST_MODES for key, value in _read_notes(document).items()
    )


def _has_no_visitor(document: MappingInput) -> bool:
    """Recognize renewals, and orders by staff or at a till."""
    notes = _read_notes(document)
    return (
        str(find(document, "created_via")) in _STAFF_SOURCES
        or notes.get(_SOURCE_TYPE) in _STAFF_SOURCES
        or any(notes.get(key) for key in _RENEWAL)
    )


def _money_back(document: MappingInput, topic: str, current_time: float) -> AcceptedRefund | None:
    base, _, status = topic.partition(".")
    if base != "order" or status not in _VOID | _PAID:
        return None
    # Deleting or restoring an order doesn't change date_modified.
    is_moved = document.headers.get("x-wc-webhook-topic") in ("order.deleted", "order.restored")
    refunded_at = moment(current_time, None if is_moved else find(document, "date_modified_gmt"))
    totals = [refund.get("total") for refund in list_objects(document, "refunds")]
    amount = None if status in _VOID else format_amount(*totals)
    statement = MoneyBack(amount=amount, version=refunded_at)
    return report(ids(find(document, "id")), refunded_at, find(document, "currency"), [statement])


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
            "Save it. WooCommerce immediately sends a ping, which appears below.",
        ),
        secret_maker=SecretMaker.OURS,
        topic_header="x-wc-webhook-topic",
    ),
    needs_secret=True,
    check=_check,
    topic=_topic,
    identity=_identity,
    events={"order.processing": "purchase", "order.completed": "purchase", "customer.created": "sign_up"},
    fields={"order": _ORDER, "customer": _CUSTOMER},
    money_topics=frozenset({f"order.{status}" for status in _VOID}),
    money_back=_money_back,
    is_test=_is_test,
    has_no_visitor=_has_no_visitor,
    headers=frozenset(
        {"x-wc-webhook-topic", "x-wc-webhook-source", "x-wc-webhook-id", "x-wc-webhook-delivery-id"}
    ),
    not_json=_not_json,
)
