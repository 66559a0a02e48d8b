"""The live page: every state, its kinds, and one snapshot for all viewers."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest

from headwater.console.live_pages import arrivals
from headwater.console.live_pages.arrivals import ArrivalsFeed
from headwater.spaces.accounts.roles import Role
from tests.console.conftest import Person
from tests.support.accounts import Accounts
from tests.support.factories import Stage

EVIL = "<script>alert(1)</script>\"'"


@pytest.fixture
def recent_time() -> datetime:
    return datetime.now(UTC) - timedelta(seconds=20)


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


@pytest.fixture
def path(space_id: int) -> str:
    return f"/console/spaces/{space_id}/live"


@pytest.fixture(autouse=True)
def no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes show with the next request."""
    monkeypatch.setattr(arrivals, "FRESH_SECONDS", 0)
    monkeypatch.setattr(arrivals, "OLDEST_SECONDS", 0)


def lines(answer: httpx.Response) -> dict[str, str]:
    """Return the lines of the page as text, by key."""
    matches = re.findall(r'data-line="([^"]*)">(.*?)</li>', answer.text, re.DOTALL)
    return {key: html.unescape(" ".join(re.sub("<[^>]*>", " ", line).split())) for key, line in matches}


def links(answer: httpx.Response, key: str) -> list[str]:
    line = re.search(rf'data-line="{key}">(.*?)</li>', answer.text, re.DOTALL)
    return re.findall(r'href="([^"]*)"', line[1]) if line else []


def put_all(stage: Stage, time: datetime, text: str = "Ada") -> dict[str, int]:
    """Store one item of every kind; return the ids."""
    contact = stage.contact(name=text, email="ada@b.org")
    visit = stage.visit(contact)
    page = stage.hit(contact, visit, occurred_at=time, url=f"https://shop.example/tents/{text}?a")
    stage.touchpoint(contact, "google_ads", id=page, by_hit=True, source_rule="gclid", occurred_at=time)
    event = stage.event(
        contact, event_time=time, received_at=time, amount="49.9", currency="EUR", sender="api_key"
    )
    sent_touch = stage.touchpoint(
        contact, "email", source_rule="utm_source", occurred_at=time, sent=True, referrer_host=text
    )
    insert: Callable[..., Any] = stage._insert
    insert("duplicates", {"id": 10**9, "reason": "order_id", "event_id": event, "received_at": time})
    insert("rejected", {
        "id": 10**9 + 1, "kind": "event", "sender": "api_key", "received_at": time,
        "payload": "secret words", "reason": "processing_error", "detail": text,
    })  # fmt: skip
    insert("inbox", {
        "id": 10**9 + 2, "kind": "hit", "sender": "site_key", "received_at": time, "payload": "{}",
    })  # fmt: skip
    insert("sites", {
        "name": text, "site_key": f"k{stage.space_id}", "origins": ["https://a.example"],
        "bot_hits": 7, "last_bot_at": time,
    })  # fmt: skip
    return {"contact": contact, "page": page, "event": event, "sent": sent_touch}


def test_it_works(owner: Person, stage: Stage, path: str, space_id: int, recent_time: datetime) -> None:
    ids = put_all(stage, recent_time)
    answer = owner.browser.get(path)
    texts = lines(answer)
    base = f"/console/spaces/{space_id}"
    assert len(texts) == 7
    visit = texts[f"visits-{ids['page']}"]
    assert "Page view /tents/Ada of Ada" in visit
    assert visit.endswith("Google ads stored")
    assert f"{base}/contacts/{ids['contact']}" in links(answer, f"visits-{ids['page']}")
    event = texts[f"events-{ids['event']}"]
    assert "purchase 49.90 EUR of Ada by an API key E-mail stored" in event
    assert links(answer, f"events-{ids['event']}")[0] == f"{base}/events/{ids['event']}"
    assert texts[f"touchpoints-{ids['sent']}"].endswith("E-mail stored")
    assert "its order id was already used" in texts["duplicates-1000000000"]
    assert links(answer, "duplicates-1000000000")[0] == f"{base}/events/{ids['event']}"
    assert "processing it failed: Ada" in texts["rejected-1000000001"]
    assert "waiting" in texts["waiting-1000000002"]
    assert next(line for key, line in texts.items() if key.startswith("bots")).endswith(
        "A bot on Ada 7 page views by bots ignored so far ignored"
    )
    assert "secret words" not in answer.text
    assert "1 page view and 1 event in the last 30 minutes" in answer.text


def test_kinds(owner: Person, stage: Stage, path: str, recent_time: datetime) -> None:
    put_all(stage, recent_time)
    for kind, expected in (
        ("visits", {"visits"}), ("events", {"events"}), ("touchpoints", {"touchpoints"}),
        ("waiting", {"waiting"}), ("problems", {"duplicates", "rejected", "bots"}),
        ("nonsense", {"visits", "events", "touchpoints", "waiting", "duplicates", "rejected",
                      "bots"}),
    ):  # fmt: skip
        for end in ("", "/latest"):
            answer = owner.browser.get(f"{path}{end}?kind={kind}")
            assert {key.partition("-")[0] for key in lines(answer)} == expected


def test_an_empty_page_says_so(owner: Person, stage: Stage, path: str) -> None:
    put_all(stage, datetime.now(UTC) - timedelta(minutes=31))
    page = owner.browser.get(f"{path}?kind=visits")
    assert "Nothing of this kind in the last 30 minutes" in page.text
    stage.connection.execute("DELETE FROM inbox WHERE space_id = %s", (stage.space_id,))
    page = owner.browser.get(path)
    assert "Nothing in the last 30 minutes" in page.text
    assert lines(page) == {}


def test_the_latest_fifty(owner: Person, stage: Stage, path: str, recent_time: datetime) -> None:
    contact = stage.contact()
    for index in range(60):
        stage.event(contact, event_time=recent_time, received_at=recent_time - timedelta(seconds=60 - index))
    answer = owner.browser.get(path)
    assert len(lines(answer)) == 50
    assert "Only the latest 50 are listed." in answer.text
    assert "60 events in the last 30 minutes" in answer.text


def test_what_has_not_changed(owner: Person, stage: Stage, path: str, recent_time: datetime) -> None:
    put_all(stage, recent_time)
    answer = owner.browser.get(f"{path}/latest")
    tag = answer.headers["etag"]
    while True:  # a new minute starts a new list
        response = owner.browser.client.get(f"{path}/latest", headers={"If-None-Match": tag})
        if response.status_code == 304:
            break
        tag = response.headers["etag"]
    assert response.content == b""
    stage.event(stage.contact(), event_time=recent_time, received_at=recent_time)
    new = owner.browser.client.get(f"{path}/latest", headers={"If-None-Match": tag})
    assert new.status_code == 200
    assert len(lines(new)) == 8
    assert "<html" not in new.text


def test_one_snapshot_for_all(
    accounts: Accounts, stage: Stage, space_id: int, monkeypatch: pytest.MonkeyPatch, recent_time: datetime
) -> None:
    monkeypatch.setattr(arrivals, "FRESH_SECONDS", 60)
    calls: list[int] = []
    fetch = arrivals.fetch_snapshot

    async def count_call(*arguments: Any) -> Any:
        calls.append(1)
        return await fetch(*arguments)

    monkeypatch.setattr(arrivals, "fetch_snapshot", count_call)
    feed = ArrivalsFeed()

    async def fetch_often(connection: psycopg.AsyncConnection) -> list[Any]:
        return await asyncio.gather(*(feed.fetch(connection, space_id) for _ in range(10)))

    first = accounts.run(fetch_often)
    stage.event(stage.contact(), event_time=recent_time, received_at=recent_time)
    assert accounts.run(fetch_often)[0] is first[9]
    assert len(calls) == 1


def test_hostile_names(owner: Person, stage: Stage, path: str, recent_time: datetime) -> None:
    put_all(stage, recent_time, EVIL)
    answer = owner.browser.get(path)
    assert answer.text.count("<script>alert") == 0
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text


def test_without_scripts(owner: Person, path: str) -> None:
    page = owner.browser.get(path)
    assert f'href="{path}?reload=on"' in page.text
    assert "refresh" not in page.headers
    second_page = owner.browser.get(f"{path}?kind=events&reload=on")
    assert second_page.headers["refresh"] == "15"
    assert f'href="{path}?kind=events">Stop reloading' in second_page.text


@pytest.mark.parametrize("role", list(Role))
def test_everybody_of_the_space_may(
    person: Callable[..., Person], make_space: Callable[..., int], path: str, role: Role
) -> None:
    person(Role.OWNER)
    visitor = person(role)
    assert visitor.browser.get(f"{path}/latest").status_code == 200
    other_path = path.replace(path.split("/")[3], str(make_space(name="Secret")))
    for end in ("", "/latest"):
        assert visitor.browser.get(other_path + end).status_code == 404
