"""The Shopify theme snippet and custom pixel in a real browser: the pixel in a frame without an origin, as
Shopify runs it.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route

from headwater.spaces.sites.snippets import Installation, ShopSystem, Snippet, describe_shop
from tests.browser.conftest import Shop, idle, wait_until_ready
from tests.support.sizes import ROOT
from tests.support.waiting import wait_until

SNIPPET = (ROOT / "src/headwater/spaces/sites/headwater.liquid").read_text()
PIXEL = (ROOT / "integrations/shopify/headwater-pixel.js").read_text()
CHECKOUT = {
    "token": "ch-1", "email": "ada@example.com", "phone": None,
    "order": {"id": "gid://shopify/OrderIdentity/820982911946154508"},
    "billingAddress": {"firstName": "Ada", "lastName": "L", "phone": "+15551234567"},
}  # fmt: skip
BANNER = """<script>
window.Shopify = { routes: { root: '/' }, loadFeatures: function (features, done) {
  Shopify.customerPrivacy = { analyticsProcessingAllowed: function () { return %s },
                              marketingAllowed: function () { return true },
                              saleOfDataAllowed: function () { return true } };
  done();
} };
</script>"""


def render(shop: Shop, snippet: str = SNIPPET, **values: Any) -> str:
    """Return the snippet as Liquid renders it, with the parts of the language that the snippet uses."""
    text = re.sub(r"\{%-? comment .*?endcomment -?%\}", "", snippet, flags=re.DOTALL)
    text = text.replace("https://hw.shop.example", f"http://hw.shop.example:{shop.hub_port}")
    text = text.replace("trk_pk_…", shop.site.key)
    assigned = dict(re.findall(r"\{%-? assign (\w+) = '([^']*)' -?%\}", text))
    text = re.sub(r"\{%-? assign .*? -?%\}\n?", "", text)
    variables = {"cart.attributes.trk_token": None, **assigned, **values}
    if "customer.id" not in variables:
        text = re.sub(r"\{%-? if customer -?%\}.*?\{%-? endif -?%\}", "", text, flags=re.DOTALL)
    text = re.sub(r"\{%-? (if customer|endif) -?%\}", "", text)
    return re.sub(
        r"\{\{ ([\w.]+) \| (json|escape) \}\}",
        lambda m: json.dumps(variables[m[1]]) if m[2] == "json" else variables[m[1]],
        text,
    )


@pytest.fixture
def cart(page: Page) -> list[dict[str, Any]]:
    """The attributes that the theme's pages put into the cart."""
    updates: list[dict[str, Any]] = []

    def update(route: Route) -> None:
        updates.append(route.request.post_data_json)
        route.fulfill(json={})

    page.route("**/cart/update.js", update)
    return updates


def wait_for_cart(page: Page, cart: list[dict[str, Any]]) -> None:
    """Wait for the cart. The browser's requests are answered by this thread, while it waits for the
    browser.
    """
    wait_until(lambda: cart, pause=lambda: page.wait_for_timeout(10))


def put(shop: Shop, body: str) -> None:
    shop.pages["/"] = f"<!doctype html><title>Shop</title>{body}"


def test_it_works(shop: Shop, page: Page, cart: list[dict[str, Any]]) -> None:
    variables = {"customer.email": "ada@example.com", "customer.id": 17}
    put(shop, BANNER % "true" + render(shop, **variables))
    page.goto(shop.url("/?gclid=abc"))
    (hit,) = shop.wait_for_items("hit", 1)
    (person,) = shop.wait_for_items("identify", 1)
    assert (person["email"], person["tracking_id"]) == ("ada@example.com", "17")
    wait_for_cart(page, cart)
    assert cart == [{"attributes": {"trk_token": hit["trk_token"]}}]


def test_nothing_before_the_banner_and_the_rest_after_it(
    shop: Shop, page: Page, cart: list[dict[str, Any]]
) -> None:
    put(shop, BANNER % "false" + render(shop))
    page.goto(shop.url())
    wait_until_ready(page)
    idle(page)
    assert (shop.site.rows(), cart) == ([], [])
    collect_consent(page, analyticsAllowed=True, marketingAllowed=False)
    (hit,) = shop.wait_for_items("hit", 1)
    wait_for_cart(page, cart)
    assert cart == [{"attributes": {"trk_token": hit["trk_token"]}}]
    assert ads_allowed(shop, page) is False


def collect_consent(page: Page, **choice: bool) -> None:
    """Answer Shopify's banner."""
    page.evaluate(
        "choice => document.dispatchEvent(new CustomEvent('visitorConsentCollected', {detail: choice}))",
        choice,
    )


def ads_allowed(shop: Shop, page: Page) -> bool:
    """Return the consent of an event that the page reports."""
    page.evaluate("trk.track('purchase', {order_id: '1'})")
    (event,) = shop.wait_for_items("event", 1)
    assert event["ad_user_data"] == event["ad_personalization"]
    return event["ad_user_data"]


@pytest.mark.usefixtures("cart")
def test_consent_given_on_an_earlier_page_counts(shop: Shop, page: Page) -> None:
    put(shop, BANNER % "true" + render(shop))
    page.goto(shop.url())
    wait_until_ready(page)
    assert ads_allowed(shop, page) is True


@pytest.mark.parametrize("needs_consent", [True, False])
def test_the_console_s_code_does_the_same(
    shop: Shop, page: Page, cart: list[dict[str, Any]], *, needs_consent: bool
) -> None:
    """Visitors in regions without a banner are reported, and the others from the banner's page on."""
    installation = Installation(f"http://hw.shop.example:{shop.hub_port}", "/t.js")
    steps = describe_shop(
        ShopSystem.SHOPIFY, Snippet(installation, shop.site.key, needs_consent), accepts_amounts=True
    )
    code = render(shop, "\n".join(step.code for step in steps))
    put(shop, BANNER % "false" + code)
    page.goto(shop.url())
    wait_until_ready(page)
    idle(page)
    assert len(shop.site.rows()) == (0 if needs_consent else 1)
    collect_consent(page, analyticsAllowed=True, marketingAllowed=True)
    (hit,) = shop.wait_for_items("hit", 1)
    wait_for_cart(page, cart)
    assert cart == [{"attributes": {"trk_token": hit["trk_token"]}}]
    page.context.clear_cookies()
    put(shop, BANNER % "true" + code)
    page.goto(shop.url("/?region"))
    shop.wait_for_items("hit", 2)


@pytest.mark.usefixtures("cart")
def test_without_the_sale_of_data_nothing_goes_to_ad_platforms(shop: Shop, page: Page) -> None:
    put(shop, BANNER % "false" + render(shop))
    page.goto(shop.url())
    wait_until_ready(page)
    collect_consent(page, analyticsAllowed=True, marketingAllowed=True, saleOfDataAllowed=False)
    assert ads_allowed(shop, page) is False


def test_a_refusal_takes_the_token_out_of_the_cart(
    shop: Shop, page: Page, cart: list[dict[str, Any]]
) -> None:
    put(shop, BANNER % "true" + render(shop))
    page.goto(shop.url())
    shop.wait_for_items("hit", 1)
    wait_for_cart(page, cart)
    collect_consent(page, analyticsAllowed=False)
    wait_until(lambda: len(cart) == 2, pause=lambda: page.wait_for_timeout(10))
    assert cart[1] == {"attributes": {"trk_token": ""}}
    assert page.evaluate("[document.cookie, trkToken()]") == ["", ""]


@pytest.mark.usefixtures("cart")
def test_consent_that_shopify_no_longer_has_does_not_count(shop: Shop, page: Page) -> None:
    put(shop, BANNER % "true" + render(shop))
    page.goto(shop.url())
    shop.wait_for_items("hit", 1)
    put(shop, BANNER % "false" + render(shop))
    page.goto(shop.url("/?again"))
    wait_until_ready(page)
    idle(page)
    shop.wait_for_items("hit", 1)


def test_the_cart_keeps_the_language_of_the_page(shop: Shop, page: Page, cart: list[dict[str, Any]]) -> None:
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    put(shop, BANNER.replace("'/'", "'/fr-ca/'") % "true" + render(shop))
    page.goto(shop.url())
    wait_for_cart(page, cart)
    assert shop.url("/fr-ca/cart/update.js") in urls


def test_a_cart_that_has_the_token_is_left_alone(shop: Shop, page: Page, cart: list[dict[str, Any]]) -> None:
    put(shop, BANNER % "true" + render(shop, **{"cart.attributes.trk_token": "tok-1"}))
    page.context.add_cookies([{"name": "trk_token", "value": "tok-1", "url": shop.url()}])
    page.goto(shop.url())
    shop.wait_for_items("hit", 1)
    idle(page)
    assert cart == []


def pixel(shop: Shop, token: str | None, calls: str) -> str:
    """Return a checkout page with the pixel in its frame."""
    hub = f"http://hw.shop.example:{shop.hub_port}/t"
    code = PIXEL.replace("https://hw.shop.example/t", hub).replace("trk_pk_…", shop.site.key)
    stand_in = (
        f"const heard = {{}}; const token = {json.dumps(token)};"
        "const browser = {cookie: {get: async () => token}};"
        "const analytics = {subscribe: (name, action) => { heard[name] = action }};"
        "const init = {customerPrivacy: {analyticsProcessingAllowed: true, marketingAllowed: true,"
        " saleOfDataAllowed: false}};"
        "const context = {document: {location: {href: 'https://shop.example/thanks'}}};"
    )
    frame = f"<script>{stand_in}{code}{calls}</script>".replace("&", "&amp;").replace('"', "&quot;")
    return (
        "<!doctype html><title>Checkout</title>"
        f'<iframe sandbox="allow-scripts allow-forms" srcdoc="{frame}"></iframe>'
    )


def complete_checkout(checkout: dict[str, Any]) -> str:
    event_data = json.dumps({"checkout": checkout})
    return f"heard.checkout_completed({{context, data: {event_data}}})"


def allow_frames(shop: Shop) -> None:
    shop.site.connection.execute(
        "UPDATE sites SET origins = origins || ARRAY['null'] WHERE space_id = %s AND id = %s",
        (shop.site.space_id, shop.site.id),
    )


def test_the_pixel_reports_from_a_frame_without_an_origin(shop: Shop, page: Page) -> None:
    allow_frames(shop)
    shop.pages["/checkout"] = pixel(shop, "tok-9", complete_checkout(CHECKOUT))
    page.goto(shop.url("/checkout"))
    (event,) = shop.wait_for_items("event", 1)
    (person,) = shop.wait_for_items("identify", 1)
    assert (event["order_id"], event["checkout_token"]) == ("820982911946154508", "ch-1")
    assert (event["trk_token"], event["url"]) == ("tok-9", "https://shop.example/thanks")
    assert event.get("amount") is None
    assert event["ad_user_data"] is False
    assert (person["email"], person["phone"], person["first_name"]) == (
        "ada@example.com", "+15551234567", "Ada",
    )  # fmt: skip


def test_without_a_token_or_a_person_the_pixel_is_silent(shop: Shop, page: Page) -> None:
    allow_frames(shop)
    shop.pages["/checkout"] = pixel(shop, None, complete_checkout(CHECKOUT))
    methods: list[str] = []
    page.on("request", lambda request: methods.append(request.method))
    page.goto(shop.url("/checkout"))
    idle(page)
    shop.pages["/checkout"] = pixel(shop, "tok-9", complete_checkout({"order": None}))
    page.goto(shop.url("/checkout"))
    idle(page)
    assert "POST" not in methods
