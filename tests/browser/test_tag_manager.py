"""The Google Tag Manager template in a real browser, on a stand-in for its sandbox that grants what
the template's permissions grant, and nothing else.
"""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from typing import Any

from playwright.sync_api import Page

from headwater.events.accepted import EVENT_NAMES
from tests.browser.conftest import Shop, idle
from tests.support.sizes import ROOT

TEMPLATE = (ROOT / "integrations" / "google-tag-manager" / "headwater.tpl").read_text()
SECTIONS = dict(re.findall(r"^___(\w+)___\n\n(.*?)\n(?=\n\n___|\Z)", TEMPLATE, re.MULTILINE | re.DOTALL))
CODE = SECTIONS["SANDBOXED_JS_FOR_WEB_TEMPLATE"]
FIELDS = {each["name"]: each for each in json.loads(SECTIONS["TEMPLATE_PARAMETERS"])}


def granted() -> dict[str, Any]:
    """By permission what it grants: of variables [read, write, execute]."""
    found: dict[str, Any] = {}
    for each in json.loads(SECTIONS["WEB_PERMISSIONS"]):
        (parameter,) = each["instance"]["param"]
        listed = parameter["value"]["listItem"]
        found[each["instance"]["key"]["publicId"]] = (
            [item["string"] for item in listed] if "string" in listed[0] else
            {item["mapValue"][0]["string"]: [flag["boolean"] for flag in item["mapValue"][1:]]
             for item in listed}
        )  # fmt: skip
    return found


SANDBOX = """
(() => {
  const granted = GRANTED;
  const may = (key, place) => {
    if (!(granted.access_globals[key] || [])[place]) throw new Error('no permission for ' + key);
  };
  const at = (path) => path.split('.').slice(0, -1).reduce((value, name) => value[name], window);
  const copy = (value) => JSON.parse(JSON.stringify(value));
  const apis = {
    callInWindow: (path, ...values) => {
      may(path, 2);
      const owner = at(path);
      return owner[path.split('.').pop()](...values.map(copy));
    },
    encodeUriComponent: encodeURIComponent,
    makeNumber: Number,
    makeString: String,
    setInWindow: (path, value, force) => {
      may(path, 1);
      const owner = at(path), name = path.split('.').pop();
      if (force || owner[name] === undefined) owner[name] = copy(value);
    },
    injectScript: (url, success, failure, cached) => {
      if (!granted.inject_script.some((each) => url.startsWith(each.replace('*', '')))) {
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
  window.fire = (values) => new Promise((resolve, reject) => {
    const data = Object.assign({gtmOnSuccess: resolve, gtmOnFailure: reject}, values);
    const need = (name) => {
      if (!apis[name]) throw new Error('no such API: ' + name);
      return apis[name];
    };
    new Function('require', 'data', 'window', 'document', CODE)(need, data);
  });
})()
"""


class Container:
    """A page with the container's sandbox, and tags in it."""

    def __init__(self, shop: Shop, page: Page) -> None:
        self.page = page
        hub = f"http://hw.shop.example:{shop.hub_port}"
        self.common = {"address": hub, "script": "/t.js", "site": shop.site.key, "waits": False}
        rights = json.dumps(granted()).replace("https://hw.shop.example", hub)
        shop.pages["/"] = "<!doctype html><title>Shop</title>"
        page.goto(shop.url("/?gclid=abc"))
        page.evaluate(SANDBOX.replace("GRANTED", rights).replace("CODE", json.dumps(CODE)))

    def fire(self, action: str, **values: Any) -> None:
        """A tag, until it says that it is done."""
        self.page.evaluate("fire", {**self.common, "action": action, **values})


def test_it_works(shop: Shop, page: Page) -> None:
    container = Container(shop, page)
    # Before the tracker is there and after it.
    container.fire("identify", email="ada@example.com", tracking_id=17, phone="")
    container.fire("load")
    container.fire("track", event_name="purchase", order_id=1001, amount="89.50", currency="EUR")
    (hit,) = shop.of("hit", 1)
    (person,) = shop.of("identify", 1)
    (event,) = shop.of("event", 1)
    assert hit["url"].endswith("/?gclid=abc")
    assert (person["email"], person["tracking_id"]) == ("ada@example.com", "17")
    assert (event["event_name"], event["order_id"], event["currency"]) == (
        "purchase", "1001", "EUR",
    )  # fmt: skip
    assert float(event["amount"]) == 89.5
    assert page.evaluate("document.querySelectorAll('script[src]').length") == 1


def test_what_is_no_number_is_left_out(shop: Shop, page: Page) -> None:
    container = Container(shop, page)
    container.fire("track", event_name="purchase", order_id="a", amount="89,50")
    assert shop.of("event", 1)[0].get("amount") is None


def test_it_waits_for_consent(shop: Shop, page: Page) -> None:
    container = Container(shop, page)
    container.common["waits"] = True
    container.fire("load")
    idle(page)
    assert shop.site.rows() == []
    container.fire("consent", analytics="granted", ads="denied")
    shop.of("hit", 1)
    kept = page.evaluate(f"localStorage['trk_consent.{shop.site.key}']")
    assert json.loads(kept) == {"ad_user_data": False, "ad_personalization": False}
    container.fire("consent", analytics="denied", ads="unknown")
    assert page.evaluate("trkToken()") == ""


def test_it_may_do_what_it_does_and_nothing_else() -> None:
    used = set(re.findall(r"require\('(\w+)'\)", CODE))
    assert used == set(re.findall(r"^const (\w+) = require", CODE, re.MULTILINE))
    rights = granted()
    assert set(rights) == {"access_globals", "inject_script"}
    assert rights["access_globals"] == {"trk": [False, True, False], "trk.q.push": [False, False, True]}
    (pattern,) = rights["inject_script"]
    assert fnmatchcase(FIELDS["address"]["defaultValue"] + "/t.js", pattern)


def test_its_fields_are_those_of_the_code_and_the_api() -> None:
    named = set(re.findall(r"data\.(\w+)", CODE)) - {"gtmOnSuccess", "gtmOnFailure"}
    quoted = {name for name in re.findall(r"'(\w+)'", CODE) if name in FIELDS}
    assert named | quoted == set(FIELDS)
    events = [item["value"] for item in FIELDS["event_name"]["selectItems"]]
    assert events == list(EVENT_NAMES)
    assert json.loads(SECTIONS["INFO"])["containerContexts"] == ["WEB"]
