"""The browser's queue: no conversion and no landing page is ever dropped, however many there are, and whether
consent is pending, the service is down, or the page is about to close.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Shop, wait_until_ready
from tests.support.waiting import wait_until

BUY = (
    "(count) => { for (let n = 0; n < count; n++)"
    " trk.track('purchase', {order_id: 'o-' + n, amount: n, order_name: 'x'.repeat(200)}) }"
)


def orders(shop: Shop, count: int) -> list[str]:
    order_ids = [row["order_id"] for row in shop.wait_for_items("event", count)]
    return sorted(order_ids, key=lambda order_id: int(order_id[2:]))


def expected_ids(count: int) -> list[str]:
    return [f"o-{number}" for number in range(count)]


@pytest.mark.parametrize("count", [60, 500])
def test_it_works(shop: Shop, page: Page, count: int) -> None:
    sizes: list[int] = []
    page.on("request", lambda sent: sizes.append(len(sent.post_data or "")))
    page.goto(shop.url("/?utm_source=news"))
    wait_until_ready(page)
    page.evaluate(BUY, count)
    assert orders(shop, count) == expected_ids(count)
    assert shop.wait_for_items("hit", 1)[0]["url"] == shop.url("/?utm_source=news")
    assert max(sizes) < 64 * 1024


@pytest.mark.parametrize("count", [60, 500])
def test_while_consent_is_pending(shop: Shop, page: Page, count: int) -> None:
    shop.put("/asks", attributes='data-consent="required"')
    page.goto(shop.url("/asks?gclid=EAIaIQobChMI"))
    wait_until_ready(page)
    page.evaluate("() => { for (let n = 0; n < 300; n++) trk.page() }")
    page.evaluate("() => { for (let n = 0; n < 300; n++) trk.track('view_content', {}) }")
    page.evaluate(BUY, count)
    assert shop.site.rows() == []
    page.evaluate("trk.consent(true)")
    rows = shop.wait_for_items("event", count + 200)
    order_ids = {row["order_id"] for row in rows if row["event_name"] == "purchase"}
    assert order_ids == set(expected_ids(count))
    (landing,) = shop.wait_for_items("hit", 1)
    assert landing["url"] == shop.url("/asks?gclid=EAIaIQobChMI")


def test_while_the_page_ends(shop: Shop, page: Page) -> None:
    """The browser sends as much as may outlive a page, and the next page sends the rest."""
    page.goto(shop.url())
    wait_until_ready(page)
    page.evaluate(f"() => {{ ({BUY})(300); location.href = '/gone' }}")
    page.wait_for_url(shop.url("/gone"))
    page.goto(shop.url("/?next"))
    assert orders(shop, 300) == expected_ids(300)


def test_while_the_service_is_away(shop: Shop, page: Page) -> None:
    page.route("**/t", lambda route: route.fulfill(status=503))
    page.goto(shop.url("/?utm_source=news"))
    wait_until_ready(page)
    page.evaluate(BUY, 100)
    page.evaluate("() => { for (let n = 0; n < 300; n++) trk.page() }")
    page.wait_for_function(
        "() => Object.keys(localStorage).some((key) => /queue/.test(key)"
        " && localStorage[key].split('\\n').length > 100)"
    )
    page.unroute("**/t")
    page.goto(shop.url("/?next"))
    assert orders(shop, 100) == expected_ids(100)
    assert shop.url("/?utm_source=news") in {hit["url"] for hit in shop.site.payloads("hit")}


def test_a_report_that_somebody_refuses_goes_item_by_item(shop: Shop, page: Page) -> None:
    """For instance a firewall that rejects one of the items."""

    def refuse(route: Any) -> None:
        is_bad = "evil" in (route.request.post_data or "")
        route.fulfill(status=400, body="no") if is_bad else route.continue_()

    page.route("**/t", refuse)
    page.goto(shop.url())
    wait_until_ready(page)
    page.evaluate("() => { trk.track('purchase', {order_id: 'evil'}); trk.track('purchase',"
                  " {order_id: 'o-1'}); trk.track('purchase', {order_id: 'o-2'}) }")  # fmt: skip
    # Handlers run only while the test waits for the page.
    wait_until(lambda: len(shop.site.payloads("event")) == 2, pause=lambda: page.wait_for_timeout(10))
    assert orders(shop, 2) == ["o-1", "o-2"]


class TestBlockedStorage:
    """Storage and cookies that throw: the page itself remembers how the visitor came."""

    BLOCKED = (
        "for (const [of, name] of [[window, 'localStorage'], [document, 'cookie']]) {"
        " const refuse = () => { throw new DOMException('no', 'SecurityError') };"
        " Object.defineProperty(of, name, {get: refuse, set: refuse, configurable: true}) }"
    )

    @pytest.mark.parametrize(
        "call",
        ["trk.identify({email: 'ada@example.com'})",
         "trk.track('purchase', {email: 'ada@example.com', order_id: 'o-1'})"],
    )  # fmt: skip
    def test_the_landing_goes_with_the_person(self, shop: Shop, page: Page, call: str) -> None:
        page.add_init_script(self.BLOCKED)
        page.goto(shop.url("/?gclid=EAIaIQobChMI"))
        wait_until_ready(page)
        shop.wait_for_items("hit", 1)
        page.evaluate("history.pushState({}, '', '/account')")
        page.evaluate(call)
        (person,) = shop.wait_for_items("identify", 1)
        assert "trk_token" not in person
        assert person["landing"]["url"] == shop.url("/?gclid=EAIaIQobChMI")
        assert person["landing"]["occurred_at"] <= person["occurred_at"]
        from headwater.intake.pipeline.batch_runner import process_space  # noqa: PLC0415

        while process_space(shop.site.connection, shop.site.space_id).rows:
            pass
        rows = shop.site.connection.execute(
            "SELECT s.source_id FROM touchpoints s JOIN contact_identifiers i"
            " ON i.space_id = s.space_id AND i.contact_id = s.contact_id AND i.kind = 'email'"
            " WHERE s.space_id = %s AND s.url LIKE '%%gclid=%%'",
            (shop.site.space_id,),
        ).fetchall()
        assert len(rows) == 1
