"""Pages whose libraries changed the browser's built-in functions: data either arrives correctly, or is
missing because it can't be determined; no report is refused as a whole, and the page sees no error.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import STUB, Shop, wait_until_ready
from tests.support.waiting import wait_until

QUOTED = "function () { return JSON.stringify(String(this)) }"
THROWS = "() => { throw new Error('mutilated') }"
MUTILATIONS = {
    "Prototype.js: arrays write themselves": "Array.prototype.toJSON = function () {"
    " return '[' + this.map((one) => JSON.stringify(one)).join(', ') + ']' }",
    "Prototype.js: texts write themselves": f"String.prototype.toJSON = {QUOTED}",
    "numbers write themselves": f"Number.prototype.toJSON = {QUOTED}",
    "dates write themselves": f"Date.prototype.toJSON = {QUOTED}",
    "objects write themselves": "Object.prototype.toJSON = function () { return 'object' }",
    "Prototype.js: keys of everything": "Object.keys = (object) => { const keys = [];"
    " for (const key in object) keys.push(key); return keys }",
    "members for every object": "Object.prototype.consent = Object.prototype.forms ="
    " Object.prototype.hash = 'required'; Object.prototype.email = 'x@y.z'",
    "a setter for every object": "Object.defineProperty(Object.prototype, 'ago',"
    " {get: () => 'x', set() {}, configurable: true})",
    "MooTools: Array.from": "Array.from = (item) => item == null ? [] : [].concat(item)",
    "MooTools 1.2: JSON": "window.JSON = {encode: () => '', decode: () => null}",
    "no JSON": "window.JSON = undefined",
    "JSON that answers nonsense": "JSON.stringify = () => '{}'; JSON.parse = () => 7",
    "Array.prototype.map": "Array.prototype.map = () => []",
    "Array.prototype.filter": "Array.prototype.filter = () => [1, 2, 3]",
    "Array.prototype.concat and slice": "Array.prototype.concat = Array.prototype.slice = () => []",
    "Array.prototype.forEach": f"Array.prototype.forEach = Array.prototype.find = {THROWS}",
    "members of every array": "Array.prototype.contains = Array.prototype.each = () => true",
    "Object.assign": "Object.assign = () => ({})",
    "Object.entries": f"Object.entries = Object.fromEntries = {THROWS}",
    "String.prototype.padStart": "String.prototype.padStart = () => ''",
    "fetch that is gone": "delete window.fetch",
    "fetch that throws": f"window.fetch = {THROWS}",
    "fetch that answers nothing": "window.fetch = () => undefined",
    "fetch that answers something else": "window.fetch = () => Promise.resolve({status: 200})",
    "fetch that fails": "window.fetch = () => Promise.reject(new Error('mutilated'))",
    "Promise": "window.Promise = function () {}",
    "XMLHttpRequest": f"window.XMLHttpRequest = {THROWS}",
    "sendBeacon": f"navigator.sendBeacon = {THROWS}",
    "URL": f"window.URL = window.URLSearchParams = {THROWS}",
    "Date.now": "delete Date.now",
    "Date.now that is no number": "Date.now = () => 'now'",
    "a clock that stands still": "Date.now = () => 0",
    "Date": f"window.Date = {THROWS}",
    "a random number that is none": "Math.random = () => 0; crypto.getRandomValues = (bytes) => bytes",
    "crypto": "Object.defineProperty(window, 'crypto', {value: undefined})",
    "storage that throws": f"Storage.prototype.getItem = Storage.prototype.setItem = {THROWS}",
    "storage that keeps nothing": "Storage.prototype.setItem = () => {};"
    " Storage.prototype.getItem = () => null",
    "storage that answers objects": "Storage.prototype.getItem = () => ({})",
    "frozen prototypes": "[Object, Array, String, Function, History, Node].forEach("
    "(kind) => Object.freeze(kind.prototype))",
    "history that cannot be followed": "Object.defineProperty(history, 'pushState',"
    " {value: () => {}, writable: false})",
    "setTimeout": f"window.setTimeout = {THROWS}",
    "console": "window.console = undefined",
    "Intl and screen": "window.Intl = undefined; Object.defineProperty(window, 'screen', {value: undefined})",
    "languages": "Object.defineProperty(navigator, 'language', {get: () => 7});"
    " Object.defineProperty(navigator, 'languages', {get: () => null})",
    "addEventListener": f"window.addEventListener = {THROWS}",
}


CALLS = (
    "trk.identify({email: 'ada@example.com', first_name: 'Ada'});"
    " trk.track('purchase', {amount: 12.5, order_id: 'o-1'})"
)
"""The page itself makes these calls, because the tests' driver needs the changed functions, too."""


@pytest.mark.parametrize("name", MUTILATIONS)
def test_it_works(shop: Shop, page: Page, name: str) -> None:
    shop.pages["/mutilated"] = (
        f"<!doctype html><title>Shop</title><script>{STUB}</script><script>{CALLS}</script>"
        f"<script>{MUTILATIONS[name]}</script>{shop.snippet()}"
    )
    page.goto(shop.url("/mutilated?utm_source=news"))
    (purchase,) = shop.wait_for_items("event", 1)
    assert (purchase["amount"], purchase["order_id"]) == ("12.5", "o-1")
    assert purchase["url"] == shop.url("/mutilated?utm_source=news")
    (hit,) = shop.wait_for_items("hit", 1)
    assert hit["url"] == shop.url("/mutilated?utm_source=news")
    (person,) = shop.wait_for_items("identify", 1)
    assert (person["email"], person["first_name"]) == ("ada@example.com", "Ada")


def test_what_is_malformed_is_left_out_alone(shop: Shop, page: Page) -> None:
    page.goto(shop.url())
    wait_until_ready(page)
    page.evaluate(
        "() => { trk.track('purchase', {amount: 'much', order_id: 'o-1'});"
        " trk.identify({email: 'nobody'}); trk.consent({ad_user_data: 'granted', extra: []});"
        " trk.track('purchase', {order_id: 'half \\ud800 a pair', order_name: 'a\\0b'});"
        " trk.track('purchase', {order_id: 'o-2'}) }"
    )
    orders = {order["order_id"]: order for order in shop.wait_for_items("event", 2)}
    assert set(orders) == {"half \ufffd a pair", "o-2"}
    assert orders["o-2"]["ad_user_data"] is True
    wait_until(lambda: len(shop.site.payloads("hit")) == 1)
