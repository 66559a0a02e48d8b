"""Past orders: a shop's export becomes purchases, refunds and touchpoints without mapping a column, and an
order that a webhook also reports counts once.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from tests.support.import_desk import Desk
from tests.support.importing import Importer
from tests.support.pipeline import Stage as Pipeline
from tests.support.shop_exports import SHOPIFY_HEADER
from tests.support.webhook_samples.shopify import ORDER as HOOKED
from tests.support.webhook_samples.shopify import REFUND
from tests.support.webhooks import map_event, map_refund

SHOPIFY: dict[str, str] = {
    "Name": "#1001", "Email": "ada@example.com", "Financial Status": "paid",
    "Paid at": "2026-05-13 13:00:00 +0200", "Currency": "USD", "Total": "403.00",
    "Created at": "2026-05-13 13:00:00 +0200", "Billing Name": "Ada L", "Phone": "'+15551234567",
    "Note Attributes": "trk_token: tok-4\ngift: no", "Id": str(HOOKED["id"]), "Source": "web",
    "Landing Site": "/products/x?utm_source=newsletter&utm_medium=email&utm_campaign=may",
    "Referring Site": "https://www.blog.example/post", "Refunded Amount": "0.00",
}  # fmt: skip
WOOCOMMERCE: dict[str, str] = {
    "order_id": "727", "order_number": "727", "order_date": "2026-05-13 11:00:00", "paid_date": "",
    "status": "completed", "order_total": "29.35", "order_currency": "EUR",
    "customer_email": "ada@example.com", "billing_first_name": "Ada", "billing_last_name": "L",
    "billing_email": "ada@example.com", "billing_phone": "+15551234567", "refund_items": "",
    "meta:_wc_order_attribution_source_type": "utm",
    "meta:_wc_order_attribution_utm_source": "google", "meta:_wc_order_attribution_utm_medium": "cpc",
    "meta:_wc_order_attribution_utm_campaign": "Spring",
    "meta:_wc_order_attribution_session_entry": "https://shop.example/hats/",
    "meta:_wc_order_attribution_referrer": "https://www.google.com/",
}  # fmt: skip


def as_table(*rows: Mapping[str, str], header: list[str] | None = None) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, header or list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def bring(importer: Importer, *rows: Mapping[str, str], status: int = 0) -> dict[str, Any]:
    file = importer.folder / "orders_export.csv"
    file.write_text(as_table(*rows, header=SHOPIFY_HEADER if "Name" in rows[0] else None), newline="")
    return importer.run("orders", file, status=status)


def purchases(pipeline: Pipeline) -> list[tuple[str, Decimal]]:
    return pipeline.rows("events", "order_name", "amount")


def sources(importer: Importer) -> list[str]:
    rows = importer.stage.connection.execute(
        "SELECT source_rule FROM touchpoints WHERE space_id = %s", (importer.stage.space_id,)
    )
    return [rule for (rule,) in rows]


@pytest.fixture
def pipeline(importer: Importer) -> Pipeline:
    return Pipeline(importer.stage.connection, importer.stage.space_id)


def test_it_works(importer: Importer, pipeline: Pipeline) -> None:
    items = [{"Name": "#1001", "Email": "ada@example.com", "Lineitem name": "Hat"}] * 2
    refunded_order = SHOPIFY | {"Id": "5", "Name": "#1002", "Financial Status": "partially_refunded",
                                "Refunded Amount": "3.00", "Landing Site": "", "Referring Site": "",
                                "Email": "bob@example.com", "Note Attributes": ""}  # fmt: skip
    report = bring(importer, SHOPIFY, *items, refunded_order, *items)
    assert (report["queued"], report["refused"]) == (2, 0)
    assert (report["sources"], report["without_source"]) == ({"email": 1}, 1)
    pipeline.process()
    assert purchases(pipeline) == [
        ("#1001", Decimal(403)), ("#1002", Decimal(-3)), ("#1002", Decimal(403)),
    ]  # fmt: skip
    assert len(sources(importer)) == 1
    assert pipeline.values("contacts", "email") == ["ada@example.com", "bob@example.com"]


@pytest.mark.parametrize("first_sender", ["webhook", "file"])
def test_an_order_of_a_webhook_counts_once(importer: Importer, pipeline: Pipeline, first_sender: str) -> None:
    def send() -> None:
        pipeline.put_row("event", json.dumps(map_event("shopify", HOOKED)), sender="webhook")

    if first_sender == "webhook":
        send()
    bring(importer, SHOPIFY)
    if first_sender == "file":
        send()
    pipeline.process()
    assert purchases(pipeline) == [("#1001", Decimal(403))]
    assert pipeline.values("duplicates", "reason") == ["order_id"]
    assert len(sources(importer)) == 1


@pytest.mark.parametrize("first_sender", ["webhook", "file"])
def test_a_refund_of_a_webhook_counts_once(importer: Importer, pipeline: Pipeline, first_sender: str) -> None:
    topic = {"X-Shopify-Topic": "refunds/create"}

    def send() -> None:
        refund = json.dumps(map_refund("shopify", REFUND, headers=topic))
        pipeline.put_row("refund", refund, sender="webhook")

    if first_sender == "webhook":
        send()
    bring(importer, SHOPIFY | {"Financial Status": "partially_refunded", "Refunded Amount": "15.50"})
    if first_sender == "file":
        send()
    pipeline.process()
    assert purchases(pipeline) == [("#1001", Decimal("-15.5")), ("#1001", Decimal(403))]


CANCELLED = [{"Cancelled at": "2026-05-14 10:00:00 +0200"}, {"Financial Status": "voided"}]


@pytest.mark.parametrize("cancelled", CANCELLED)
def test_an_order_that_counted_is_cancelled_in_a_later_file(
    importer: Importer, pipeline: Pipeline, cancelled: dict[str, str]
) -> None:
    bring(importer, SHOPIFY)
    pipeline.process()
    report = bring(importer, SHOPIFY | cancelled, status=1)
    assert (report["queued"], report["reasons"]) == (0, {"The order was cancelled.": 1})
    pipeline.process()
    assert purchases(pipeline) == [("#1001", Decimal(-403)), ("#1001", Decimal(403))]
    day = "2026-05-14" if "Cancelled at" in cancelled else "2026-05-13"
    times = [str(at.date()) for at, amount in pipeline.rows("events", "event_time", "amount") if amount < 0]
    assert times == [day]


@pytest.mark.parametrize("status", ["paid", "partially_refunded"])
def test_a_cancelled_order_that_counts_in_a_later_file(
    importer: Importer, pipeline: Pipeline, status: str
) -> None:
    for number, is_paid in enumerate((False, True, False, True)):
        refunded = "3.00" if is_paid and status != "paid" else "0.00"
        row = SHOPIFY | {"Financial Status": status if is_paid else "voided", "Refunded Amount": refunded}
        bring(importer, row | {"Lineitem name": f"{number}"}, status=0 if is_paid else 1)
        pipeline.process()
        assert sum(amount for _, amount in purchases(pipeline)) == (
            Decimal(403) - Decimal(refunded) if is_paid else 0
        )


def test_events_are_those_of_the_webhook(importer: Importer) -> None:
    bring(importer, SHOPIFY)
    (event,) = importer.payloads()
    hook_event = map_event("shopify", HOOKED)
    field_names = ("event_name", "event_time", "email", "amount", "currency", "order_id", "order_name",
                   "trk_token", "phone")  # fmt: skip
    assert {name: event.get(name) for name in field_names} == {
        name: hook_event.get(name) for name in field_names
    }
    assert event["do_not_capi"] is True


@pytest.mark.parametrize(
    "row", [SHOPIFY | {"Note Attributes": ""}, WOOCOMMERCE], ids=["shopify", "woocommerce"]
)
def test_a_column_of_visitors_can_be_added(importer: Importer, row: dict[str, str]) -> None:
    """So an order has its buyer and another tool's visits (docs/moving.md)."""
    file = importer.folder / "orders_export.csv"
    file.write_text(as_table(row | {"trk_token": "1234.567"}), newline="")
    importer.run("orders", file)
    (event,) = importer.payloads()
    assert (event["trk_token"], event["email"]) == ("1234.567", "ada@example.com")


STATES: list[tuple[dict[str, str], str]] = [
    ({"Cancelled at": "2026-05-14 10:00:00 +0200"}, "The order was cancelled."),
    ({"Financial Status": "voided"}, "The order was cancelled."),
    ({"Financial Status": "pending"}, "The order is not paid."),
    ({"Financial Status": "partially_paid"}, "The order is not paid."),
    ({"Financial Status": "odd", "Paid at": ""},
     "The status of the order is not known, and it has no paid date."),
    ({"Payment Method": "(for testing) Bogus Gateway"}, "It is a test order."),
    ({"Id": ""}, "The order_id must be present."),
    ({"Id": "8.2E+17"},
     "The order_id must be written out: a spreadsheet has made 8.2E+17 of it. Export it again."),
    ({"Total": "free"}, "The amount must be a number, written like 1,234.50."),
    ({"Created at": "", "Paid at": ""}, "The event_time must be present."),
]  # fmt: skip


def test_reasons_are_counted(importer: Importer) -> None:
    rows = [SHOPIFY | {"Id": str(number)} | change for number, (change, _) in enumerate(STATES)]
    report = bring(importer, *rows, SHOPIFY, status=1)
    assert (report["queued"], report["refused"]) == (1, len(STATES))
    reasons: dict[str, int] = {}
    for _, reason in STATES:
        reasons[reason] = reasons.get(reason, 0) + 1
    assert report["reasons"] == reasons


def test_orders_without_a_visit_have_no_source_and_may_have_no_buyer(importer: Importer) -> None:
    counter_order = SHOPIFY | {"Source": "pos", "Email": "", "Phone": "", "Note Attributes": ""}
    renewal = SHOPIFY | {"Id": "6", "Tags": "vip, subscription_recurring_order"}
    report = bring(importer, counter_order, renewal)
    assert (report["queued"], report["sources"], report["without_source"]) == (2, {}, 2)
    assert not any("url" in payload for payload in importer.payloads())


def test_woocommerce_exports_are_recognized(importer: Importer, pipeline: Pipeline) -> None:
    refunded_order = WOOCOMMERCE | {
        "order_id": "728", "order_number": "728", "billing_email": "", "customer_email": "",
        "status": "wc-processing",
        "refund_items": "amount:5.00|reason:Broken; late|date:2026-05-20 10:00:00;"
                        "amount:1.35|reason:|date:2026-05-21 10:00:00",
        "meta:_wc_order_attribution_utm_source": "(direct)", "meta:_wc_order_attribution_utm_medium": "",
        "meta:_wc_order_attribution_utm_campaign": "", "meta:_wc_order_attribution_referrer": "",
        "meta:_wc_order_attribution_source_type": "typein",
    }  # fmt: skip
    fully_refunded_order = WOOCOMMERCE | {"order_id": "729", "order_number": "729", "status": "refunded"}
    held_order = WOOCOMMERCE | {"order_id": "730", "status": "on-hold"}
    report = bring(importer, WOOCOMMERCE, refunded_order, fully_refunded_order, held_order, status=1)
    assert report["reasons"] == {"The order is not paid.": 1}
    assert (report["sources"], report["without_source"]) == ({"google_ads": 2}, 1)
    pipeline.process()
    assert purchases(pipeline) == [
        ("727", Decimal("29.35")), ("728", Decimal("-6.35")), ("728", Decimal("29.35")),
        ("729", Decimal("-29.35")), ("729", Decimal("29.35")),
    ]  # fmt: skip


def test_a_refund_that_cannot_be_read_refuses_its_order(importer: Importer, pipeline: Pipeline) -> None:
    """A refund whose date cannot be read is dated by its order."""
    items = {
        "731": "amount:1.2.3|reason:|date:2026-05-20 10:00:00", "732": f"amount:{'9' * 18}|reason:|date:",
        "733": "amount:5|reason:|date:2026-13-45 10:00:00",
    }  # fmt: skip
    orders = [
        WOOCOMMERCE | {"order_id": order_id, "order_number": order_id, "refund_items": refund_items}
        for order_id, refund_items in items.items()
    ]
    report = bring(importer, *orders, status=1)
    assert len(report["reasons"]) == 2
    assert all(reason.startswith("The refunds must be a ") for reason in report["reasons"])
    report = bring(importer, SHOPIFY | {"Refunded Amount": "9" * 18}, status=1)
    assert all(reason.startswith("The refunded must be a ") for reason in report["reasons"])
    pipeline.process()
    rows = pipeline.rows("events", "amount", "event_time::date::text")
    assert sorted(rows) == [(Decimal(-5), "2026-05-13"), (Decimal("29.35"), "2026-05-13")]


def test_a_field_that_cannot_be_kept_is_left_out_with_a_warning(importer: Importer) -> None:
    bring(importer, WOOCOMMERCE | {"billing_phone": "5" * 100})
    (payload,) = importer.payloads()
    assert "phone" not in payload
    assert payload["warnings"] == ["The phone must be a string of at most 64 characters."]


OTHERS: list[dict[str, str]] = [
    {"Order Number": "9", "Order Status": "Completed", "Order Date": "2026-05-13 11:00",
     "Email (Billing)": "ada@example.com", "Order Total Amount": "12.5", "Order Refund Amount": "2.5"},
    {"Order ID": "9", "Order Status": "wc-completed", "Order Date": "2026-05-13", "Order Total": "12.5",
     "Billing Email Address": "ada@example.com", "Order Currency": "EUR"},
    {"ID": "9", "Name": "#9", "Created At": "2026-05-13 11:00:00 +0200", "Payment: Status": "paid",
     "Price: Total": "12.5", "Email": "ada@example.com", "Browser: Landing Page": "/?gclid=1"},
]  # fmt: skip


@pytest.mark.parametrize("row", OTHERS, ids=["advanced", "wp_all_export", "matrixify"])
def test_other_exporters_are_recognized(importer: Importer, row: dict[str, str]) -> None:
    file = importer.folder / "x.csv"
    file.write_text(as_table(row, row))
    assert importer.run("orders", file)["queued"] == 1
    event = importer.payloads()[0]
    assert (event["order_id"], event["amount"], event["email"]) == ("9", "12.5", "ada@example.com")


REPORT = "Date,Order #,N. Revenue (formatted),Status,Customer,Customer type,Net Sales\n1,2,3,4,5,6,7\n"


def test_what_cannot_be_read_is_refused(importer: Importer, desk: Desk) -> None:
    file = importer.folder / "x.csv"
    file.write_text("a,b\n1,2\n")
    assert "matches no known export of orders" in importer.refusal("orders", file)
    assert "no column has the order_id" in importer.refusal("orders", file, "--map", "a=email")
    assert set(desk.refusal("orders", "a,b\n1,2\n")) == {"columns"}
    file.write_text(REPORT)
    assert "billing_email" in importer.refusal("orders", file)
    assert "billing_email" in desk.refusal("orders", REPORT)["file"][0]


def test_columns_can_be_mapped(importer: Importer) -> None:
    file = importer.folder / "x.csv"
    file.write_text("Nr,Mail,Wert,Tag,Kanal\n7,ada@example.com,5,2026-05-13,newsletter\n")
    maps = ("Nr=order_id", "Mail=email", "Wert=amount", "Tag=event_time", "Kanal=trk_source")
    report = importer.run("orders", file, *(text for mapping in maps for text in ("--map", mapping)))
    assert (report["queued"], report["sources"]) == (1, {"email": 1})


def test_a_dry_run_tells_sources_and_stores_nothing(importer: Importer) -> None:
    file = importer.folder / "x.csv"
    file.write_text(as_table(SHOPIFY, header=SHOPIFY_HEADER), newline="")
    report = importer.run("orders", file, "--dry-run")
    assert (report["queued"], report["sources"], importer.waiting()) == (1, {"email": 1}, [])


def test_over_the_api_it_is_the_same(desk: Desk, importer: Importer) -> None:
    content = as_table(SHOPIFY, SHOPIFY | {"Id": "6", "Financial Status": "voided"}, header=SHOPIFY_HEADER)
    answer = desk.begin("orders", content, name="orders_export.csv")
    assert answer["reading"]["columns"]["Note Attributes"] == "note_attributes"
    desk.work()
    report = desk.get("orders", answer["import_id"])
    assert (report["status"], report["stored"], report["refused"]) == ("finished", 1, 1)
    assert (report["sources"], report["without_source"]) == ({"email": 1}, 0)
    assert report["refusals"][0]["reason"] == "The order was cancelled."
    file = importer.folder / "orders_export.csv"
    file.write_text(content, newline="")
    importer.run("orders", file, status=1)
    assert [row for (row,) in desk.rows("orders")] == importer.payloads()
