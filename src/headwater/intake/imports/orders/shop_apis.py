"""Interfaces that list the past orders of a shop: the request for a page, and the orders of an answer as
fields of an import. Pure.

A page begins after a position, which every order has, so that an interrupted import continues at any order.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from msgspec import Struct

from headwater.base.egress.calls import bearer, make_json_call
from headwater.base.egress.models import EgressRequest
from headwater.intake.protocols.values import read_members
from headwater.intake.webhooks.functions import from_minor_units
from headwater.intake.webhooks.models import MappingInput
from headwater.intake.webhooks.money_back import add_up
from headwater.intake.webhooks.providers.woocommerce import WOOCOMMERCE
from headwater.intake.webhooks.values import to_number

SHOPIFY_VERSION = "2026-10"
STRIPE_VERSION = "2024-06-20"
"""The last one whose payments name their invoice, which is the order id of webhooks."""
PAGE = 100
_ATTRIBUTION = "_wc_order_attribution_"
_VISIT = "{ landingPage referrerUrl utmParameters { source medium campaign term } }"
_SHOPIFY_ORDERS = f"""
query ($first: Int!, $query: String) {{
  orders(first: $first, query: $query, sortKey: ID) {{
    nodes {{
      legacyResourceId name email phone createdAt processedAt cancelledAt test sourceName tags
      displayFinancialStatus paymentGatewayNames customAttributes {{ key value }}
      totalPriceSet {{ shopMoney {{ amount currencyCode }} }}
      totalRefundedSet {{ shopMoney {{ amount }} }}
      customer {{ firstName lastName }}
      billingAddress {{ company phone }}
      customerJourneySummary {{ firstVisit {_VISIT} lastVisit {_VISIT} }}
    }}
  }}
}}
"""


class ShopAccess(Struct, frozen=True):
    origin: str
    secrets: Mapping[str, str]
    since: datetime | None = None


class ShopOrder(NamedTuple):
    position: str
    fields: dict[str, Any]


class ShopApi(Struct, frozen=True):
    title: str
    secrets: tuple[str, ...]
    request: Callable[[ShopAccess, str], EgressRequest]
    """Returns the request for the orders after a position; empty at the beginning."""
    read: Callable[[Any, str], list[ShopOrder]]
    """Reads the JSON answered after a position. Raises the errors of unexpected JSON."""
    origin: str = ""
    """Empty if every shop has its own."""


def _request_woocommerce(access: ShopAccess, position: str) -> EgressRequest:
    pair = f"{access.secrets['consumer_key']}:{access.secrets['consumer_secret']}"
    query = {"per_page": str(PAGE), "orderby": "id", "order": "asc", "offset": position or "0"}
    if access.since is not None:
        query |= {"after": f"{access.since.astimezone(UTC):%Y-%m-%dT%H:%M:%S}", "dates_are_gmt": "true"}
    headers = {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
    url = f"{access.origin}/wp-json/wc/v3/orders?{urlencode(query)}"
    return EgressRequest(method="GET", url=url, headers=headers)


def _read_woocommerce(answer: Any, position: str) -> list[ShopOrder]:
    begin = int(position or "0") + 1
    return [
        ShopOrder(str(index), _read_woocommerce_order(order)) for index, order in enumerate(answer, begin)
    ]


def _read_woocommerce_order(order: dict[str, Any]) -> dict[str, Any]:
    notes = {str(note["key"]): note["value"] for note in order["meta_data"]}
    billing, document = order["billing"], MappingInput(order, {})
    return {
        "order_id": str(order["id"]),
        "order_name": str(order["number"]),
        "event_time": f"{order['date_created_gmt']}Z",
        "paid_at": order.get("date_paid_gmt"),
        "status": order["status"],
        "amount": to_number(order["total"]),
        "currency": order["currency"],
        "refunded": add_up(refund["total"] for refund in order["refunds"]),
        "email": billing.get("email"),
        "phone": billing.get("phone"),
        "first_name": billing.get("first_name"),
        "last_name": billing.get("last_name"),
        "company_name": billing.get("company"),
        "url": notes.get(f"{_ATTRIBUTION}session_entry"),
        "referrer": notes.get(f"{_ATTRIBUTION}referrer"),
        "trk_source": notes.get("trk_source"),
        "utm_source": notes.get(f"{_ATTRIBUTION}utm_source"),
        "trk_type": notes.get("trk_type"),
        "utm_medium": notes.get(f"{_ATTRIBUTION}utm_medium"),
        "trk_campaign": notes.get("trk_campaign"),
        "utm_campaign": notes.get(f"{_ATTRIBUTION}utm_campaign"),
        "trk_keyword": notes.get("trk_keyword"),
        "utm_term": notes.get(f"{_ATTRIBUTION}utm_term"),
        "trk_token": notes.get("trk_token") or notes.get("_headwater_token"),
        "heard_about_us": notes.get("heard_about_us"),
        "channel": order.get("created_via"),
        "payment_method": order.get("payment_method"),
        "is_test": WOOCOMMERCE.is_test(document),
        "is_without_visit": WOOCOMMERCE.has_no_visitor(document),
    }


def _request_shopify(access: ShopAccess, position: str) -> EgressRequest:
    conditions = [f"id:>{position}"] if position else []
    if access.since is not None:
        conditions.append(f"created_at:>='{access.since.isoformat()}'")
    variables = {"first": PAGE, "query": " AND ".join(conditions)}
    url = f"{access.origin}/admin/api/{SHOPIFY_VERSION}/graphql.json"
    headers = {"X-Shopify-Access-Token": access.secrets["access_token"]}
    return make_json_call(url, {"query": _SHOPIFY_ORDERS, "variables": variables}, headers)


def _read_shopify(answer: Any, _: str) -> list[ShopOrder]:
    orders = answer["data"]["orders"]["nodes"]
    return [ShopOrder(str(order["legacyResourceId"]), _read_shopify_order(order)) for order in orders]


def _read_shopify_order(order: dict[str, Any]) -> dict[str, Any]:
    price, refunded_money = order["totalPriceSet"]["shopMoney"], order["totalRefundedSet"]["shopMoney"]
    customer, billing = read_members(order, "customer"), read_members(order, "billingAddress")
    journey = read_members(order, "customerJourneySummary")
    visit = read_members(journey, "lastVisit") or read_members(journey, "firstVisit")
    parameters = read_members(visit, "utmParameters")
    notes: list[dict[str, Any]] = order["customAttributes"]
    return {
        "order_id": str(order["legacyResourceId"]),
        "order_name": order["name"],
        "event_time": order.get("processedAt") or order["createdAt"],
        "cancelled_at": order.get("cancelledAt"),
        "status": order.get("displayFinancialStatus"),
        "amount": to_number(price["amount"]),
        "currency": price["currencyCode"],
        "refunded": to_number(refunded_money["amount"]),
        "email": order.get("email"),
        "phone": order.get("phone") or billing.get("phone"),
        "first_name": customer.get("firstName"),
        "last_name": customer.get("lastName"),
        "company_name": billing.get("company"),
        "url": visit.get("landingPage"),
        "referrer": visit.get("referrerUrl"),
        "utm_source": parameters.get("source"),
        "utm_medium": parameters.get("medium"),
        "utm_campaign": parameters.get("campaign"),
        "utm_term": parameters.get("term"),
        "note_attributes": "\n".join(f"{note['key']}: {note['value']}" for note in notes),
        "channel": order.get("sourceName"),
        "tags": ",".join(order.get("tags") or []),
        "payment_method": next(iter(order.get("paymentGatewayNames") or []), None),
        "is_test": order.get("test"),
    }


def _request_stripe(access: ShopAccess, position: str) -> EgressRequest:
    query = {"limit": str(PAGE), "expand[]": "data.latest_charge"}
    if position:
        query["starting_after"] = position
    if access.since is not None:
        query["created[gte]"] = str(int(access.since.timestamp()))
    headers = {**bearer(access.secrets["secret_key"]), "Stripe-Version": STRIPE_VERSION}
    url = f"{access.origin}/v1/payment_intents?{urlencode(query)}"
    return EgressRequest(method="GET", url=url, headers=headers)


def _read_stripe(answer: Any, _: str) -> list[ShopOrder]:
    return [ShopOrder(payment["id"], _read_stripe_payment(payment)) for payment in answer["data"]]


def _read_stripe_payment(payment: dict[str, Any]) -> dict[str, Any]:
    charge, metadata = read_members(payment, "latest_charge"), read_members(payment, "metadata")
    details, shipping = read_members(charge, "billing_details"), read_members(payment, "shipping")
    currency = payment["currency"]
    return {
        "order_id": payment.get("invoice") or payment["id"],
        "event_time": payment["created"],
        "status": {"succeeded": "paid", "canceled": "cancelled"}.get(payment["status"], "pending"),
        "amount": from_minor_units(payment["amount_received"], currency),
        "currency": currency,
        "refunded": from_minor_units(charge.get("amount_refunded") or 0, currency),
        "email": payment.get("receipt_email") or details.get("email") or metadata.get("email"),
        "phone": shipping.get("phone") or details.get("phone"),
        "full_name": shipping.get("name") or details.get("name"),
        "company_name": metadata.get("company_name"),
        "trk_token": metadata.get("trk_token"),
        "trk_source": metadata.get("trk_source") or metadata.get("utm_source"),
        "trk_type": metadata.get("trk_type") or metadata.get("utm_medium"),
        "trk_campaign": metadata.get("trk_campaign") or metadata.get("utm_campaign"),
        "trk_keyword": metadata.get("trk_keyword") or metadata.get("utm_term"),
        "is_test": payment.get("livemode") is False,
    }


SHOP_APIS: Mapping[str, ShopApi] = {
    "woocommerce": ShopApi(
        "WooCommerce", ("consumer_key", "consumer_secret"), _request_woocommerce, _read_woocommerce
    ),
    "shopify": ShopApi("Shopify", ("access_token",), _request_shopify, _read_shopify),
    "stripe": ShopApi("Stripe", ("secret_key",), _request_stripe, _read_stripe, "https://api.stripe.com"),
}
