"""The browser library with a site's key: its settings, its origin, and how far its data is trusted."""

from __future__ import annotations

import httpx
import pytest

from tests.segment.desk import Desk, past_time
from tests.support.sites import GOOGLEBOT, ORIGIN

LANDING = f"{ORIGIN}/?utm_source=google&utm_medium=cpc"


def test_it_works(desk: Desk) -> None:
    """A page is viewed, its visitor identified, and an order sent, which the server's order then replaces."""
    page = desk.browse("p", anonymousId="a1", messageId="m1", properties={"url": LANDING})
    assert page.status_code == 200
    assert page.headers["access-control-allow-origin"] == ORIGIN
    desk.browse("i", anonymousId="a1", userId="u1", traits={"email": "ada@acme.com"})
    order = {"order_id": "o1", "revenue": 50}
    desk.browse("t", anonymousId="a1", event="Order Completed", properties=order)
    assert desk.rows("amount::text", "sender") == [("50.0000", "browser")]
    desk.track("Order Completed", order_id="o1", revenue=45)
    assert desk.rows("amount::text", "sender") == [("45.0000", "api_key")]
    assert desk.rows("email", "browser", table="contacts") == [("ada@acme.com", "Chrome")]
    assert len(desk.rows("id", table="touchpoints")) == 1


def test_a_page_cannot_merge_known_people(desk: Desk) -> None:
    for user, email in (("u1", "ada@acme.com"), ("u2", "eve@acme.com")):
        desk.send("identify", userId=user, traits={"email": email})
    assert (
        desk.browse("i", anonymousId="a1", userId="u1", traits={"email": "eve@acme.com"}).status_code == 200
    )
    assert desk.rows("merged_into", table="contacts") == [(None,), (None,)]


def test_a_page_cannot_replace_an_order_of_the_server(desk: Desk) -> None:
    desk.track("Order Completed", order_id="o1", revenue=45)
    desk.browse("t", anonymousId="a1", event="Order Completed", properties={"order_id": "o1", "revenue": 5})
    assert desk.amounts() == ["45.00"]


@pytest.mark.parametrize("event", ["Order Refunded", "Order Cancelled"])
def test_a_page_cannot_return_money(desk: Desk, event: str) -> None:
    desk.track("Order Completed", order_id="o1", revenue=45)
    assert desk.browse("t", anonymousId="a1", event=event, properties={"order_id": "o1"}).status_code == 200
    assert desk.amounts() == ["45.00"]
    assert desk.wait_for_ignored() == [(event, "from_page", 1)]


def test_a_negative_amount_of_a_page(desk: Desk) -> None:
    refusal = desk.browse("t", anonymousId="a1", event="Order Completed", properties={"revenue": -5})
    assert refusal.status_code == 400
    assert refusal.headers["access-control-allow-origin"] == ORIGIN


def test_an_old_event_of_a_page_counts_when_it_arrives(desk: Desk) -> None:
    desk.browse("t", anonymousId="a1", event="Signed Up", timestamp=past_time(8 * 86_400))
    assert desk.rows("event_time > now() - interval '1 hour'") == [(True,)]


def test_a_bot_is_only_counted(desk: Desk) -> None:
    headers = {"Origin": ORIGIN, "User-Agent": GOOGLEBOT}
    body = {"anonymousId": "a1", "properties": {"url": LANDING}}
    assert desk.post("p", body, desk.site.key, headers).status_code == 200
    assert desk.rows("id", table="hits") == []
    assert desk.rows("bot_hits", table="sites") == [(1,)]


def test_the_preflight_allows_the_headers_of_libraries(desk: Desk) -> None:
    response = httpx.options(f"{desk.base_url}/segment/v1/t", headers={"Origin": ORIGIN})
    assert response.status_code == 204
    assert "authorization" in response.headers["access-control-allow-headers"]
    assert response.headers["access-control-allow-origin"] == ORIGIN


class TestSettings:
    def get(self, desk: Desk, key: str) -> httpx.Response:
        return httpx.get(f"{desk.base_url}/segment/v1/projects/{key}/settings", headers={"Origin": ORIGIN})

    def test_they_name_this_service_alone(self, desk: Desk) -> None:
        response = self.get(desk, desk.site.key)
        assert response.headers["access-control-allow-origin"] == "*"
        integrations = response.json()["integrations"]
        assert list(integrations) == ["Segment.io"]
        destination = integrations["Segment.io"]
        assert destination["apiKey"] == desk.site.key
        assert (destination["protocol"], destination["apiHost"]) == ("http", "headwater.test/segment/v1")

    def test_an_unknown_key_has_none(self, desk: Desk) -> None:
        assert self.get(desk, "trk_pk_unknown1").status_code == 401
        assert self.get(desk, desk.key).status_code == 401
