"""POST to the tracker's endpoint: reports of browsers, the accepted origins, and the stored rows."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any
from uuid import uuid4

import httpx
import pytest

from headwater.base.settings import Settings
from headwater.http.clients import address_subject
from headwater.people.identity.joins import address_key
from tests.conftest import Running, run_application
from tests.support.factories import Stage
from tests.support.sites import BROWSER, CHROME, ORIGIN, Site, event, identify, make_site, page


def test_it_works(site: Site) -> None:
    first = page(f"{ORIGIN}/a?gclid=1", referrer="https://google.com/", ago=1500)
    before = time.time() * 1000
    response = site.report(
        first, identify(email=" Ada@Example.com "), event(amount=12.50, currency="EUR"),
        fingerprint="f1", language="en-gb", cookies={"fbp": "fb.1.2", "other": "x"},
        consent={"ad_user_data": True},
    )  # fmt: skip
    assert response.status_code == 202, response.text
    answer = response.json()
    assert (answer["status"], answer["token"]) == (202, "tok-1")
    assert answer["message"] == "3 of 3 items are queued."
    assert [result["status"] for result in answer["results"]] == ["queued"] * 3
    assert all(result["receipt_id"].isdigit() for result in answer["results"])
    (_, hit), (_, person), (_, purchase) = site.rows()
    assert [kind for kind, _ in site.rows()] == ["hit", "identify", "event"]
    visitor = {"trk_token": "tok-1", "fingerprint": "f1", "ip": "127.0.0.1"}
    assert before - 2500 < hit.pop("occurred_at") < before - 500
    assert hit == {
        **visitor, "key": first["key"], "url": f"{ORIGIN}/a?gclid=1",
        "referrer": "https://google.com/", "cookies": {"fbp": "fb.1.2"}, "device_type": "desktop",
        "browser": "Chrome", "os": "Windows", "language": "en-GB",
    }  # fmt: skip
    assert person.pop("occurred_at") >= before - 1000
    counted_as = address_key(address_subject("127.0.0.1"))
    assert person == {**visitor, "email": "ada@example.com", "address_key": counted_as}
    assert purchase.pop("event_time") >= before - 1000
    assert purchase.pop("idempotency_key")
    assert purchase == {
        **visitor, "event_name": "purchase", "amount": "12.5", "currency": "EUR",
        "user_agent": CHROME, "cookies": {"fbp": "fb.1.2"}, "ad_user_data": True,
    }  # fmt: skip


def test_each_item_is_judged_by_itself(site: Site) -> None:
    response = site.report(page(), page(url="about:blank"), {"type": "page"}, 7, event(event_name="x"))
    assert response.status_code == 202
    results = response.json()["results"]
    assert [result["status"] for result in results] == ["queued"] + ["invalid"] * 4
    assert [sorted(result["errors"]) for result in results[1:]] == [
        ["url"], ["ago", "key", "url"], ["body"], ["event_name"],
    ]  # fmt: skip
    assert len(site.rows()) == 1


@pytest.mark.parametrize(
    ("item", "field"),
    [(event(order_name="\ud83d"), "order_name"), (page(type="\ud83d"), "type")],
    ids=["member", "type"],
)
def test_text_that_is_not_unicode_refuses_only_its_item(site: Site, item: dict[str, Any], field: str) -> None:
    response = site.report(page(), item, event())
    assert response.status_code == 202
    assert [result["status"] for result in response.json()["results"]] == ["queued", "invalid", "queued"]
    assert response.json()["results"][1]["errors"].keys() == {field}
    assert len(site.rows()) == 2


def test_nothing_valid_is_422(site: Site) -> None:
    response = site.report(page(url="javascript:alert(1)"))
    assert response.status_code == 422
    assert response.json()["errors"].keys() == {"items.0.url"}
    assert response.headers["access-control-allow-origin"] == ORIGIN


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (page(type="pages"), "type"),
        (page(key="1"), "key"),
        (page(key=str(uuid4()).replace("-", "")), "key"),
        (page(ago=-1), "ago"),
        (page(ago=604_800_001), "ago"),
        (page(ago=10**400), "ago"),
        (page(ago="1"), "ago"),
        (page(url=f"{ORIGIN}/{'x' * 2048}"), "url"),
        (page(url="https://"), "url"),
        (page(url="shop.example/"), "url"),
        (page(referrer="x" * 2049), "referrer"),
        (page(url=f"{ORIGIN}/\0"), "url"),
        (identify(), "email"),
        (identify(email="nobody"), "email"),
        (identify(phone="1" * 65), "phone"),
        (identify(profile_field_16="many"), "profile_field_16"),
        (event(event_name="purchase", amount="12"), "amount"),
        (event(currency="euro"), "currency"),
    ],
)
def test_what_breaks_a_rule_is_named(site: Site, item: dict[str, Any], field: str) -> None:
    response = site.report(item)
    assert response.status_code == 422
    errors = response.json()["results"][0]["errors"]
    assert field in errors, errors
    assert site.rows() == []


BODIES = {
    "nothing": b"",
    "no JSON": b"hello",
    "null": b"null",
    "a list": b"[]",
    "deep": b'{"items": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "half a pair": b'{"\\ud800": 1}',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_what_cannot_be_read_is_told_to_whoever_sent_it(site: Site, body: bytes) -> None:
    response = site.post(body)
    assert response.status_code == 422, response.text
    assert response.headers["access-control-allow-origin"] == ORIGIN


HOSTILE: dict[str, Any] = {
    "site": [None, 1, [], {}, "\0"],
    "items": [None, 1, "x", {}, [None], [[]], [{}], [{"type": {}}], [{"type": "page\0"}]],
    "token": [1, [], {}, "\0", "é"],
    "fingerprint": [1, [], {}, "\0", "x" * 256],
    "language": [1, [], {}, "\0", "x" * 256],
    "consent": [1, [], "yes", {"ad_user_data": "yes"}],
    "cookies": [1, [], "x"],
}


@pytest.mark.parametrize(("member", "value"), [(name, value) for name in HOSTILE for value in HOSTILE[name]])
def test_hostile_members(site: Site, member: str, value: Any) -> None:
    body = {"site": site.key, "token": "t", "fingerprint": "f", "items": [page()]}
    response = site.post({**body, member: value})
    assert response.status_code == (401 if member == "site" else 422), response.text
    assert response.json()["message"]
    assert site.rows() == []


def test_cookies_of_other_scripts_do_no_harm(site: Site) -> None:
    cookies = {"fbp": 7, "fbc": "x" * 1025, "ttp": " ", "scid": "s", "other": []}
    assert site.report(page(), cookies=cookies).status_code == 202
    assert site.payloads("hit")[0]["cookies"] == {"scid": "s"}


def test_keys_are_one_however_they_are_written(site: Site) -> None:
    item = page(key="ABCDEF01-2345-6789-ABCD-EF0123456789")
    assert site.report(item).status_code == 202
    assert site.payloads("hit")[0]["key"] == item["key"].lower()


def test_an_event_takes_from_the_request_what_a_page_could_make_up(site: Site) -> None:
    item = event(
        ip="1.2.3.4", user_agent="me", trk_token="theirs", fingerprint="theirs", event_time=1,
        url=f"{ORIGIN}/thanks", idempotency_key="order-1", fbp="mine",
        consent={"ad_personalization": False},
    )  # fmt: skip
    site.report(item, fingerprint="f1", cookies={"fbp": "x"}, consent={"ad_user_data": True})
    (payload,) = site.payloads("event")
    assert payload.pop("event_time") > 1_700_000_000_000
    assert payload == {
        "event_name": "purchase", "trk_token": "tok-1", "fingerprint": "f1", "ip": "127.0.0.1",
        "user_agent": CHROME, "url": f"{ORIGIN}/thanks", "idempotency_key": "order-1",
        "cookies": {"fbp": "mine"}, "ad_personalization": False,
    }  # fmt: skip


def test_money_is_kept_to_the_digit(site: Site) -> None:
    body = json.dumps({"site": site.key, "token": "t", "items": [event(amount=0)]})
    site.post(body.replace('"amount": 0', '"amount": 90071992547409.9312').encode())
    assert site.payloads("event")[0]["amount"] == "90071992547409.9312"


def test_a_fingerprint_alone_will_do_and_nothing_will_not(site: Site) -> None:
    assert site.report(page(), token=None, fingerprint="f").status_code == 202
    response = site.report(page(), token=None)
    assert response.status_code == 422
    assert "items.0.token" in response.json()["errors"]
    assert "set-cookie" not in response.headers
    assert response.json()["token"] is None


def test_without_its_database_it_is_503(site: Site) -> None:
    settings = Settings(secret_key="x" * 32)
    application = run_application(settings, "postgresql://headwater@127.0.0.1:1/none?connect_timeout=1")
    try:
        response = replace(site, base_url=application.base_url).report(page())
    finally:
        application.stop()
    assert response.status_code == 503
    assert response.headers["retry-after"]


class TestWhoMayWrite:
    @pytest.mark.parametrize(
        "origin",
        [None, "", "null", "https://shop.example.evil.example", "http://shop.example",
         "https://shop.example:8443", "https://www.shop.example", "https://evil.example",
         "https://shop.example, https://evil.example", "é"],
    )  # fmt: skip
    def test_a_foreign_origin_is_403(self, site: Site, origin: str | None) -> None:
        headers = {name: text.encode() for name, text in BROWSER.items() if name != "Origin"}
        if origin is not None:
            headers["Origin"] = origin.encode()
        body = json.dumps({"site": site.key, "token": "t", "items": [page()]})
        response = httpx.post(f"{site.base_url}/t", content=body, headers=headers)
        assert response.status_code == 403
        assert response.json()["message"]
        assert "access-control-allow-origin" not in response.headers
        assert "set-cookie" not in response.headers
        assert site.rows() == []

    def test_a_frame_without_an_origin_where_the_site_takes_them(self, server: Running, stage: Stage) -> None:
        site = make_site(stage, server.base_url, ("https://shop.example", "null"))
        response = site.report(page(), headers={"origin": "null"})
        assert response.status_code == 202
        assert "access-control-allow-origin" not in response.headers
        assert "set-cookie" not in response.headers
        assert len(site.rows()) == 1

    @pytest.mark.parametrize("key", ["", "trk_pk_unknown-and-unheard-of", "x", "trk_sk_" + "x" * 43])
    def test_an_unknown_key_is_401(self, site: Site, key: str) -> None:
        response = site.post({"site": key, "token": "t", "items": [page()]})
        assert response.status_code == 401
        assert "access-control-allow-origin" not in response.headers

    def test_refusals_are_counted(self, site: Site) -> None:
        def count(reason: str) -> float:
            name = f'headwater_refused_reports_total{{reason="{reason}"}}'
            lines = httpx.get(f"{site.base_url}/metrics").text.splitlines()
            return sum(float(line.split()[-1]) for line in lines if line.startswith(name))

        before = count("origin"), count("site")
        site.report(page(), headers={"origin": "https://evil.example"})
        site.post({"site": "trk_pk_unheard-of", "items": [page()]})
        assert (count("origin"), count("site")) == (before[0] + 1, before[1] + 1)

    def test_an_inactive_subscription_is_403(self, site: Site) -> None:
        site.connection.execute("UPDATE spaces SET subscription = 'inactive' WHERE id = %s", (site.space_id,))
        response = site.report(page())
        assert response.status_code == 403
        assert response.headers["access-control-allow-origin"] == ORIGIN

    def test_the_grant(self, site: Site) -> None:
        response = site.report(page())
        assert response.headers["access-control-allow-origin"] == ORIGIN
        assert response.headers["access-control-allow-credentials"] == "true"
        assert response.headers["vary"] == "Origin"

    def test_a_question_beforehand_is_answered(self, server: Running) -> None:
        response = httpx.options(f"{server.base_url}/t", headers={"Origin": ORIGIN})
        assert (response.status_code, response.content) == (204, b"")
        assert response.headers["access-control-allow-origin"] == ORIGIN
        assert response.headers["access-control-allow-methods"] == "POST"
        assert response.headers["access-control-allow-headers"] == "content-type"
        plain = httpx.options(f"{server.base_url}/t")
        assert plain.headers["allow"] == "OPTIONS, POST"
        assert "access-control-allow-origin" not in plain.headers

    def test_other_methods_are_405(self, server: Running) -> None:
        response = httpx.get(f"{server.base_url}/t")
        assert (response.status_code, response.headers["allow"]) == (405, "OPTIONS, POST")
        assert httpx.post(f"{server.base_url}/t.js").headers["allow"] == "GET, HEAD"


class TestLimits:
    def test_every_valid_item_counts(self, site: Site) -> None:
        site.connection.execute(
            "UPDATE space_limits SET per_minute = 10 WHERE space_id = %s AND bucket = 'hits'",
            (site.space_id,),
        )
        answers = [site.report(page(), page(), page(url="x")) for _ in range(4)]
        statuses = [answer.status_code for answer in answers]
        if len({answer.headers["x-ratelimit-reset"] for answer in answers}) == 1:
            assert statuses == [202] * 4  # the test server multiplies limits by 1000
        assert answers[0].headers["x-ratelimit-limit"] == "10000"
        limit = int(answers[0].headers["x-ratelimit-limit"])
        assert limit - int(answers[0].headers["x-ratelimit-remaining"]) == 2

    def test_the_minute_used_up_is_429(self, site: Site) -> None:
        site.connection.execute(
            "UPDATE space_limits SET per_minute = 0 WHERE space_id = %s AND bucket = 'hits'", (site.space_id,)
        )
        response = site.report(page())
        assert response.status_code == 429
        assert response.headers["retry-after"]
        assert response.headers["access-control-allow-origin"] == ORIGIN
        assert site.rows() == []

    @pytest.mark.parametrize("count", [0, 51])
    def test_the_number_of_items(self, site: Site, count: int) -> None:
        response = site.report(*[page()] * count)
        assert response.status_code == 422
        assert response.json()["errors"] == {"items": ["The items must hold 1 to 50 items."]}

    def test_fifty_are_taken(self, site: Site) -> None:
        assert site.report(*[page() for _ in range(50)]).status_code == 202

    def test_the_size_of_a_body(self, site: Site) -> None:
        assert site.report(page(), members="x" * 262_144).status_code == 413

    def test_no_compressed_body(self, site: Site) -> None:
        assert site.report(page(), headers={"content_encoding": "gzip"}).status_code == 415
