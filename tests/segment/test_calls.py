"""Each call of Segment's tracking API, from a server with an API key."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from headwater.intake.protocols.ignored import MOST_NAMES
from tests.segment.desk import Desk, past_time
from tests.support.waiting import wait_until

LANDING = "https://shop.example/?utm_source=google&utm_medium=cpc&gclid=g1"


def test_it_works(desk: Desk) -> None:
    """A visitor arrives from a campaign, signs up, buys, and gets a partial refund."""
    order = {"order_id": "o1", "revenue": 99.9, "currency": "EUR"}
    batch: list[dict[str, Any]] = [
        {"type": "page", "anonymousId": "a1", "context": {"page": {"url": LANDING}},
         "timestamp": past_time(60)},
        {"type": "identify", "anonymousId": "a1", "userId": "u1",
         "traits": {"email": "Ada@Acme.com", "firstName": "Ada", "phone": "+4930123456"}},
        {"type": "track", "userId": "u1", "event": "Order Completed", "properties": order, "messageId": "m1"},
        {"type": "track", "userId": "u1", "event": "Order Completed", "properties": order, "messageId": "m1"},
        {"type": "track", "userId": "u1", "event": "Order Refunded", "messageId": "m2",
         "properties": {"order_id": "o1", "total": 10, "currency": "EUR"}},
    ]  # fmt: skip
    response = desk.post("batch", {"batch": batch, "sentAt": past_time(0)})
    assert (response.status_code, response.json()) == (200, {"success": True})
    assert desk.amounts() == ["-10.00", "99.90"]
    contact = ("ada@acme.com", "Ada", "+4930123456")
    assert desk.rows("email", "name", "phone", table="contacts") == [contact]
    assert desk.rows("reason", table="duplicates") == [("idempotency_key",)]
    assert len(desk.rows("id", table="touchpoints")) == 1
    assert desk.rows("DISTINCT source_mask") != [(0,)]


class TestPages:
    def test_a_page_is_a_page_view_with_its_campaign(self, desk: Desk) -> None:
        campaign = {"source": "letter", "medium": "email", "name": "May"}
        context = {"page": {"url": "https://shop.example/a#b"}, "campaign": campaign, "locale": "en-GB"}
        desk.send("page", anonymousId="a1", context=context)
        ((url, language),) = desk.rows("url", "language", table="hits")
        assert url == "https://shop.example/a?utm_campaign=May&utm_source=letter&utm_medium=email#b"
        assert language == "en-GB"

    def test_a_campaign_of_the_address_stays(self, desk: Desk) -> None:
        context = {"page": {"url": LANDING}, "campaign": {"source": "other"}}
        desk.send("page", anonymousId="a1", context=context)
        assert desk.rows("url", table="hits") == [(LANDING,)]

    def test_properties_name_the_page_too(self, desk: Desk) -> None:
        desk.send("p", anonymousId="a1", properties={"url": LANDING, "referrer": "https://www.google.com/"})
        assert desk.rows("referrer_host", table="hits") == [("google.com",)]

    def test_a_repeated_page_counts_once(self, desk: Desk) -> None:
        for _ in range(2):
            desk.send("page", anonymousId="a1", messageId="m1", properties={"url": LANDING})
        assert len(desk.rows("id", table="hits")) == 1

    def test_a_page_of_a_known_user_joins_the_visitor(self, desk: Desk) -> None:
        desk.send("page", anonymousId="a1", userId="u1", properties={"url": LANDING})
        desk.track("Order Completed", order_id="o1", revenue=5)
        assert len(desk.rows("DISTINCT contact_id")) == 1
        assert desk.rows("contact_id") == desk.rows("contact_id", table="hits")

    def test_a_screen_without_an_address_is_ignored(self, desk: Desk) -> None:
        desk.send("screen", anonymousId="a1", name="Home")
        desk.send("page", userId="u1", properties={"url": LANDING})
        assert desk.rows("id", table="hits") == []
        assert desk.wait_for_ignored(2) == [("page", "no_visitor", 1), ("screen", "no_page", 1)]

    def test_a_bot_is_ignored(self, desk: Desk) -> None:
        context = {"userAgent": "Googlebot/2.1 (+http://www.google.com/bot.html)"}
        desk.send("page", anonymousId="a1", properties={"url": LANDING}, context=context)
        assert desk.wait_for_ignored() == [("page", "bot", 1)]


class TestPeople:
    def test_traits_fill_labelled_profile_fields(self, desk: Desk) -> None:
        desk.label("field_labels", "field", profile_field_1="Plan", profile_field_16="Seats")
        traits = {"plan": "pro", "seats": 4, "name": "Ada L", "other": "x"}
        desk.send("identify", userId="u1", traits=traits)
        columns = ("name", "profile_field_1", "profile_field_16")
        assert desk.rows(*columns, table="contacts") == [("Ada L", "pro", 4)]

    def test_a_wrong_address_loses_only_itself(self, desk: Desk) -> None:
        desk.send("identify", userId="u1", traits={"email": "none", "name": "Ada"})
        assert desk.rows("email", "name", table="contacts") == [(None, "Ada")]

    def test_a_visitor_without_a_name_is_nothing_new(self, desk: Desk) -> None:
        desk.send("identify", anonymousId="a1", traits={"theme": "dark"})
        assert desk.rows("id", table="contacts") == []

    def test_a_wrong_address_keeps_the_page_view(self, desk: Desk) -> None:
        context = {"traits": {"email": "none"}}
        desk.send("page", anonymousId="a1", properties={"url": LANDING}, context=context)
        assert len(desk.rows("id", table="hits")) == 1

    def test_an_address_as_user_id_is_an_address(self, desk: Desk) -> None:
        desk.send("identify", userId="ada@acme.com", traits={})
        assert desk.rows("email", table="contacts") == [("ada@acme.com",)]

    def test_an_alias_joins_a_visitor_to_a_user(self, desk: Desk) -> None:
        desk.send("page", anonymousId="a1", properties={"url": LANDING})
        desk.send("alias", previousId="a1", userId="u1")
        desk.track("Signed Up")
        assert desk.rows("contact_id") == desk.rows("contact_id", table="hits")

    def test_a_group_is_the_company(self, desk: Desk) -> None:
        desk.stage.connection.execute(
            "UPDATE spaces SET company_identity_mode = 'external_id' WHERE id = %s", (desk.stage.space_id,)
        )
        desk.send("group", userId="u1", groupId="g1", traits={"name": "Acme", "email": "info@acme.com"})
        desk.track("Signed Up")
        assert desk.rows("external_id", "name", table="companies") == [("g1", "Acme")]
        assert desk.rows("company_id IS NOT NULL") == [(True,)]
        assert desk.rows("email", table="contacts") == [(None,)]

    @pytest.mark.parametrize("group", [" g1 ", 1])
    def test_a_group_of_the_context_is_the_company_too(self, desk: Desk, group: str | int) -> None:
        desk.stage.connection.execute(
            "UPDATE spaces SET company_identity_mode = 'external_id' WHERE id = %s", (desk.stage.space_id,)
        )
        desk.send("track", userId="u1", event="Signed Up", context={"groupId": group})
        assert desk.rows("external_id", table="companies") == [(str(group).strip(),)]
        assert desk.rows("company_id IS NOT NULL") == [(True,)]


class TestEvents:
    @pytest.mark.parametrize(
        ("name", "stored_value"),
        [("Order Completed", "purchase"), ("Signed Up", "sign_up"), ("Lead", "lead_generated"),
         ("Lead Generated", "lead_generated"), ("Generate Lead", "lead_generated"),
         ("Product Added", "add_to_cart"), ("Start Trial", "start_trial"), ("purchase", "purchase"),
         ("custom_event_7", "custom_event_7")],
    )  # fmt: skip
    def test_a_known_name(self, desk: Desk, name: str, stored_value: str) -> None:
        desk.track(name)
        assert desk.rows("event_name") == [(stored_value,)]

    def test_a_label_names_a_custom_event(self, desk: Desk) -> None:
        desk.label("event_labels", "event_name", custom_event_3="Demo booked", custom_event_4="Lead")
        desk.track("DEMO Booked")
        desk.track("lead")
        assert desk.rows("event_name") == [("custom_event_3",), ("custom_event_4",)]

    def test_unknown_names_are_counted(self, desk: Desk) -> None:
        for _ in range(2):
            desk.track("Song Played")
        assert desk.rows("id") == []
        assert desk.wait_for_ignored(2) == [("Song Played", "unknown_event", 2)]

    def test_the_names_of_a_space_are_limited(self, desk: Desk) -> None:
        messages = [
            {"type": "track", "userId": "u1", "event": f"Event {number}"} for number in range(MOST_NAMES + 9)
        ]
        assert desk.post("batch", {"batch": messages}).status_code == 200
        wait_until(lambda: len(desk.ignored_counts()) == MOST_NAMES)

    @pytest.mark.parametrize(
        ("amounts", "stored_value"),
        [({"revenue": "12.50", "total": 14}, "12.50"), ({"total": 14}, "14.00"), ({"value": 3}, "3.00"),
         ({"revenue": None, "total": "9"}, "9.00"), ({"revenue": 0}, "0.00")],
    )  # fmt: skip
    def test_the_amount(self, desk: Desk, amounts: dict[str, Any], stored_value: str) -> None:
        desk.track("Order Completed", order_id="o1", **amounts)
        assert desk.amounts() == [stored_value]

    def test_a_refund_without_an_amount_is_the_whole_order(self, desk: Desk) -> None:
        desk.track("Order Completed", order_id="o1", revenue=20.25)
        desk.track("Order Refunded", order_id="o1")
        assert desk.amounts() == ["-20.25", "20.25"]

    def test_a_cancelled_order_returns_what_is_left(self, desk: Desk) -> None:
        desk.track("Order Completed", order_id="o1", revenue=20)
        desk.track("Order Refunded", order_id="o1", total=5)
        desk.track("Order Refunded", order_id="o1", total=3)
        desk.track("Order Cancelled", order_id="o1", revenue=20)
        assert desk.amounts() == ["-12.00", "-3.00", "-5.00", "20.00"]

    def test_a_refund_waits_for_its_order(self, desk: Desk) -> None:
        desk.track("Order Refunded", order_id="o1", total=-5)
        desk.track("Order Completed", order_id="o1", revenue=20)
        assert desk.amounts() == ["-5.00", "20.00"]

    def test_an_updated_order_is_ignored(self, desk: Desk) -> None:
        desk.track("Order Updated", order_id="o1", revenue=20)
        assert desk.wait_for_ignored() == [("Order Updated", "order_updated", 1)]

    def test_the_context_describes_the_event(self, desk: Desk) -> None:
        context = {
            "ip": "203.0.113.7", "userAgent": "Mozilla/5.0", "page": {"url": "https://shop.example/thanks"},
            "traits": {"email": "ada@acme.com"}, "campaign": {"source": "google", "medium": "cpc"},
        }  # fmt: skip
        desk.send("track", anonymousId="a1", event="Signed Up", context=context, integrations={"All": False})
        columns = ("ip", "user_agent", "do_not_capi")
        assert desk.rows(*columns) == [("203.0.113.7", "Mozilla/5.0", True)]
        assert desk.rows("email", table="contacts") == [("ada@acme.com",)]
        assert len(desk.rows("id", table="touchpoints")) == 1


class TestTimes:
    def event_age(self, desk: Desk) -> float:
        ((moment,),) = desk.rows("event_time")
        return (datetime.now(UTC) - moment).total_seconds()

    @pytest.mark.parametrize(
        ("make_message", "seconds"),
        [
            (lambda: {"timestamp": past_time(900)}, 900),
            (lambda: {"originalTimestamp": past_time(900)}, 900),
            (lambda: {"timestamp": past_time(86_400 * 400)}, 86_400 * 400),
            (
                lambda: {"timestamp": past_time(-3_000), "sentAt": past_time(-3_600)},
                600,
            ),  # a clock one hour fast
            (
                lambda: {"timestamp": past_time(7_800), "sentAt": past_time(7_200)},
                600,
            ),  # a clock two hours slow
            (lambda: {"timestamp": "1970-01-01T00:00:05Z", "sentAt": "1970-01-01T00:01:05Z"}, 60),
            (lambda: {"timestamp": "1970-01-01T00:00:05Z"}, 0),
            (lambda: {"timestamp": past_time(-600)}, 0),
            (lambda: {"timestamp": "yesterday", "sentAt": 7}, 0),
            (lambda: {"timestamp": True}, 0),
            (dict, 0),
        ],
    )
    def test_the_time_is_told_by_our_clock(
        self, desk: Desk, make_message: Callable[[], dict[str, Any]], seconds: float
    ) -> None:
        desk.send("track", userId="u1", event="Signed Up", **make_message())
        assert self.event_age(desk) == pytest.approx(seconds, abs=120)

    def test_a_batch_has_one_time_of_sending(self, desk: Desk) -> None:
        message = {"type": "track", "userId": "u1", "event": "Signed Up", "timestamp": past_time(-3_000)}
        assert desk.post("batch", {"batch": [message], "sentAt": past_time(-3_600)}).status_code == 200
        assert self.event_age(desk) == pytest.approx(600, abs=120)


def test_a_packed_body_is_read(desk: Desk) -> None:
    body = gzip.compress(json.dumps({"userId": "u1", "event": "Signed Up"}).encode())
    assert desk.post("track", body, headers={"Content-Encoding": "gzip"}).status_code == 200
    assert desk.rows("event_name") == [("sign_up",)]
