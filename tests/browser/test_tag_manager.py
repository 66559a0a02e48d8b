"""The Google Tag Manager template in a real browser, on a stand-in for its sandbox that grants exactly what
the template's permissions grant. The template's own tests run there as well.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from playwright.sync_api import Page

from headwater.events.accepted import EVENT_NAMES
from tests.browser.conftest import Shop, idle, wait_until_ready
from tests.support.sizes import ROOT

TEMPLATE = (ROOT / "src/headwater/console/static/google-tag-manager.tpl").read_text()
SECTIONS = dict(re.findall(r"^___(\w+)___\n\n(.*?)\n(?=\n\n___|\Z)", TEMPLATE, re.MULTILINE | re.DOTALL))
CODE = SECTIONS["SANDBOXED_JS_FOR_WEB_TEMPLATE"]
FIELDS = {field["name"]: field for field in json.loads(SECTIONS["TEMPLATE_PARAMETERS"])}
OWN_TESTS = yaml.safe_load(SECTIONS["TESTS"])
DENIED = {"analytics_storage": False, "ad_user_data": False, "ad_personalization": False}
GRANTED = {**DENIED, "analytics_storage": True, "ad_user_data": True}


def read_grants() -> dict[str, Any]:
    """Return the grants of each permission: flags by name, or a list of addresses."""
    grants: dict[str, Any] = {}
    for permission in json.loads(SECTIONS["WEB_PERMISSIONS"]):
        (parameter,) = permission["instance"]["param"]
        items = parameter["value"]["listItem"]
        grants[permission["instance"]["key"]["publicId"]] = (
            [item["string"] for item in items] if "string" in items[0] else
            {item["mapValue"][0]["string"]: [flag["boolean"] for flag in item["mapValue"][1:]]
             for item in items}
        )  # fmt: skip
    return grants


SANDBOX = """
(() => {
  const granted = GRANTED;
  const may = (permission, key, place) => {
    if (!(granted[permission][key] || [])[place]) throw new Error('no permission for ' + key);
  };
  const at = (path) => path.split('.').slice(0, -1).reduce((value, name) => value[name], window);
  const copy = (value) => JSON.parse(JSON.stringify(value));
  const state = {}, listeners = [];
  const apis = {
    addConsentListener: (type, listener) => {
      may('access_consent', type, 0);
      listeners.push([type, listener]);
    },
    callInWindow: (path, ...values) => {
      may('access_globals', path, 2);
      const owner = at(path);
      return owner[path.split('.').pop()](...values.map(copy));
    },
    callLater: (action) => setTimeout(action, 0),
    encodeUriComponent: encodeURIComponent,
    isConsentGranted: (type) => {
      may('access_consent', type, 0);
      return state[type] !== false;
    },
    makeNumber: Number,
    makeString: String,
    setInWindow: (path, value, force) => {
      may('access_globals', path, 1);
      const owner = at(path), name = path.split('.').pop();
      if (force || owner[name] === undefined) owner[name] = copy(value);
    },
    injectScript: (url, success, failure, cached) => {
      const pattern = granted.inject_script[0].replace(/[.?/]/g, '\\\\$&').replace(/[*]/g, '.*');
      if (!url.match('^' + pattern.replace('https', 'https?') + '$')) {
        throw new Error('no permission for ' + url);
      }
      window.loaded = window.loaded || {};
      if (window.loaded[cached]) return success();
      window.loaded[cached] = true;
      const script = document.createElement('script');
      Object.assign(script, {async: true, src: url, onload: success, onerror: failure});
      document.head.appendChild(script);
    }
  };
  const run = (data, apis) => {
    const need = (name) => {
      if (!apis[name]) throw new Error('no such API: ' + name);
      return apis[name];
    };
    new Function('require', 'data', 'window', 'document', CODE)(need, data);
  };
  window.fire = (values) => new Promise((resolve, reject) =>
    run({gtmOnSuccess: resolve, gtmOnFailure: reject, ...values}, apis));
  // As Tag Manager does it: the types of one update change one after another.
  window.updateConsent = (types) => Object.keys(types).forEach((type) => {
    const before = state[type] !== false;
    const isSet = type in state;
    state[type] = types[type];
    if (isSet && before !== types[type]) {
      listeners.filter((one) => one[0] === type).forEach((one) => one[1](type, types[type]));
    }
  });
  window.runScenario = (code) => {
    const mocked = {}, called = [];
    const log = (name, action) => (...values) => {
      called.push(name);
      return action(...values);
    };
    const mock = (name, result) => {
      mocked[name] = log(name, typeof result === 'function' ? result : () => result);
    };
    const check = (isTrue, message) => {
      if (!isTrue) throw new Error(message);
    };
    const sorted = (value) => JSON.stringify(value, (_, one) => one && one.constructor === Object
      ? Object.fromEntries(Object.entries(one).sort()) : one);
    const runCode = (values) => run({
      gtmOnSuccess: log('gtmOnSuccess', () => {}), gtmOnFailure: log('gtmOnFailure', () => {}), ...values
    }, {...apis, ...mocked});
    const assertThat = (found) => ({
      isEqualTo: (value) => check(sorted(found) === sorted(value), sorted(found) + ' is not ' + sorted(value))
    });
    const assertApi = (name) => ({
      wasCalled: () => check(called.includes(name), name + ' was not called'),
      wasNotCalled: () => check(!called.includes(name), name + ' was called')
    });
    new Function('mock', 'runCode', 'assertThat', 'assertApi', code)(mock, runCode, assertThat, assertApi);
  };
})()
"""


class Container:
    """A page with the container's sandbox, and tags in it."""

    def __init__(self, shop: Shop, page: Page, consent_source: str = "none") -> None:
        self.page = page
        self.settings = {
            "address": f"http://hw.shop.example:{shop.hub_port}", "script": "/t.js",
            "site": shop.site.key, "consent_source": consent_source,
        }  # fmt: skip
        shop.pages["/"] = "<!doctype html><title>Shop</title>"
        self.open(shop.url("/?gclid=abc"))

    def open(self, url: str) -> None:
        self.page.goto(url)
        rights = json.dumps(read_grants())
        self.page.evaluate(SANDBOX.replace("GRANTED", rights).replace("CODE", json.dumps(CODE)))

    def fire(self, action: str, **values: Any) -> None:
        """Fire a tag, and wait until it reports that it is done."""
        settings = self.settings if action == "load" else {}
        self.page.evaluate("fire", {**settings, "action": action, **values})

    def update_consent(self, types: dict[str, bool]) -> None:
        self.page.evaluate("updateConsent", types)


def read_storage(page: Page) -> list[Any]:
    return page.evaluate("[document.cookie, Object.keys(localStorage)]")


def test_it_works(shop: Shop, page: Page) -> None:
    container = Container(shop, page)
    # Before the tracker has loaded, and after it.
    container.fire("identify", email="ada@example.com", tracking_id=17, phone="")
    container.fire("load")
    container.fire("track", event_name="purchase", order_id=1001, amount="89.50", currency="EUR")
    (hit,) = shop.wait_for_items("hit", 1)
    (person,) = shop.wait_for_items("identify", 1)
    (event,) = shop.wait_for_items("event", 1)
    assert hit["url"].endswith("/?gclid=abc")
    assert (person["email"], person["tracking_id"]) == ("ada@example.com", "17")
    assert (event["event_name"], event["order_id"], event["currency"]) == (
        "purchase", "1001", "EUR",
    )  # fmt: skip
    assert float(event["amount"]) == 89.5
    assert page.evaluate("document.querySelectorAll('script[src]').length") == 1


def test_what_is_no_number_is_left_out(shop: Shop, page: Page) -> None:
    container = Container(shop, page)
    container.fire("load")
    container.fire("track", event_name="purchase", order_id="a", amount="89,50")
    assert shop.wait_for_items("event", 1)[0].get("amount") is None


def test_it_waits_for_a_tag_that_passes_on_consent(shop: Shop, page: Page) -> None:
    container = Container(shop, page, "tag")
    container.fire("load")
    idle(page)
    assert shop.site.rows() == []
    container.fire("consent", analytics="granted", ads="denied")
    shop.wait_for_items("hit", 1)
    consent = page.evaluate(f"localStorage['trk_consent.{shop.site.key}']")
    assert json.loads(consent) == {"ad_user_data": False, "ad_personalization": False}
    container.fire("consent", analytics="denied", ads="unknown")
    assert page.evaluate("trkToken()") == ""


class TestConsentMode:
    def test_the_waiting_page_view_is_sent_when_consent_is_granted(self, shop: Shop, page: Page) -> None:
        container = Container(shop, page, "consent_mode")
        container.update_consent(DENIED)
        container.fire("load")
        container.fire("track", event_name="purchase", order_id="1")
        wait_until_ready(page)
        idle(page)
        assert (shop.site.rows(), read_storage(page)) == ([], ["", []])
        container.update_consent(GRANTED)
        assert shop.wait_for_items("hit", 1)[0]["url"].endswith("/?gclid=abc")
        (event,) = shop.wait_for_items("event", 1)
        assert (event["ad_user_data"], event["ad_personalization"]) == (True, False)

    def test_nothing_is_sent_when_consent_is_denied(self, shop: Shop, page: Page) -> None:
        container = Container(shop, page, "consent_mode")
        container.update_consent(DENIED)
        container.fire("load")
        container.fire("identify", email="ada@example.com")
        container.update_consent(DENIED)
        wait_until_ready(page)
        idle(page)
        assert (shop.site.rows(), read_storage(page)) == ([], ["", []])

    def test_a_withdrawal_deletes_the_token(self, shop: Shop, page: Page) -> None:
        container = Container(shop, page, "consent_mode")
        container.update_consent(GRANTED)
        container.fire("load")
        shop.wait_for_items("hit", 1)
        container.update_consent(DENIED)
        page.wait_for_function("trkToken() === ''")
        container.fire("track", event_name="purchase", order_id="1")
        idle(page)
        assert len(shop.site.rows()) == 1
        assert read_storage(page) == ["", []]

    def test_the_next_page_waits_for_the_banner_and_keeps_the_visitor(self, shop: Shop, page: Page) -> None:
        container = Container(shop, page, "consent_mode")
        container.update_consent(GRANTED)
        container.fire("load")
        shop.wait_for_items("hit", 1)
        container.open(shop.url("/?second"))
        container.update_consent(DENIED)
        container.fire("load")
        wait_until_ready(page)
        idle(page)
        shop.wait_for_items("hit", 1)
        container.update_consent(GRANTED)
        first, second = shop.wait_for_items("hit", 2)
        assert first["trk_token"] == second["trk_token"]

    def test_a_site_without_consent_mode_waits_for_nothing(self, shop: Shop, page: Page) -> None:
        Container(shop, page, "consent_mode").fire("load")
        shop.wait_for_items("hit", 1)


@pytest.mark.parametrize("scenario", OWN_TESTS["scenarios"], ids=lambda scenario: scenario["name"])
def test_its_own_tests_pass(shop: Shop, page: Page, scenario: dict[str, str]) -> None:
    Container(shop, page)
    page.evaluate("runScenario", f"{OWN_TESTS['setup']}\n{scenario['code']}")


def test_it_has_the_permissions_that_its_code_uses() -> None:
    required_names = set(re.findall(r"require\('(\w+)'\)", CODE))
    assert required_names == set(re.findall(r"^const (\w+) = require", CODE, re.MULTILINE))
    rights = read_grants()
    assert set(rights) == {"access_globals", "inject_script", "access_consent"}
    assert rights["access_globals"] == {"trk": [False, True, False], "trk.q.push": [False, False, True]}
    assert rights["access_consent"] == {name: [True, False] for name in DENIED}
    assert rights["inject_script"] == ["https://*/*"]


def test_its_fields_are_those_of_the_code_and_the_api() -> None:
    field_names = set(re.findall(r"data\.(\w+)", CODE)) - {"gtmOnSuccess", "gtmOnFailure"}
    quoted_names = {name for name in re.findall(r"'(\w+)'", CODE) if name in FIELDS}
    assert field_names | quoted_names == set(FIELDS)
    events = [item["value"] for item in FIELDS["event_name"]["selectItems"]]
    assert events == list(EVENT_NAMES)
    sources = {item["value"] for item in FIELDS["consent_source"]["selectItems"]}
    assert sources == set(re.findall(r"(\w+): '(?:&consent=\w+)?'", CODE))


def test_it_is_in_the_form_of_the_gallery() -> None:
    info = json.loads(SECTIONS["INFO"])
    assert (info["containerContexts"], info["id"]) == (["WEB"], "cvt_temp_public_id")
    assert set(info["categories"]) == {"ANALYTICS", "ATTRIBUTION", "CONVERSIONS"}
