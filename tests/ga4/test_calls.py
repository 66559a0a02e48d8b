"""Each supported event of the Measurement Protocol, from a server and from a page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.ga4.desk import Ga4Desk, event, micros_ago
from tests.segment.desk import PAGE
from tests.support.sites import GOOGLEBOT, ORIGIN

LANDING = f"{ORIGIN}/?utm_source=google&utm_medium=cpc&gclid=g1"


def test_it_works(desk: Ga4Desk) -> None:
    """A visitor arrives from a campaign, buys, and gets a refund. A repeated order counts once."""
    purchase = event("purchase", transaction_id="T1", value=99.9, currency="EUR", items=[{"item_id": "a"}])
    page = event("page_view", page_location=LANDING, page_referrer="https://www.google.com/")
    desk.collect({**page, "timestamp_micros": micros_ago(60)}, event("session_start"))
    for _ in range(2):
        desk.collect(purchase, user_id="u1", user_properties={"email": {"value": "Ada@Acme.com"}})
    desk.collect(event("refund", transaction_id="T1", value=10, currency="EUR"))
    assert desk.amounts() == ["-10.00", "99.90"]
    assert desk.rows("email", table="contacts") == [("ada@acme.com",)]
    assert desk.rows("reason", table="duplicates") == [("order_id",)]
    assert desk.rows("url", "referrer_host", table="hits") == [(LANDING, "google.com")]
    assert desk.rows("DISTINCT source_mask") != [(0,)]
    assert desk.wait_for_ignored() == [("session_start", "unknown_event", 1)]


class TestEvents:
    @pytest.mark.parametrize(
        ("name", "stored_value"),
        [("generate_lead", "lead_generated"), ("sign_up", "sign_up"), ("view_item", "view_content"),
         ("add_to_cart", "add_to_cart"), ("begin_checkout", "initiate_checkout"),
         ("add_payment_info", "add_payment_info"), ("subscribe", "subscribe")],
    )  # fmt: skip
    def test_a_known_name(self, desk: Ga4Desk, name: str, stored_value: str) -> None:
        desk.collect(event(name, value=7.5, currency="USD"))
        assert desk.rows("event_name", "currency", "amount::text") == [(stored_value, "USD", "7.5000")]

    def test_a_label_names_a_custom_event(self, desk: Ga4Desk) -> None:
        desk.label("event_labels", "event_name", custom_event_3="tutorial_begin")
        desk.label("field_labels", "field", profile_field_1="plan")
        desk.collect(event("tutorial_begin"), user_id="u1", user_properties={"plan": {"value": "pro"}})
        assert desk.rows("event_name") == [("custom_event_3",)]
        assert desk.rows("profile_field_1", table="contacts") == [("pro",)]

    def test_the_request_describes_the_event(self, desk: Ga4Desk) -> None:
        desk.collect(
            event("sign_up", source="news", medium="email", campaign="May", page_location=f"{ORIGIN}/thanks"),
            ip_override="203.0.113.7", user_agent="Mozilla/5.0",
            consent={"ad_user_data": "GRANTED", "ad_personalization": "DENIED"},
        )  # fmt: skip
        columns = ("ip", "user_agent", "ad_user_data", "ad_personalization")
        assert desk.rows(*columns) == [("203.0.113.7", "Mozilla/5.0", True, False)]
        assert len(desk.rows("id", table="touchpoints")) == 1

    def test_hashes_find_no_contact(self, desk: Ga4Desk) -> None:
        desk.collect(event("sign_up"), user_data={"sha256_email_address": ["0" * 64]})
        assert desk.rows("event_name") == [("sign_up",)]
        assert desk.wait_for_ignored() == [("user_data", "hashed", 1)]


def test_a_purchase_whose_items_have_no_price_has_no_amount(desk: Ga4Desk) -> None:
    desk.collect(event("purchase", transaction_id="T1", items=[{"price": 5}, {"item_id": "a"}]))
    assert desk.rows("order_id", "amount") == [("T1", None)]


class TestRefunds:
    @pytest.mark.parametrize(
        ("params", "stored_value"),
        [({}, "-20.25"), ({"value": 5}, "-5.00"),
         ({"items": [{"item_id": "a", "price": 1.1, "quantity": 3}, {"price": "0.2"}]}, "-3.50")],
    )  # fmt: skip
    def test_the_amount(self, desk: Ga4Desk, params: dict[str, Any], stored_value: str) -> None:
        desk.collect(event("purchase", transaction_id="T1", value=20.25))
        desk.collect(event("refund", transaction_id="T1", **params))
        assert desk.amounts() == [stored_value, "20.25"]

    def test_a_repeated_refund_counts_once(self, desk: Ga4Desk) -> None:
        desk.collect(event("purchase", transaction_id="T1", value=20))
        for micros in (None, None, micros_ago(60)):
            desk.collect(event("refund", transaction_id="T1", value=5), timestamp_micros=micros)
        assert desk.amounts() == ["-5.00", "-5.00", "20.00"]


class TestRepeats:
    def test_an_event_with_a_time_counts_once(self, desk: Ga4Desk) -> None:
        lead, micros = event("generate_lead", value=1), micros_ago(60)
        for _ in range(2):
            desk.collect({**lead, "timestamp_micros": micros})
        desk.collect(event("generate_lead", value=2), timestamp_micros=micros)
        desk.collect({**lead, "timestamp_micros": micros}, client_id="9.9")
        assert desk.amounts() == ["1.00", "1.00", "2.00"]

    def test_an_event_without_a_time_counts_again(self, desk: Ga4Desk) -> None:
        for _ in range(2):
            desk.collect(event("generate_lead"))
        assert desk.rows("event_name") == [("lead_generated",)] * 2

    def test_the_sender_can_name_an_event(self, desk: Ga4Desk) -> None:
        for _ in range(2):
            desk.collect(event("generate_lead", event_id="e1"))
        assert desk.rows("idempotency_key") == [("e1",)]


@pytest.mark.parametrize(
    ("request_ago", "event_ago", "seconds"),
    [(900, None, 900), (900, 60, 60), (96 * 3600, None, 96 * 3600), (-600, None, 0), (None, None, 0)],
)
def test_the_time(desk: Ga4Desk, request_ago: int | None, event_ago: int | None, seconds: int) -> None:
    """A server's time of any age counts. A future time is replaced by the time of reception."""
    event_member = {} if event_ago is None else {"timestamp_micros": micros_ago(event_ago)}
    members = {} if request_ago is None else {"timestamp_micros": micros_ago(request_ago)}
    desk.collect({**event("sign_up"), **event_member}, **members)
    ((moment,),) = desk.rows("event_time")
    assert (datetime.now(UTC) - moment).total_seconds() == pytest.approx(seconds, abs=120)


class TestPages:
    def test_a_server_outranks_a_page(self, desk: Ga4Desk) -> None:
        answer = desk.view(event("purchase", transaction_id="T1", value=50))
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (204, ORIGIN)
        assert "content-length" not in answer.headers
        assert desk.rows("amount::text", "sender") == [("50.0000", "browser")]
        desk.collect(event("purchase", transaction_id="T1", value=45))
        desk.view(event("purchase", transaction_id="T1", value=1))
        assert desk.rows("amount::text", "sender") == [("45.0000", "api_key")]

    def test_a_page_cannot_return_money(self, desk: Ga4Desk) -> None:
        desk.collect(event("purchase", transaction_id="T1", value=45))
        assert desk.view(event("refund", transaction_id="T1")).status_code == 204
        assert desk.amounts() == ["45.00"]
        assert desk.wait_for_ignored() == [("refund", "from_page", 1)]

    def test_the_request_is_the_visitors(self, desk: Ga4Desk) -> None:
        desk.view(event("page_view", page_location=LANDING), event("sign_up"), ip_override="1.1.1.1")
        assert desk.rows("ip") == [(None,)]
        assert desk.rows("browser", "os", table="hits") == [("Chrome", "Windows")]
        assert desk.rows("contact_id") == desk.rows("contact_id", table="hits")

    def test_an_old_event_counts_when_it_arrives(self, desk: Ga4Desk) -> None:
        desk.view(event("sign_up"), timestamp_micros=micros_ago(8 * 86_400))
        assert desk.rows("event_time > now() - interval '1 hour'") == [(True,)]

    def test_a_bot_is_only_counted(self, desk: Ga4Desk) -> None:
        headers = {**PAGE, "User-Agent": GOOGLEBOT}
        events = [event("page_view", page_location=LANDING), event("sign_up")]
        assert desk.view(*events, headers=headers).status_code == 204
        assert desk.rows("id") == desk.rows("id", table="hits") == []
        assert desk.rows("bot_hits", table="sites") == [(1,)]

    def test_the_preflight(self, desk: Ga4Desk) -> None:
        answer = httpx.options(f"{desk.base_url}/ga4/mp/collect", headers={"Origin": ORIGIN})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (204, ORIGIN)
        assert "content-type" in answer.headers["access-control-allow-headers"]
