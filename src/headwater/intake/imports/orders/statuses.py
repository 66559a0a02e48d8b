"""Decide whether an exported order counts: paid, not cancelled, and no test. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from headwater.http.errors import Invalid
from headwater.intake.webhooks.models import MappingInput
from headwater.intake.webhooks.providers import PROVIDERS

PAID = frozenset({"paid", "partially_refunded", "refunded", "processing", "completed"})
CANCELLED = frozenset({"cancelled", "canceled", "voided", "trash"})
UNPAID = frozenset(
    {
        "pending",
        "pending_payment",
        "authorized",
        "partially_paid",
        "unpaid",
        "expired",
        "on_hold",
        "failed",
        "draft",
        "checkout_draft",
        "auto_draft",
    }
)
IS_CANCELLED = "The order was cancelled."
IS_TEST = "It is a test order."
IS_UNPAID = "The order is not paid."
IS_UNKNOWN = "The status of the order is not known, and it has no paid date."
_SOURCE_TYPE = "_wc_order_attribution_source_type"
_MOST_CACHED = 4096


def refuse_uncounted(values: Mapping[str, Any]) -> None:
    """Raise Invalid with the reason for an order that doesn't count, except a cancelled one."""
    status = read_status(values)
    if is_cancelled(values):
        return
    if status in UNPAID:
        raise Invalid({"status": [IS_UNPAID]})
    if status and status not in PAID and not values.get("paid_at"):
        raise Invalid({"status": [IS_UNKNOWN]})
    if values.get("is_test") is True or _is_test(str(values.get("payment_method") or "")):
        raise Invalid({"payment_method": [IS_TEST]})


def is_cancelled(values: Mapping[str, Any]) -> bool:
    return bool(values.get("cancelled_at")) or read_status(values) in CANCELLED


def read_status(values: Mapping[str, Any]) -> str:
    text = str(values.get("status") or "").strip().casefold().removeprefix("wc-")
    return text.replace(" ", "_").replace("-", "_")


def has_no_visitor(values: Mapping[str, Any]) -> bool:
    """Recognize orders entered by staff, at a till or by a subscription. Webhooks have the same rule."""
    is_marked = values.get("is_without_visit") is True
    return is_marked or _has_no_visitor(str(values.get("channel") or ""), str(values.get("tags") or ""))


@lru_cache(_MOST_CACHED)
def _has_no_visitor(channel: str, tags: str) -> bool:
    notes = [{"key": _SOURCE_TYPE, "value": channel}]
    order = {"source_name": channel, "created_via": channel, "tags": tags, "meta_data": notes}
    document = MappingInput(order, {})
    return any(PROVIDERS[shop].has_no_visitor(document) for shop in ("shopify", "woocommerce"))


@lru_cache(_MOST_CACHED)
def _is_test(payment_method: str) -> bool:
    return PROVIDERS["shopify"].is_test(MappingInput({"gateway": payment_method}, {}))
