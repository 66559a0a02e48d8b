"""The tracker in a real browser: which data arrives, which cookies are kept, and that it never breaks a
page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import BrowserContext, Page

from tests.browser.conftest import STUB, Shop, cookie, idle, wait_until_ready
from tests.support.sizes import ROOT
from tests.support.waiting import wait_until


def test_it_works(shop: Shop, page: Page, context: BrowserContext) -> None:
    page.goto(shop.url("/?utm_source=news&gclid=abc#top"), referer="http://search.example/q")
    (hit,) = shop.wait_for_items("hit", 1)
    assert hit["url"] == shop.url("/?utm_source=news&gclid=abc#top")
    assert hit["referrer"].startswith("http://search.example/")
    assert (hit["browser"], hit["device_type"], hit["language"]) == ("Chrome", "desktop", "en-GB")
    page.wait_for_function("() => document.cookie.includes('trk_token=')")
    assert hit["trk_token"] == page.evaluate("trkToken()")
    assert hit["fingerprint"] == page.evaluate("trkFingerprint()")
    token_cookie = cookie(context)
    assert (token_cookie["value"], token_cookie["domain"]) == (hit["trk_token"], ".shop.example")
    assert (token_cookie["path"], token_cookie["sameSite"], token_cookie["httpOnly"]) == ("/", "Lax", False)


def test_the_token_survives_and_reaches_every_host_of_the_shop(
    shop: Shop, page: Page, open_page: Callable[[], Page]
) -> None:
    page.goto(shop.url())
    shop.wait_for_items("hit", 1)
    page.wait_for_function("() => document.cookie.includes('trk_token=')")
    page.evaluate("localStorage.clear()")
    page.goto(shop.url("/", host="blog.shop.example"))
    other_page = open_page()
    shop.wait_for_items("hit", 2)
    other_page.goto(shop.url("/?again", host="shop.example"))
    assert len({hit["trk_token"] for hit in shop.wait_for_items("hit", 3)}) == 1


def test_a_stranger_s_host_keeps_the_token_by_itself(shop: Shop, page: Page, context: BrowserContext) -> None:
    shop.put("/far", hub="127.0.0.1")
    page.goto(shop.url("/far"))
    (hit,) = shop.wait_for_items("hit", 1)
    page.wait_for_function("() => document.cookie.includes('trk_token=')")
    token_cookie = cookie(context)
    assert (token_cookie["value"], token_cookie["domain"]) == (hit["trk_token"], "www.shop.example")
    page.reload()
    assert {row["trk_token"] for row in shop.wait_for_items("hit", 2)} == {hit["trk_token"]}


def test_one_host_by_address(shop: Shop, page: Page, context: BrowserContext) -> None:
    shop.put("/near", hub="127.0.0.1")
    page.goto(shop.url("/near", host="127.0.0.1"))
    shop.wait_for_items("hit", 1)
    page.wait_for_function("() => document.cookie.includes('trk_token=')")
    assert cookie(context)["domain"] == "127.0.0.1"


def test_single_page_navigation(shop: Shop, page: Page) -> None:
    page.goto(shop.url())
    wait_until_ready(page)
    page.evaluate("history.pushState({}, '', '/a?x=1')")
    page.evaluate("history.replaceState({}, '', '/a?x=1')")  # the same page
    page.evaluate("location.hash = 'part'")
    page.evaluate("history.replaceState({}, '', '/b')")
    shop.wait_for_items("hit", 3)
    page.go_back()
    hits = shop.wait_for_items("hit", 4)
    paths = ["/", "/a?x=1", "/b", "/a?x=1"]
    assert [hit["url"] for hit in hits] == [shop.url(path) for path in paths]
    referrers = [shop.url("/"), shop.url("/a?x=1"), shop.url("/b")]
    assert [hit.get("referrer") for hit in hits] == [None, *referrers]
    assert len({hit["key"] for hit in hits}) == 4


def test_fragments_where_they_are_asked_for(shop: Shop, page: Page) -> None:
    shop.put("/app", attributes="data-hash")
    page.goto(shop.url("/app"))
    wait_until_ready(page)
    page.evaluate("location.hash = '#/cart'")
    assert [hit["url"] for hit in shop.wait_for_items("hit", 2)] == [shop.url("/app"), shop.url("/app#/cart")]


def test_a_page_brought_back_is_viewed_again(shop: Shop, page: Page) -> None:
    page.goto(shop.url("/"))
    wait_until_ready(page)
    shop.wait_for_items("hit", 1)
    idle(page)
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    hits = shop.wait_for_items("hit", 2)
    assert hits[1]["url"] == hits[1]["referrer"] == shop.url("/")


def test_prerendering_waits(shop: Shop, page: Page) -> None:
    page.add_init_script(
        "let hidden = true;"
        "Object.defineProperty(document, 'prerendering', {get: () => hidden});"
        "window.activate = () => { hidden = false;"
        " document.dispatchEvent(new Event('prerenderingchange')) }"
    )
    page.goto(shop.url())
    page.wait_for_function("() => window.trk && trk.site")
    idle(page)
    assert shop.site.rows() == []
    page.evaluate("activate()")
    shop.wait_for_items("hit", 1)


def test_somebody_buys_and_leaves_at_once(shop: Shop, page: Page, context: BrowserContext) -> None:
    cookies = {"_fbp": "fb.1.2", "__oppref": "op-1", "__obref": "ob-1"}
    context.add_cookies(
        [{"name": name, "value": value, "url": shop.url()} for name, value in cookies.items()]
    )
    shop.put("/thanks", body=(
        "<script>trk.identify({email: 'Ada@Example.com', first_name: 'Ada'});"
        "trk.track('purchase', {amount: 12.5, order_id: 'o-1'})</script>"
    ))  # fmt: skip
    page.goto(shop.url("/thanks"))
    wait_until_ready(page)
    page.evaluate("() => { trk.track('purchase', {amount: 12.5, order_id: 'o-2'}); location.href = '/gone' }")
    page.wait_for_url(shop.url("/gone"))
    orders = shop.wait_for_items("event", 2)
    assert sorted(order["order_id"] for order in orders) == ["o-1", "o-2"]
    second = next(order for order in orders if order["order_id"] == "o-2")
    assert (second["url"], second["amount"]) == (shop.url("/thanks"), "12.5")
    assert second["cookies"] == {"fbp": "fb.1.2", "oppref": "op-1", "obref": "ob-1"}
    (person,) = shop.wait_for_items("identify", 1)
    assert (person["email"], person["first_name"]) == ("ada@example.com", "Ada")
    (hit,) = shop.wait_for_items("hit", 1)
    assert len({row["trk_token"] for row in [*orders, person, hit]}) == 1


def test_what_happens_as_the_page_ends(shop: Shop, page: Page) -> None:
    page.goto(shop.url())
    wait_until_ready(page)
    shop.wait_for_items("hit", 1)
    page.evaluate("() => addEventListener('beforeunload', () => trk.track('purchase', {order_id: 'late'}))")
    page.goto(shop.url("/gone"))  # this page has no tracker that would resend it
    assert shop.wait_for_items("event", 1)[0]["order_id"] == "late"


def test_what_is_on_its_way_does_not_hold_up_what_comes_after(shop: Shop, page: Page) -> None:
    page.goto(shop.url())
    wait_until_ready(page)
    page.evaluate("() => { trk.page(); setTimeout(() => trk.page(), 0); trk.page() }")
    assert len({hit["key"] for hit in shop.wait_for_items("hit", 4)}) == 4


def test_a_tag_without_the_site_key_says_so(shop: Shop, page: Page) -> None:
    shop.pages["/"] = shop.snippet().replace(f'data-site="{shop.site.key}"', "")
    with page.expect_console_message(lambda message: message.text == "trk: the script tag has no data-site"):
        page.goto(shop.url())


def test_what_json_cannot_write_is_left_out_alone(shop: Shop, page: Page) -> None:
    """Also if the value becomes invalid after the call. A warning reports it, and everything else still
    arrives.
    """
    warnings: list[str] = []
    page.on("console", lambda message: warnings.append(message.text))
    page.goto(shop.url())
    wait_until_ready(page)
    page.evaluate(
        "() => { const circle = {amount: 1}; circle.circle = circle; trk.track('purchase', circle);"
        " trk.track('purchase', {amount: BigInt(1)});"
        " trk.identify({get email() { throw 1 }}); trk.identify({email: 'a@b.org', big: 1n});"
        " const later = {order_id: 'o-1', items: {}}; trk.track('purchase', later);"
        " later.items.self = later; trk.identify({email: 'ada@example.com'}) }"
    )
    assert shop.wait_for_items("event", 1)[0]["order_id"] == "o-1"
    assert shop.wait_for_items("identify", 1)[0]["email"] == "ada@example.com"
    shop.wait_for_items("hit", 1)
    assert len([text for text in warnings if "JSON cannot write" in text]) == 4
    page.evaluate("history.pushState({}, '', '/next')")
    shop.wait_for_items("hit", 2)


def test_what_comes_later_is_never_earlier(shop: Shop, page: Page) -> None:
    """Also if the first report took long to arrive."""
    routes: list[Any] = []
    # Only once: handlers run while the test waits for the page, not while it waits for the server.
    page.route("**/t", lambda route: routes.append(route), times=1)  # noqa: PLW0108 - it needs a name
    with page.expect_request("**/t"):
        page.goto(shop.url())
    page.evaluate("history.pushState({}, '', '/second')")
    page.wait_for_function("() => performance.now() > 500")
    routes[0].continue_()
    page.wait_for_function("() => document.cookie.includes('trk_token=')")
    first, second = shop.wait_for_items("hit", 2)
    assert (first["url"], second["url"]) == (shop.url("/"), shop.url("/second"))
    assert first["occurred_at"] <= second["occurred_at"]


def test_the_documentation_has_the_stub_that_is_tested() -> None:
    assert f"<script>{STUB}</script>" in (ROOT / "docs" / "tracker.md").read_text()


class TestBlocked:
    """Blocked storage, other sites' frames and missing interfaces: the page keeps working and no visitor is
    invented.
    """

    def test_storage_and_cookies_that_throw(self, shop: Shop, page: Page) -> None:
        page.add_init_script(
            "for (const [of, name] of [[Window, 'localStorage'], [Document, 'cookie']]) {"
            " const refuse = () => { throw new DOMException('no', 'SecurityError') };"
            " Object.defineProperty(of === Window ? window : document, name,"
            "  {get: refuse, set: refuse, configurable: true}) }"
        )
        page.goto(shop.url())
        wait_until_ready(page)
        page.evaluate("trk.track('purchase', {amount: 1})")
        (purchase,) = shop.wait_for_items("event", 1)
        (hit,) = shop.wait_for_items("hit", 1)
        assert "trk_token" not in hit
        assert "trk_token" not in purchase
        assert hit["fingerprint"] == purchase["fingerprint"]
        assert page.evaluate("trkToken()") == ""

    def test_a_frame_on_another_site(self, shop: Shop, page: Page) -> None:
        shop.put("/framed")
        shop.pages["/outer"] = f'<iframe src="{shop.url("/framed")}"></iframe>'
        page.goto(shop.url("/outer", host="elsewhere.example"))
        (hit,) = shop.wait_for_items("hit", 1)
        assert hit["url"] == shop.url("/framed")
        assert hit["referrer"].startswith("http://elsewhere.example")
        wait_until_ready(page.frames[1])

    def test_a_sandboxed_frame_reports_nothing(self, shop: Shop, page: Page) -> None:
        shop.put("/framed")
        shop.pages["/outer"] = f'<iframe sandbox="allow-scripts" src="{shop.url("/framed")}"></iframe>'
        page.goto(shop.url("/outer"))
        wait_until_ready(page.frames[1])
        idle(page)
        assert page.frames[1].evaluate("trkToken()") == ""
        assert shop.site.rows() == []

    def test_a_foreign_page_writes_nothing(self, shop: Shop, page: Page) -> None:
        page.goto(shop.url("/", host="copied.example"))
        wait_until_ready(page)
        idle(page)
        assert shop.site.rows() == []

    def test_interfaces_that_are_missing(self, shop: Shop, page: Page) -> None:
        page.add_init_script(
            "delete window.fetch; delete window.crypto; navigator.sendBeacon = undefined;"
            "window.Intl = undefined; Object.defineProperty(window, 'crypto', {value: undefined})"
        )
        page.goto(shop.url())
        wait_until_ready(page)
        for call in (
            "trk.page()",
            "trk.identify()",
            "trk.track()",
            "trk.consent()",
            "trkToken()",
            "trkFingerprint()",
            "trk.q.push(null)",
            "trk.q.push(() => { throw 1 })",
        ):
            page.evaluate(call)
        page.goto(shop.url("/?next"))

    def test_globals(self, shop: Shop, page: Page) -> None:
        shop.pages["/bare"] = "<!doctype html>"
        page.goto(shop.url("/bare"))
        before = set(page.evaluate("Object.keys(window)"))
        shop.pages["/bare"] = "<!doctype html>" + shop.snippet()
        page.reload()
        wait_until_ready(page)
        after = set(page.evaluate("Object.keys(window)"))
        assert after - before == {"trk", "trkToken", "trkFingerprint"}

    def test_twice_on_a_page(self, shop: Shop, page: Page) -> None:
        shop.put("/twice", body=shop.snippet())
        page.goto(shop.url("/twice"))
        wait_until_ready(page)
        idle(page)
        shop.wait_for_items("hit", 1)


class TestAway:
    def test_what_could_not_be_sent_is_sent_again(self, shop: Shop, page: Page) -> None:
        keys: list[str] = []

        def fail(route: Any) -> None:
            keys.extend(item["key"] for item in route.request.post_data_json["items"])
            route.fulfill(status=503)

        page.route("**/t", fail)
        page.goto(shop.url())
        wait_until_ready(page)
        page.evaluate("trk.track('purchase', {amount: 1})")
        page.wait_for_function("() => localStorage.length > 1")
        wait_until(lambda: len(set(keys)) == 2, pause=lambda: page.wait_for_timeout(10))
        assert shop.site.rows() == []
        page.unroute("**/t")
        page.goto(shop.url("/?next"))
        hits = shop.wait_for_items("hit", 2)
        (purchase,) = shop.wait_for_items("event", 1)
        assert {hits[0]["key"], purchase["idempotency_key"]} == set(keys)
        page.wait_for_function("() => !Object.keys(localStorage).some(k => /queue/.test(k))")

    def test_the_page_itself_tries_again(self, shop: Shop, page: Page) -> None:
        tries: list[str] = []

        def fail_twice(route: Any) -> None:
            tries.append(route.request.post_data_json["items"][0]["key"])
            route.abort() if len(tries) < 3 else route.continue_()

        page.route("**/t", fail_twice)
        page.goto(shop.url())
        page.wait_for_function("() => document.cookie.includes('trk_token=')")
        (hit,) = shop.wait_for_items("hit", 1)
        assert tries == [hit["key"]] * 3

    def test_what_is_refused_for_good_is_let_go(self, shop: Shop, page: Page) -> None:
        page.goto(shop.url())
        wait_until_ready(page)
        shop.wait_for_items("hit", 1)
        page.evaluate("trk.track('no_such_event')")
        idle(page)
        page.wait_for_function("() => !Object.keys(localStorage).some(k => /queue/.test(k))")
        assert shop.site.payloads("event") == []
