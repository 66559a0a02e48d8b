"""The WooCommerce plugin's tag on pages with a banner that uses the WP Consent API, in a real browser."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.conftest import Shop, idle, wait_until_ready
from tests.integrations.test_woocommerce import Shop as Plugin
from tests.integrations.test_woocommerce import php
from tests.support.factories import Stage

__all__ = ["php"]
CHOICE = "wp_consent_statistics"
# Its script is at the end of pages. `consent_type` is what the server knows of the visitor's region.
CONSENT_API = """<script>
const consent_api = SETTINGS;
window.wp_fallback_consent_type = consent_api.consent_type;
window.waitfor_consent_hook = consent_api.waitfor_consent_hook;
const readChoice = (category) => (document.cookie.match(`wp_consent_${category}=([a-z]+)`) || ['', ''])[1];
function wp_has_consent(category) {
  const type = window.wp_consent_type ?? window.wp_fallback_consent_type;
  const choice = readChoice(category);
  return !type || choice === 'allow' || choice === '' && type.includes('optout');
}
function wp_set_consent(category, value) {
  const isNew = readChoice(category) !== value;
  document.cookie = `wp_consent_${category}=${value};path=/`;
  const detail = Object.assign([], {[category]: value});
  if (isNew) document.dispatchEvent(new CustomEvent('wp_listen_for_consent_change', {detail}));
}
</script>"""
DEFINE_TYPE = """([type, target]) => {
  window.wp_consent_type = type;
  window[target].dispatchEvent(new CustomEvent('wp_consent_type_defined'));
}"""


@pytest.fixture
def plugin(shop: Shop, php: str, stage: Stage) -> Plugin:
    plugin = Plugin(php, stage, f"http://hw.shop.example:{shop.hub_port}")
    plugin.settings |= {"site_key": shop.site.key, "consent": "required"}
    return plugin


def put(shop: Shop, plugin: Plugin, consent_type: str | bool, *, waits: bool = False) -> None:
    """Store the page with the tag and the API, as in a shop with a banner."""
    _, head = plugin.run_steps(["consent", True], ["head"])
    settings = json.dumps({"consent_type": consent_type, "waitfor_consent_hook": waits})
    shop.pages["/"] = f"<!doctype html><title>Shop</title>{head}" + CONSENT_API.replace("SETTINGS", settings)


def choose(shop: Shop, context: BrowserContext, value: str) -> None:
    """Store a choice made on an earlier page."""
    context.add_cookies([{"name": CHOICE, "value": value, "url": shop.url()}])


def assert_waiting(shop: Shop, page: Page) -> None:
    wait_until_ready(page)
    idle(page)
    assert (shop.site.rows(), page.evaluate("trkToken()")) == ([], "")


def test_it_works(shop: Shop, plugin: Plugin, page: Page) -> None:
    put(shop, plugin, "optin")
    page.goto(shop.url("/?gclid=abc"))
    assert_waiting(shop, page)
    page.evaluate("wp_set_consent('statistics', 'allow')")
    shop.wait_for_items("hit", 1)
    page.goto(shop.url("/?2"))
    shop.wait_for_items("hit", 2)
    page.evaluate("wp_set_consent('statistics', 'deny')")
    assert page.evaluate("[trkToken(), document.cookie.includes('trk_token')]") == ["", False]
    page.goto(shop.url("/?3"))
    wait_until_ready(page)
    idle(page)
    shop.wait_for_items("hit", 2)


@pytest.mark.parametrize(
    ("consent_type", "choice"), [("optin", "allow"), ("optout", ""), ("optout", "allow")]
)
def test_consent_before_the_page_counts(
    shop: Shop, plugin: Plugin, page: Page, context: BrowserContext, consent_type: str, choice: str
) -> None:
    put(shop, plugin, consent_type)
    choose(shop, context, choice)
    page.goto(shop.url())
    shop.wait_for_items("hit", 1)


@pytest.mark.parametrize(("consent_type", "choice"), [("optin", "deny"), ("optout", "deny"), (False, "")])
def test_without_consent_or_a_consent_type_the_page_waits(
    shop: Shop, plugin: Plugin, page: Page, context: BrowserContext, consent_type: str | bool, choice: str
) -> None:
    put(shop, plugin, consent_type)
    choose(shop, context, choice)
    page.goto(shop.url())
    assert_waiting(shop, page)


@pytest.mark.parametrize("target", ["document", "window"])
def test_a_type_that_the_banner_defines_later_is_waited_for(
    shop: Shop, plugin: Plugin, page: Page, target: str
) -> None:
    put(shop, plugin, "optout", waits=True)
    page.goto(shop.url())
    assert_waiting(shop, page)
    page.evaluate(DEFINE_TYPE, ["optin", target])
    assert_waiting(shop, page)
    page.evaluate(DEFINE_TYPE, ["optout", target])
    shop.wait_for_items("hit", 1)


def test_consent_that_has_expired_does_not_live_on(
    shop: Shop, plugin: Plugin, page: Page, context: BrowserContext
) -> None:
    put(shop, plugin, "optin")
    page.goto(shop.url())
    wait_until_ready(page)
    page.evaluate("wp_set_consent('statistics', 'allow')")
    shop.wait_for_items("hit", 1)
    context.clear_cookies(name=CHOICE)
    page.goto(shop.url("/?2"))
    wait_until_ready(page)
    idle(page)
    shop.wait_for_items("hit", 1)
