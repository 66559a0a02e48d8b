"""How each sender marks test orders and orders without a visitor."""

from __future__ import annotations

from itertools import product
from typing import Any

import psycopg
import pytest

from headwater.events.touchpoints.classification import read_event_touch, read_landing_touch
from headwater.http.errors import Invalid
from headwater.intake.imports.orders.records import read as read_past_order
from headwater.intake.imports.orders.shop_apis import SHOP_APIS
from headwater.intake.webhooks.models import Status
from headwater.sources.evidence import Landing
from headwater.sources.space_rules import SHIPPED_RULES
from tests.support.pipeline import Stage, add_sender, new_stage
from tests.support.webhook_samples import SAMPLES
from tests.support.webhook_samples.shopify import ORDER, REFUND
from tests.support.webhook_samples.stripe import CHARGE, INTENT, INVOICE, SESSION, stripe
from tests.support.webhook_samples.woocommerce import WOO
from tests.support.webhooks import RECEIVED, Hooks, map_event, read

GENERIC = {"email": "ada@example.com", "amount": 5, "order": "o1"}
MAPPED = {"event": "purchase", "map.email": "email", "map.amount": "amount",
          "map.order_id": "order"}  # fmt: skip


def note(key: str, value: str) -> dict[str, Any]:
    return {**WOO, "meta_data": [*WOO["meta_data"], {"key": key, "value": value}]}  # type: ignore[misc]


def test_mode(topic: str, data: dict[str, Any]) -> dict[str, Any]:
    return {**stripe(topic, data), "livemode": False}


test_mode.__test__ = False  # type: ignore[attr-defined]

REFUND_TOPIC = {"X-Shopify-Topic": "refunds/create"}
TESTS: list[tuple[str, Any, dict[str, str]]] = [
    ("shopify", {**ORDER, "test": True}, {}),
    ("shopify", {**ORDER, "test": True}, {"X-Shopify-Topic": "orders/create"}),
    ("shopify", ORDER, {"X-Shopify-Test": "true"}),
    ("shopify", {**ORDER, "payment_gateway_names": ["bogus"]}, {}),
    ("shopify", {**ORDER, "payment_gateway_names": ["(for testing) Bogus Gateway"]}, {}),
    ("shopify", {**ORDER, "gateway": "bogus"}, {}),
    ("shopify", {**REFUND, "transactions": [{**REFUND["transactions"][0], "test": True}]},  # type: ignore[index]
     REFUND_TOPIC),
    ("shopify", {**REFUND, "transactions": [{**REFUND["transactions"][0], "gateway": "bogus"}]},  # type: ignore[index]
     REFUND_TOPIC),
    ("stripe", test_mode("checkout.session.completed", SESSION), {}),
    ("stripe", test_mode("payment_intent.succeeded", INTENT), {}),
    ("stripe", test_mode("invoice.paid", INVOICE), {}),
    ("stripe", test_mode("charge.refunded", CHARGE), {}),
    ("stripe", test_mode("customer.created", {"email": "ada@example.com"}), {}),
    ("woocommerce", note("_wcpay_mode", "test"), {}),
    ("woocommerce", note("_mollie_payment_mode", "test"), {}),
    ("woocommerce", note("_ppcp_paypal_payment_mode", "sandbox"), {}),
    ("woocommerce", note("_wc_braintree_credit_card_environment", "sandbox"), {}),
    ("woocommerce", {**note("_wcpay_mode", "test"), "status": "refunded"}, {}),
    ("generic", {**GENERIC, "test": True}, {}),
    ("generic", {**GENERIC, "livemode": False}, {}),
    ("generic", {**GENERIC, "sandbox": True}, {}),
    ("generic", {**GENERIC, "is_test": True, "amount": -5}, {}),
    ("generic", {**GENERIC, "test_mode": True}, {}),
]  # fmt: skip
REAL: list[tuple[str, Any, dict[str, str]]] = [
    ("shopify", {**ORDER, "test": False}, {}),
    ("shopify", {**ORDER, "test": None}, {}),
    ("shopify", {**ORDER, "payment_gateway_names": ["shopify_payments"]}, {}),
    ("stripe", stripe("checkout.session.completed", SESSION), {}),
    ("stripe", {**stripe("invoice.paid", INVOICE), "livemode": None}, {}),
    ("woocommerce", note("_wcpay_mode", "prod"), {}),
    ("woocommerce", note("_mollie_payment_mode", "live"), {}),
    ("woocommerce", {**WOO, "payment_method": "bacs"}, {}),
    ("woocommerce", {**WOO, "payment_method": "cod"}, {}),
    ("generic", {**GENERIC, "test": False}, {}),
    ("generic", {**GENERIC, "test": "spring"}, {}),
    ("generic", {**GENERIC, "livemode": True}, {}),
]


def webhook_settings(kind: str) -> dict[str, str]:
    return MAPPED if kind == "generic" else {}


def test_it_works(webhooks: Hooks) -> None:
    """A test order is reported and counted but makes no event, unless the webhook accepts test orders."""
    hook = webhooks.make("shopify")
    answer = hook.deliver({**ORDER, "test": True}).json()
    assert (answer["status"], "test order" in answer["message"]) == ("ignored", True)
    hook.queue().process()
    assert hook.queue().values("events", "id") == []
    assert hook.deliveries("is_test") == [True]
    counting_hook = webhooks.make("shopify", test_orders="count")
    assert counting_hook.deliver({**ORDER, "test": True}).json()["status"] == "accepted"


@pytest.mark.parametrize(("kind", "body", "headers"), TESTS)
def test_test_orders(kind: str, body: Any, headers: dict[str, str]) -> None:
    outcome = read(kind, body, headers=headers, settings=webhook_settings(kind))
    assert (outcome.status, outcome.is_test) == (Status.IGNORED, True)
    assert outcome.event is outcome.refund is None
    settings = {**webhook_settings(kind), "test_orders": "count"}
    assert read(kind, body, headers=headers, settings=settings).status is Status.ACCEPTED


@pytest.mark.parametrize(("kind", "body", "headers"), REAL)
def test_real_orders(kind: str, body: Any, headers: dict[str, str]) -> None:
    assert read(kind, body, headers=headers, settings=webhook_settings(kind)).event is not None


def test_a_mapping_says_what_a_test_is() -> None:
    settings = {**MAPPED, "map.test_order": "contains(email, '@acme.test') && 'true' || 'false'"}
    assert read("generic", {**GENERIC, "email": "qa@acme.test"}, settings=settings).is_test
    assert read("generic", {**GENERIC, "test": True}, settings=settings).event is not None


# Orders without a visitor

ATTRIBUTED = [
    {"key": "_wc_order_attribution_utm_source", "value": "google"},
    {"key": "_wc_order_attribution_utm_medium", "value": "cpc"},
    {"key": "_wc_order_attribution_session_entry", "value": "https://s.example/?gclid=1"},
]
NOTED = [{"name": "trk_source", "value": "google_ads"}, {"name": "trk_token", "value": "t1"}]
METADATA = {"utm_source": "google", "utm_medium": "cpc", "trk_token": "t1"}


def woo(**changes: Any) -> dict[str, Any]:
    notes = changes.pop("notes", {})
    note_rows = [{"key": key, "value": value} for key, value in notes.items()]
    return {**WOO, "meta_data": [*ATTRIBUTED, *note_rows], **changes}


def shop(**changes: Any) -> dict[str, Any]:
    return {**ORDER, "note_attributes": NOTED, "landing_site": "/?gclid=1", **changes}


def invoice(reason: str) -> dict[str, Any]:
    data = {**INVOICE, "currency": "usd", "billing_reason": reason, "metadata": METADATA}
    return stripe("invoice.paid", data)


WITHOUT_VISITOR: list[tuple[str, Any]] = [
    ("woocommerce", woo(notes={"_subscription_renewal": "55"})),
    ("woocommerce", woo(notes={"_subscription_renewal": 55})),
    ("woocommerce", woo(created_via="subscription")),
    ("woocommerce", woo(created_via="admin")),
    ("woocommerce", woo(created_via="pos-rest-api")),
    ("woocommerce", woo(notes={"_wc_order_attribution_source_type": "admin"})),
    ("woocommerce", woo(notes={"_wc_order_attribution_source_type": "pos"})),
    ("shopify", shop(source_name="pos")),
    ("shopify", shop(source_name="POS")),
    ("shopify", shop(source_name="iphone")),
    ("shopify", shop(source_name="android")),
    ("shopify", shop(source_name="shopify_draft_order")),
    ("shopify", shop(source_name="subscription_contract")),
    ("shopify", shop(source_name="subscription_contract_checkout_one")),
    ("shopify", shop(tags="vip, Subscription Recurring Order")),
    ("shopify", shop(tags=["Subscription Recurring Order"])),
    ("stripe", invoice("subscription_cycle")),
    ("stripe", invoice("subscription_threshold")),
    ("stripe", invoice("manual")),
    ("stripe", invoice("subscription")),
]
WITH_VISITOR: list[tuple[str, Any]] = [
    ("woocommerce", woo(created_via="checkout")),
    ("woocommerce", woo(created_via="store-api")),
    ("woocommerce", woo(notes={"_wc_order_attribution_source_type": "utm"})),
    ("shopify", shop(source_name="web")),
    ("shopify", shop(source_name="580111", tags="vip")),
    ("shopify", shop(tags="Subscription First Order")),
    ("stripe", invoice("subscription_create")),
    ("stripe", stripe("checkout.session.completed", SESSION)),
]


def store_order(connection: psycopg.Connection, kind: str, body: Any) -> Stage:
    outcome = read(kind, body)
    assert outcome.event is not None, outcome
    stage = new_stage(connection, currency="USD")
    stage.run(add_sender("webhook", outcome.event))
    return stage


@pytest.mark.parametrize(("kind", "body"), WITHOUT_VISITOR)
def test_an_order_without_a_visitor(connection: psycopg.Connection, kind: str, body: Any) -> None:
    """It counts but makes no touchpoint, whatever attribution was copied to it."""
    stage = store_order(connection, kind, body)
    assert stage.values("touchpoints", "id") == []
    ((amount, name),) = stage.rows("events", "amount", "event_name")
    assert (amount > 0, name) == (True, "purchase")
    kinds = stage.values("contact_identifiers", "kind")
    assert "email" in kinds
    assert "trk_token" not in kinds


@pytest.mark.parametrize(("kind", "body"), WITH_VISITOR)
def test_an_order_with_a_visitor(connection: psycopg.Connection, kind: str, body: Any) -> None:
    assert len(store_order(connection, kind, body).values("touchpoints", "id")) == 1


def test_an_order_at_the_counter_has_no_customer(connection: psycopg.Connection) -> None:
    """It still counts, for a contact without any details."""
    no_customer = {"email": None, "contact_email": None, "customer": None, "billing_address": None}
    stage = store_order(connection, "shopify", {**shop(source_name="pos"), **no_customer,
                                                "note_attributes": []})  # fmt: skip
    assert stage.values("contacts", "email") == [None]
    assert read("shopify", {**ORDER, **no_customer, "note_attributes": []}).status is Status.REFUSED


@pytest.mark.parametrize("kind", ["shopify", "woocommerce"])
def test_of_notes_written_twice_the_later_ones_count(kind: str) -> None:
    key, path = ("name", "note_attributes") if kind == "shopify" else ("key", "meta_data")
    body: dict[str, Any] = SAMPLES[kind].body
    names = ("trk_token", "trk_source", "trk_type", "trk_campaign", "trk_network", "trk_ad_id",
             "trk_ad_group", "trk_keyword", "fingerprint", "heard_about_us")  # fmt: skip
    for name in names:
        notes = [{key: name, "value": text} for text in ("old", "new", "")]
        assert map_event(kind, {**body, path: notes})[name] == "new"


# The page before the visit

RETURNS = [
    "https://www.paypal.com/", "https://paypal.com/checkoutnow?token=1", "https://shop.example/",
    "https://shop.example/checkouts/c/1", "https://www.shop.example/cart",
    "https://accounts.google.com/", "https://checkout.stripe.com/c/pay/1",
]  # fmt: skip


@pytest.mark.parametrize("referrer", RETURNS)
def test_a_page_that_is_no_source(connection: psycopg.Connection, referrer: str) -> None:
    """Any sender may send it, in any of its fields."""
    host = referrer.split("/")[2]
    deliveries = [
        ("shopify", {**ORDER, "landing_site": "/", "referring_site": referrer}, {}),
        ("woocommerce", {**WOO, "meta_data": [
            {"key": "_wc_order_attribution_referrer", "value": referrer}]}, {}),
        ("woocommerce", {**WOO, "meta_data": [
            {"key": "_wc_order_attribution_utm_source", "value": host},
            {"key": "_wc_order_attribution_utm_medium", "value": "referral"},
            {"key": "_wc_order_attribution_referrer", "value": referrer}]}, {}),
        ("generic", {**GENERIC, "from": referrer}, {**MAPPED, "map.referrer": "from"}),
        ("generic", {**GENERIC, "from": host}, {**MAPPED, "map.trk_source": "from"}),
    ]  # fmt: skip
    for kind, body, settings in deliveries:
        outcome = read(kind, body, settings=settings)
        assert outcome.event is not None
        stage = new_stage(connection, own_domains=["shop.example"])
        stage.run(add_sender("webhook", outcome.event))
        assert stage.values("touchpoints", "id") == [], (kind, body)


@pytest.mark.parametrize(
    "referrer", ["https://www.google.com/", "https://blog.example/post", "https://m.facebook.com/"]
)
def test_a_page_that_is_a_source(connection: psycopg.Connection, referrer: str) -> None:
    body = {**ORDER, "landing_site": "/", "referring_site": referrer}
    stage = store_order(connection, "shopify", body)
    assert stage.values("touchpoints", "referrer_host") == [referrer.split("/")[2]]


@pytest.mark.parametrize("host", ["a\0b.example", f"{'a' * 2048}.example"])
def test_a_referrer_that_cannot_be_stored_is_left_out(connection: psycopg.Connection, host: str) -> None:
    """The order was rejected, or its touchpoint had a host of any length."""
    body = {**ORDER, "landing_site": "/?gclid=1", "referring_site": f"https://{host}/", "note_attributes": []}
    stage = store_order(connection, "shopify", body)
    assert stage.values("rejected", "id") == []
    assert stage.rows("touchpoints", "source_rule", "referrer_host") == [("gclid", None)]
    assert "The referrer" in read("shopify", body).detail


LANDINGS = [
    ("/?utm_source=google&utm_medium=cpc&utm_campaign=spring", ""), ("/?gclid=1", ""),
    ("/?gclid=1", "https://www.linkedin.com/"), ("/?utm_source=paypal.com&utm_medium=referral", ""),
    ("/?utm_source=checkout.stripe.com", "https://checkout.stripe.com/"), ("/?fbclid=1", ""),
    ("/?utm_source=fb-paid&utm_medium=cpc", ""), ("/?utm_campaign=a%2520b&utm_source=fb", ""),
    ("/?utm_source=(not+set)&utm_medium=(none)", "https://www.google.com/"),
    ("/#utm_source=newsletter&utm_medium=email", ""), ("/", "https://blog.example/post"), ("/", ""),
]  # fmt: skip


@pytest.mark.parametrize(("landing", "referrer"), LANDINGS)
def test_a_landing_page_makes_the_touch_of_a_page_view(landing: str, referrer: str) -> None:
    """Its source, the rule that chose it, and its campaign; without a source, none."""
    url = f"https://shop.example{landing}"
    touch = read_landing_touch(Landing(url, referrer or None), 0, SHIPPED_RULES)
    deliveries = [
        ("shopify", {**ORDER, "landing_site": landing, "referring_site": referrer,
                     "note_attributes": []}, {}),
        ("woocommerce", {**WOO, "meta_data": [
            {"key": "_wc_order_attribution_session_entry", "value": url},
            {"key": "_wc_order_attribution_referrer", "value": referrer}]}, {}),
        ("generic", {**GENERIC, "page": url, "from": referrer},
         {**MAPPED, "map.url": "page", "map.referrer": "from"}),
    ]  # fmt: skip
    for kind, body, settings in deliveries:
        event = read(kind, body, settings=settings).event
        assert event is not None
        assert read_event_touch(event, 0) == touch, kind


def test_the_landing_page_names_the_source_before_woocommerce_does() -> None:
    """WooCommerce knows no msclkid, so it takes an ad on Bing for a search."""
    tags = {"utm_source": "bing", "utm_medium": "organic", "session_entry": "https://shop.example/?msclkid=1"}
    notes = [{"key": f"_wc_order_attribution_{name}", "value": value} for name, value in tags.items()]
    body = {**WOO, "meta_data": notes, "refunds": []}
    (order,) = SHOP_APIS["woocommerce"].read([body], "")
    for event in (read("woocommerce", body).event, read_past_order(order.fields, RECEIVED).event):
        assert event is not None
        touch = read_event_touch(event, 0)
        assert touch is not None
        assert touch.source_rule == "msclkid"


@pytest.mark.parametrize("key", ["_wcpay_mode", "_subscription_renewal", "_wc_order_attribution_source_type"])
def test_woocommerce_s_notes_mean_the_same_in_past_orders(key: str) -> None:
    value = {"_wcpay_mode": "test", "_subscription_renewal": "12"}.get(key, "admin")
    (order,) = SHOP_APIS["woocommerce"].read([{**note(key, value), "refunds": []}], "")
    if key == "_wcpay_mode":
        with pytest.raises(Invalid):
            read_past_order(order.fields, RECEIVED)
    else:
        assert read_event_touch(read_past_order(order.fields, RECEIVED).event, 0) is None


@pytest.mark.parametrize(
    ("landing", "referrer", "tags"),
    [
        ("/?utm_source=partner-x", "https://www.google.com/", {"utm_source": "partner-x"}),
        ("/?utm_source=paypal.com", "", {"utm_source": "paypal.com", "utm_medium": "referral"}),
        ("/?utm_source=paypal.com", "https://www.google.com/", {"utm_source": "paypal.com"}),
        ("/?utm_campaign=spring", "https://www.google.com/", {"utm_campaign": "spring"}),
        ("/", "https://blog.example/post", {"utm_source": "blog.example", "utm_medium": "referral"}),
    ],
)
def test_tags_that_woocommerce_read_itself_change_no_touch(
    landing: str, referrer: str, tags: dict[str, str]
) -> None:
    """Its names of sources are no listed ones."""
    url = f"https://shop.example{landing}"
    touch = read_landing_touch(Landing(url, referrer), 0, SHIPPED_RULES)
    visit = {**tags, "session_entry": url, "referrer": referrer}
    notes = [{"key": f"_wc_order_attribution_{name}", "value": value} for name, value in visit.items()]
    body = {**WOO, "meta_data": notes, "refunds": []}
    (order,) = SHOP_APIS["woocommerce"].read([body], "")
    for event in (read("woocommerce", body).event, read_past_order(order.fields, RECEIVED).event):
        assert event is not None
        assert read_event_touch(event, 0) == touch


def test_a_note_without_a_source_keeps_the_referrer() -> None:
    notes = [{"name": "trk_campaign", "value": "spring"}]
    body = {
        **ORDER,
        "landing_site": "/",
        "referring_site": "https://www.google.com/",
        "note_attributes": notes,
    }
    event = read("shopify", body).event
    assert event is not None
    touch = read_event_touch(event, 0)
    assert touch is not None
    assert (touch.source_rule, touch.ad.campaign_name) == ("referrer", "spring")


def test_a_visit_that_the_tracker_recorded_can_be_left_out() -> None:
    event = read("shopify", {**ORDER, "note_attributes": []}, settings={"map.referrer": ""}).event
    assert event is not None
    assert event.url is not None
    assert read_event_touch(event, 0) is None


TAGGED = {"landing_site": "/?utm_source=google&utm_medium=cpc&utm_campaign=spring", "note_attributes": []}


@pytest.mark.parametrize("parts", [*product(
    ("", "Appstle ", "loop-"), ("recurring", "Renewal"), ("order", "Subscription"), (" ", "_", "-"),
)])  # fmt: skip
def test_tags_of_renewals_make_no_touch(parts: tuple[str, str, str, str]) -> None:
    app, renews, renewal_of, separator = parts
    for words in ((renews, renewal_of), (renewal_of, renews)):
        tags = f"vip, {app}{separator.join(words)}"
        order = map_event("shopify", {**ORDER, **TAGGED, "tags": tags})
        assert "trk_source" not in order, tags
        assert "url" not in order, tags


@pytest.mark.parametrize("tags", [
    "Subscription First Order", "non-recurring order", "recurring customer", "Subscription",
    "renewal-mail", "",
])  # fmt: skip
def test_other_tags_keep_the_touch(tags: str) -> None:
    order = map_event("shopify", {**ORDER, **TAGGED, "tags": tags})
    assert order["url"].endswith(TAGGED["landing_site"])
    assert order["referrer"] == ORDER["referring_site"]


@pytest.mark.parametrize("query", [
    "utm_source=fb&utm_medium=paid&utm_campaign=spring?fbclid=IwAR1",
    "amp;utm_campaign=spring&amp;utm_source=fb", "x=1?utm_campaign=spring&utm_source=fb",
    "UTM_CAMPAIGN=spring&Utm_Source=fb", "#utm_campaign=spring&utm_source=fb",
    "utm_campaign%3Dspring%26utm_source%3Dfb", "utm_campaign=&utm_campaign=spring&utm_source=fb",
])  # fmt: skip
def test_landing_pages_are_read_as_those_of_page_views(query: str) -> None:
    landing_site = f"/{query}" if query[0] == "#" else f"/?{query}"
    notes = [{"key": "_wc_order_attribution_session_entry", "value": f"https://shop.example{landing_site}"},
             {"key": "_wc_order_attribution_utm_campaign", "value": "spring?fbclid=IwAR1"}]  # fmt: skip
    for kind, body in (
        ("shopify", {**ORDER, "landing_site": landing_site, "note_attributes": []}),
        ("woocommerce", {**WOO, "meta_data": notes}),
    ):
        event = read(kind, body).event
        assert event is not None
        touch = read_event_touch(event, 0)
        assert touch is not None
        assert touch.ad.campaign_name == "spring", kind
