"""From followed links to the credit for a purchase, through a real browser."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page

from headwater.intake.pipeline import steps
from tests.browser.conftest import Shop, wait_until_ready
from tests.support.pipeline import Stage as Queue
from tests.support.reading_fixtures import Api
from tests.support.sites import GOOGLEBOT
from tests.support.sites import page as view

pytestmark = pytest.mark.skipif(
    not {"hit", "identify", "bots"} <= steps._READERS.keys(), reason="the pipeline does not know page views"
)


def follow(shop: Shop, page: Page, host: str, target: str) -> None:
    """Follow a link to a page of the shop from a page of another host."""
    shop.pages["/elsewhere"] = f'<a href="{shop.url(target)}">to the shop</a>'
    page.goto(shop.url("/elsewhere", host=host))
    page.click("a")
    wait_until_ready(page)


def wait_for_queue(page: Page) -> None:
    """Wait until the page's queue is empty."""
    page.wait_for_function("() => !Object.keys(localStorage).some(k => /queue/.test(k))")


def test_the_shop_s_journey_and_credits_are_right(shop: Shop, page: Page, api: Api, stage: Any) -> None:
    follow(shop, page, "search.example", "/?gclid=Cj0abc&utm_campaign=spring")
    page.evaluate("history.pushState({}, '', '/shoes')")
    wait_for_queue(page)
    follow(shop, page, "mail.example", "/?utm_source=newsletter&utm_medium=email")
    wait_for_queue(page)
    page.goto(shop.url("/", host="blog.shop.example"))  # the shop's own host: no touch
    wait_until_ready(page)
    wait_for_queue(page)
    page.evaluate("trk.identify({email: 'ada@example.com', full_name: 'Ada Lovelace'})")
    page.evaluate("trk.track('purchase', {amount: 100, order_id: 'o-1'})")
    wait_for_queue(page)
    Queue(stage.connection, stage.space_id).process()

    response = api.get("/contacts/by-email/ada@example.com", params={
        "include_events": 1, "hide_direct_touchpoints": 0, "include_browsing_session_data": 1,
    })  # fmt: skip
    assert response.status_code == 200, response.text
    person = response.json()
    assert person["names"] == ["Ada Lovelace"]
    assert [hit["event_url"] for hit in reversed(person["browsing_session_hits"])] == [
        shop.url("/?gclid=Cj0abc&utm_campaign=spring"), shop.url("/shoes"),
        shop.url("/?utm_source=newsletter&utm_medium=email"),
        shop.url("/", host="blog.shop.example"),
    ]  # fmt: skip
    touches = [item for item in reversed(person["events"]) if item["type"] == "touchpoint"]
    assert [touch["source"] for touch in touches] == ["google_ads", "email"]

    now = datetime.now(UTC)
    rows = api.rows(**{
        "start_date": (now - timedelta(days=1)).strftime("%Y-%m-%d %H:%M:%S"),
        "end_date": (now + timedelta(days=1)).strftime("%Y-%m-%d %H:%M:%S"),
        "sources[]": ["google_ads", "email"], "fields[]": ["amount", "order_id"],
        "attribution_model": "linear", "attribution_window": 30,
    })  # fmt: skip
    assert {row["order_id"] for row in rows} == {"o-1"}
    assert [row["amount"] for row in rows] == [50, 50]


def test_bots_are_counted_on_their_site(shop: Shop, stage: Any) -> None:
    headers = {"origin": f"http://shop.example:{shop.port}", "user-agent": GOOGLEBOT}
    shop.site.report(view(), view(), headers=headers)
    Queue(stage.connection, stage.space_id).process()
    count = "SELECT bot_hits FROM sites WHERE space_id = %s AND id = %s"
    row = stage.connection.execute(count, (stage.space_id, shop.site.id)).fetchone()
    assert row == (2,)
    assert Queue(stage.connection, stage.space_id).rows("hits", "id") == []
