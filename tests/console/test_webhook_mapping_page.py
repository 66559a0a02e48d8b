"""The page that maps a webhook's topics and fields, with a preview, and replays that use it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import httpx

from tests.conftest import Running
from tests.console.conftest import Person
from tests.console.test_orders_webhooks import HOSTILE, address_on, create, list_path
from tests.support.waiting import PATIENCE_SECONDS


def test_a_mapping_is_mended_and_the_delivery_replayed(
    owner: Person, console: Running, space_id: int
) -> None:
    browser = owner.browser
    page = create(browser, space_id, "generic", event="purchase", signing="unsigned")
    webhook_path, address = list_path(page, space_id), address_on(page)
    url = console.base_url + urlsplit(address).path
    body = {"who": {"mail": "ada@example.com"}, "cents": 4900, "note": HOSTILE}
    assert httpx.post(url, json=body, timeout=PATIENCE_SECONDS).status_code == 422
    page = browser.get(webhook_path)
    assert "Replay 1" in page.text

    form = browser.form(f"{webhook_path}/mapping", f"{webhook_path}/mapping")
    wrong = browser.send(form, field=["email", "amount"], expression=["who.mail", "cents)"])
    assert wrong.status_code == 422
    assert "Cannot be read at character 6" in wrong.text
    values = {"field": ["email", "amount"], "expression": ["who.mail", "from_minor_units(cents)"],
              "only": ["", ""]}  # fmt: skip
    preview = browser.send(form, preview="yes", **values)
    assert "Nothing is saved yet." in preview.text
    assert "<dt>amount</dt><dd><bdi>49" in preview.text
    assert "The mapping is saved" in browser.send(form, **values).text

    (number,) = re.findall(r"/deliveries/(\d+)", browser.get(webhook_path).text)
    delivery = browser.get(f"{webhook_path}/deliveries/{number}")
    assert "&lt;script&gt;" in delivery.text
    assert "<script>alert" not in delivery.text
    assert "<dt>email</dt><dd><bdi>ada@example.com</bdi>" in delivery.text
    replayed = browser.fill(webhook_path, f"{webhook_path}/replay-failed")
    assert "All replayed" in replayed.text
    assert "Replay all failed" not in replayed.text
    second_replay = browser.fill(f"{webhook_path}/deliveries/{number}", f"{webhook_path}/replay")
    assert "Replayed." in second_replay.text


def test_topics_become_events(owner: Person, console: Running, space_id: int) -> None:
    browser = owner.browser
    page = create(browser, space_id, "generic", event="purchase", signing="unsigned")
    webhook_path, address = list_path(page, space_id), address_on(page)
    mapping = f"{webhook_path}/mapping"
    fields = {"field": "email", "expression": "mail", "only": "", "topic": "kind", "event": "purchase"}

    def save(*topics: tuple[str, str]) -> httpx.Response:
        topic_values = {"topic_of": [topic for topic, _ in topics], "event_of": [name for _, name in topics]}
        return browser.send(browser.form(mapping, mapping), **fields, **topic_values)

    refusal = save(("lead", "sign_up"), ("lead", "-"))
    assert refusal.status_code == 422
    assert "given twice" in refusal.text
    assert (
        "The mapping is saved" in save((" lead ", "sign_up"), ("ping", "-"), ("", "purchase"), ("x", "")).text
    )
    saved_fields = browser.form(mapping, mapping).fields
    assert [value for name, value in saved_fields if name == "topic_of"] == ["lead", "ping", "", "", ""]
    assert [value for name, value in saved_fields if name == "event_of"][:2] == ["sign_up", "-"]
    url = console.base_url + urlsplit(address).path
    outcomes: list[str] = []
    for topic in ("lead", "ping", "other"):
        body = {"kind": topic, "mail": "ada@example.com"}
        assert httpx.post(url, json=body, timeout=PATIENCE_SECONDS).is_success
        numbers = re.findall(r"/deliveries/(\d+)", browser.get(webhook_path).text)
        test = browser.fill(webhook_path, f"{webhook_path}/test", delivery=max(numbers, key=int))
        outcomes.append(" ".join(re.findall(r"<dt>event_name</dt><dd><bdi>(.*?)</bdi>", test.text)))
    assert outcomes == ["sign_up", "", "purchase"]
