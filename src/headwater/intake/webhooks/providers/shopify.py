"""Shopify: https://shopify.dev/docs/api/webhooks.

A created and a paid order share the order id, and count once.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, NamedTuple, cast

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
from headwater.intake.webhooks.values import to_number
from headwater.spaces.currencies import find_decimals

_NOTES = ("note_attributes", "name")
_UNIQUE_TOPICS = ("/create", "/paid")
_KINDS_BACK = frozenset({"refund", "void"})
_TEST_GATEWAYS = frozenset({"bogus", "(for testing) bogus gateway"})
_SOURCES_WITHOUT_VISITOR = frozenset(
    {
        "pos",
        "iphone",
        "android",
        "shopify_draft_order",
        "draft_order",
        "subscription_contract",
        "subscription_contract_checkout_one",
        "1354745",
    }
)
"""Sources of orders by staff, stores and subscriptions; 1354745 is Shopify's draft order app."""
_SETS = (
    "[refund.refund_line_items[:20].subtotal_set, refund.order_adjustments[:20].amount_set,"
    " [order.total_price_set]][] | [?@]"
)
"""Amounts in both currencies."""
_WORD = re.compile(r"[a-z]+")
_RENEWS, _RENEWED = frozenset({"recurring", "renewal"}), frozenset({"order", "subscription", "subscriptions"})
"""Renewal tags have a word of each set: `appstle_subscription_recurring_order`."""
_NEGATIONS = frozenset({"first", "non", "not", "no"})


def _check(secret: bytes, message: WebhookRequest, _: WebhookSettings) -> None:
    check_base64(secret, message, "x-shopify-hmac-sha256")


def _topic(document: MappingInput, _: WebhookSettings) -> str | None:
    return document.headers.get("x-shopify-topic")


def _identity(document: MappingInput, topic: str) -> str | None:
    """Return the object's id for topics that occur once, otherwise None. The event id header isn't signed."""
    number = parse("id").find(document)
    return f"{topic}:{number}" if number is not None and topic.endswith(_UNIQUE_TOPICS) else None


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
    "url": "absolute_url(landing_site, order_status_url)",
    "referrer": "referring_site",
    **listed_fields(*_NOTES),
    "company_external_id": first("company.id", write_list_field(*_NOTES, "company_external_id")),
    "company_name": first("billing_address.company", write_list_field(*_NOTES, "company_name")),
}
_CUSTOMER: Fields = {
    "email": "email",
    "phone": first("phone", "default_address.phone"),
    "first_name": "first_name",
    "last_name": "last_name",
    "event_time": "created_at",
}


def _is_test(document: MappingInput) -> bool:
    if document.headers.get("x-shopify-test", "").lower() == "true":
        return True
    transactions = [*list_objects(document, "transactions"), {"gateway": find(document, "gateway")}]
    gateways = [*_list_texts(find(document, "payment_gateway_names"))]
    gateways += [str(transaction.get("gateway")) for transaction in transactions]
    return (
        find(document, "test") is True
        or any(transaction.get("test") is True for transaction in transactions)
        or any(gateway.lower() in _TEST_GATEWAYS for gateway in gateways)
    )


def _has_no_visitor(document: MappingInput) -> bool:
    """Recognize renewals and orders by staff or stores."""
    tags = find(document, "tags")
    listed_tags = tags.split(",") if isinstance(tags, str) else _list_texts(tags)
    return str(find(document, "source_name")).lower() in _SOURCES_WITHOUT_VISITOR or any(
        map(_is_renewal_tag, listed_tags)
    )


def _is_renewal_tag(tag: str) -> bool:
    words = {*_WORD.findall(tag.lower())}
    return bool(words & _RENEWS and words & _RENEWED) and not words & _NEGATIONS


def _money_back(document: MappingInput, topic: str, current_time: float) -> AcceptedRefund | None:
    if topic == "refunds/create":
        refunds = list_objects(document, "[@]")
        return _report_refunds(document, current_time, find(document, "order_id"), refunds)
    if topic == "order_transactions/create":
        single_refund = {"id": find(document, "id"), "transactions": [document.body]}
        is_refund = str(find(document, "kind")) in _KINDS_BACK
        return _report_refunds(
            document, current_time, find(document, "order_id"), [single_refund] if is_refund else []
        )
    if topic == "orders/delete":
        void = MoneyBack(version=round(current_time * 1000))
        return report(ids(find(document, "id")), round(current_time * 1000), None, [void])
    if topic.startswith("orders/"):
        refunds = list_objects(document, "refunds")
        return _report_refunds(document, current_time, find(document, "id"), refunds, _is_void(document))
    return None


def _is_void(document: MappingInput) -> bool:
    cancelled, status = find(document, "cancelled_at"), find(document, "financial_status")
    return cancelled is not None or status == "voided"


def _report_refunds(
    document: MappingInput, current_time: float, order_id: Any, refunds: list[Any], is_void: bool = False
) -> AcceptedRefund | None:
    """Use transaction ids, so that repeats count once."""
    statements: list[MoneyBack] = []
    currency: Any = None
    times: list[Any] = []
    for refund in refunds:
        times += [refund.get("processed_at"), refund.get("created_at")]
        rates = _read_rates(refund, document)
        for index, transaction in enumerate(_list_money_transactions(refund)):
            item = ids(transaction.get("id")) or (f"{refund.get('id')}/{index}",)
            amount, currency = _in_shop_currency(transaction, rates)
            statements.append(MoneyBack(item=item[0], amount=format_amount(amount)))
    refunded_at = moment(current_time, *reversed(times), find(document, "processed_at"))
    if is_void:
        refunded_at = moment(current_time, find(document, "cancelled_at"), find(document, "updated_at"))
        statements.append(MoneyBack(version=refunded_at))
    return report(ids(order_id), refunded_at, currency, statements)


def _list_money_transactions(refund: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        transaction
        for transaction in list_objects(MappingInput(refund, {}), "transactions")
        if str(transaction.get("kind", "refund")) in _KINDS_BACK
        and transaction.get("status", "success") == "success"
    ]


def _in_shop_currency(transaction: dict[str, Any], rates: dict[str, _Rate]) -> tuple[Any, Any]:
    """Convert to the shop's currency, by its shop amount or a rate in the refund."""
    transaction_input = MappingInput(transaction, {})
    shop = find(transaction_input, "amount_set.shop_money.amount")
    if shop is not None:
        return shop, find(transaction_input, "amount_set.shop_money.currency_code")
    amount, currency = find(transaction_input, "amount"), find(transaction_input, "currency")
    rate = rates.get(currency) if isinstance(currency, str) else None
    if rate is None:
        return amount, currency
    return round(to_number(amount) * rate.shops / rate.buyers, find_decimals(rate.currency)), rate.currency


class _Rate(NamedTuple):
    buyers: Decimal
    shops: Decimal
    currency: str


def _read_rates(refund: Any, document: MappingInput) -> dict[str, _Rate]:
    rates: dict[str, _Rate] = {}
    amounts = MappingInput({"refund": refund, "order": document.body}, {})
    for pair in list_objects(amounts, _SETS):
        money = MappingInput(pair, {})
        buyers, shops = (find(money, f"{side}.amount") for side in ("presentment_money", "shop_money"))
        currency = find(money, "presentment_money.currency_code")
        shop_currency = find(money, "shop_money.currency_code")
        if buyers and shops and currency != shop_currency and to_number(buyers):
            rates[str(currency)] = _Rate(to_number(buyers), to_number(shops), str(shop_currency))
    return rates


def _list_texts(value: Any) -> list[str]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]


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
                "Create others with the same address for “Refund create”, “Order cancellation” "
                "and, if you like, “Customer creation”."
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
    events={"orders/create": "purchase", "orders/paid": "purchase", "customers/create": "sign_up"},
    fields={
        "orders/create": _ORDER,
        "orders/paid": _ORDER,
        "orders/updated": _ORDER,
        "customers/create": _CUSTOMER,
    },
    money_topics=frozenset(
        {"refunds/create", "order_transactions/create", "orders/cancelled", "orders/updated", "orders/delete"}
    ),
    money_back=_money_back,
    is_test=_is_test,
    has_no_visitor=_has_no_visitor,
    headers=frozenset(
        {
            "x-shopify-topic",
            "x-shopify-event-id",
            "x-shopify-webhook-id",
            "x-shopify-shop-domain",
            "x-shopify-test",
            "x-shopify-triggered-at",
            "x-shopify-api-version",
        }
    ),
)
