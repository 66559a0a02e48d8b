"""The data quality page: each problem with its count, examples and fix."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from headwater.alerts import problems
from headwater.alerts.quality import event_checks, report, touchpoint_checks
from headwater.alerts.quality.models import FindingKind, find_title
from headwater.console.forms import form_token
from headwater.intake.pipeline.reclassification import reclassify_next
from headwater.spaces.accounts.roles import Role
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space
from tests.console.conftest import Person
from tests.support.accounts import Accounts
from tests.support.factories import Stage

NOW = datetime.now(UTC) - timedelta(minutes=2)
PAGE = "https://shop.example/tents"


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


@pytest.fixture
def path(space_id: int) -> str:
    return f"/console/spaces/{space_id}/data-quality"


@pytest.fixture
def space(accounts: Accounts, space_id: int) -> Callable[[], Space]:
    return lambda: accounts.run(lambda c: fetch_space(c, space_id))


def order(stage: Stage, contact: int, **columns: Any) -> int:
    return stage.event(contact, **{"event_time": NOW, "received_at": NOW, "amount": "49.9"} | columns)


def visit(stage: Stage, rule: str, source: str = "referral", **columns: Any) -> int:
    """Store a touchpoint, usually of a new contact; return the contact."""
    contact = columns.pop("contact", None) or stage.contact(email="a@b.org")
    stage.touchpoint(contact, source, **{"source_rule": rule, "occurred_at": NOW, "url": PAGE} | columns)
    return contact


def site(stage: Stage, *origins: str) -> None:
    stage.connection.execute(
        "INSERT INTO sites (space_id, name, site_key, origins) VALUES (%s, 'Shop', %s, %s)",
        (stage.space_id, f"site-{stage.space_id}", list(origins)),
    )


def reject(connection: psycopg.Connection, space_id: int) -> None:
    connection.execute(
        "INSERT INTO rejected (space_id, id, kind, sender, received_at, payload, reason, detail)"
        " VALUES (%s, nextval('receipt_ids'), 'none', 'api_key', now(), '{}', 'unknown_kind', '<x>')",
        (space_id,),
    )


def findings(page: str) -> dict[FindingKind, int]:
    """Return the kinds of problems and their counts, in the page's order."""
    cards = re.findall(r'<h2 id="(\w+)"><data value="(\d+)">', page)
    return {FindingKind(kind): int(count) for kind, count in cards}


def parts(page: str) -> dict[str, int]:
    rows = re.findall(r"<strong><bdi>(.*?)</bdi></strong>.*?<data value=\"(\d+)\">", page)
    return {html.unescape(value): int(count) for value, count in rows}


def test_it_works(owner: Person, stage: Stage, path: str, space_id: int, space: Callable[[], Space]) -> None:
    for value in ("FB-Paid", "fb-paid", "kw%2012", "google", "Klaviyo"):
        contact = visit(stage, "campaign", url=f"{PAGE}?utm_medium=x&utm_source={value}")
    page = owner.browser.get(path).text
    assert findings(page) == {FindingKind.UNKNOWN_UTM_SOURCES: 3}
    assert parts(page) == {"fb-paid": 2, "kw 12": 1}
    assert "the latest" not in page.partition(" in the period and")[0]
    assert "Passed: " in page
    passed = page.split("Passed: ")[1].split("</p>")[0].lower()
    assert find_title(FindingKind.SELF_REFERRALS).lower() in passed
    assert find_title(FindingKind.UNKNOWN_UTM_SOURCES).lower() not in passed
    assert f"/console/spaces/{space_id}/contacts/" in page
    assert contact
    # The page proposes the source that the name suggests: one click.
    answer = owner.browser.fill(path, f"{path}/name", hidden_values={"name": "fb-paid"})
    assert "It applies to new visits now and to earlier ones soon." in answer.text
    assert "<bdi>fb-paid</bdi>" in answer.text
    assert "reclassifying, 0 %" in answer.text
    assert space().source_names == {"fb-paid": "facebook_ads"}
    assert parts(answer.text) == {"kw 12": 1}
    answer = owner.browser.fill(path, f"{path}/unname", hidden_values={"name": "fb-paid"})
    assert space().source_names == {}
    while reclassify_next(stage.connection, space_id):
        pass
    answer = owner.browser.get(path)
    assert "reclassifying" not in answer.text
    assert parts(answer.text)["fb-paid"] == 2


def test_nothing_is_wrong(owner: Person, stage: Stage, path: str) -> None:
    empty = owner.browser.get(path).text
    assert "No data problems found" in empty
    assert "the period has no data" in empty
    contact = visit(stage, "utm_source", "email", url=f"{PAGE}?utm_source=klaviyo")
    order(stage, contact, order_id="1")
    page = owner.browser.get(path).text
    assert findings(page) == {}
    assert "Based on all 1 event in the period and 1 touchpoint in the period." in page


def test_orders_are_those_that_reports_count(owner: Person, stage: Stage, path: str) -> None:
    contact = stage.contact(email="a@b.org")
    order(stage, contact, order_id="A", amount="50", currency="JPY")
    order(stage, contact, order_id="B", amount="0")
    order(stage, contact, order_id="C", amount=None)
    order(stage, contact, order_id="A", is_upsell=True)
    order(stage, contact, order_id="B", event_name="upsell_purchase")
    order(stage, contact, order_id="D", amount="-5")
    page = owner.browser.get(path).text
    assert findings(page)[FindingKind.ORDERS_WITHOUT_VISIT] == 3
    assert {"50 JPY", "no amount"} <= set(re.findall(r"<bdi>([^<]*)</bdi></a>", page))


def test_orders(owner: Person, stage: Stage, path: str) -> None:
    visitor_id = visit(stage, "gclid", "google_ads", campaign_id="1", occurred_at=NOW)
    order(stage, visitor_id, order_id="A")
    order(stage, visitor_id, order_id="A", event_name="custom_event_1")
    order(stage, visitor_id, order_id="A", event_name="upsell_purchase")
    order(stage, visitor_id, order_id="B", amount="-5")
    order(stage, visitor_id, order_id="B", amount="5", event_name="custom_event_1")
    twice = stage.contact()
    order(stage, twice, amount="7")
    repeat_id = order(stage, twice, amount="7", event_time=NOW + timedelta(seconds=30))
    order(stage, twice, amount="7", event_time=NOW - timedelta(hours=1))
    order(stage, visitor_id, order_id="C", currency="SEK")
    order(stage, visitor_id, order_id="D", currency="USD")
    order(stage, visitor_id, order_id="E", event_time=NOW - timedelta(days=9), sender="import")
    order(stage, visitor_id, order_id="F", event_time=NOW - timedelta(days=9))
    order(stage, visitor_id, order_id="G", event_time=NOW + timedelta(hours=3))
    page = owner.browser.get(path).text
    assert findings(page) == {
        FindingKind.DUPLICATE_ORDERS: 2, FindingKind.LEFT_OUT_MONEY: 1,
        FindingKind.ORDERS_WITHOUT_VISIT: 5, FindingKind.ORDERS_WITHOUT_EMAIL: 3,
        FindingKind.FUTURE_EVENTS: 1, FindingKind.LATE_EVENTS: 1,
    }  # fmt: skip
    assert f"/events/{repeat_id}" in page
    assert "order A" in page
    assert parts(page) == {"SEK: no exchange rate": 1}
    assert "9 days late" in page


def test_only_money_that_is_left_out_is_a_problem(
    owner: Person, stage: Stage, path: str, space_id: int
) -> None:
    visitor_id = visit(stage, "gclid", "google_ads", campaign_id="1", occurred_at=NOW)
    stage.connection.execute(
        "INSERT INTO rates (space_id, date, base, currency, rate) VALUES (%s, %s, 'SEK', 'USD', 2)",
        (space_id, NOW.date()),
    )
    order(stage, visitor_id, order_id="A", currency="SEK")
    order(stage, visitor_id, order_id="B", amount="20000000", sender="api_key")
    assert FindingKind.LEFT_OUT_MONEY not in findings(owner.browser.get(path).text)
    order(stage, visitor_id, order_id="C", amount="6000000", currency="SEK", sender="browser")
    large = order(stage, visitor_id, order_id="D", amount="200000000000")
    unknown = order(stage, visitor_id, order_id="E", amount="1", currency="XAF", sender="browser")
    page = owner.browser.get(path).text
    assert findings(page)[FindingKind.LEFT_OUT_MONEY] == 3
    assert parts(page) == {
        "SEK: amount too large to be trusted from a page": 1, "USD: amount too large": 1,
        "XAF: no exchange rate": 1,
    }  # fmt: skip
    assert f"/events/{large}" in page
    assert f"/events/{unknown}" in page
    assert f'href="/console/spaces/{space_id}/rates"' in page


def test_sites_that_are_no_sources(
    owner: Person, stage: Stage, path: str, space: Callable[[], Space]
) -> None:
    site(stage, "https://shop.northtents.com", "https://*.myshopify.com")
    for host in ("northtents.com", "help.northtents.com", "a.shop.northtents.com", "blog.example"):
        visit(stage, "other_site", referrer_host=host)
    visit(stage, "other_site", referrer_host="klarna-checkout.org")
    for minutes in range(3):
        before = NOW - timedelta(minutes=20 + minutes)
        contact = visit(stage, "gclid", "google_ads", campaign_id="1", occurred_at=before)
        visit(stage, "other_site", contact=contact, referrer_host="issuer.example")
        order(stage, contact, order_id=str(minutes))
        # An order right after a referral doesn't count against the referrer.
        referred = visit(stage, "other_site", referrer_host="review.example")
        order(stage, referred, order_id=f"r{minutes}")
    page = owner.browser.get(path).text
    assert findings(page) == {FindingKind.PAYMENT_REFERRERS: 4, FindingKind.SELF_REFERRALS: 2}
    assert parts(page) == {
        "issuer.example": 3, "klarna-checkout.org": 1, "help.northtents.com": 1,
        "northtents.com": 1,
    }  # fmt: skip
    owner.browser.fill(path, f"{path}/exclude", hidden_values={"host": "issuer.example"})
    answer = owner.browser.fill(path, f"{path}/own", hidden_values={"host": "northtents.com"})
    assert parts(answer.text) == {"klarna-checkout.org": 1}
    assert space().own_domains == ["northtents.com"]
    assert space().excluded_referrers == ["issuer.example"]


def test_links_without_tags(owner: Person, stage: Stage, path: str) -> None:
    visit(stage, "gclid", "google_ads", url=f"{PAGE}?gclid=1")
    visit(stage, "gclid", "google_ads", url=f"{PAGE}?gclid=2", campaign_name="spring")
    visit(stage, "fbclid", "facebook_organic", url=f"{PAGE}?fbclid=1")
    visit(stage, "campaign", url=f"{PAGE}?utm_campaign=x")
    page = owner.browser.get(path).text
    assert findings(page) == {FindingKind.NO_UTM_SOURCE: 1, FindingKind.UNTAGGED_CLICKS: 2}
    assert parts(page) == {"Facebook organic": 1, "Google ads": 1}


def test_tagged_links_on_own_pages(owner: Person, stage: Stage, path: str) -> None:
    contact = stage.contact()
    visited = stage.visit(contact, started_at=NOW, last_hit_at=NOW)
    for query, own_link in (("?utm_source=banner", True), ("?utm_source=menu", True), ("", False)):
        touch = Jsonb({"own_link": own_link})
        stage.hit(contact, visited, url=f"{PAGE}{query}", occurred_at=NOW, touch=touch)
    page = owner.browser.get(path).text
    assert findings(page) == {FindingKind.OWN_TAGGED_LINKS: 2}
    assert parts(page) == {PAGE: 2}
    assert "utm_source=menu" in page


def test_a_held_destination_is_resumed(
    owner: Person, stage: Stage, connection: psycopg.Connection, path: str
) -> None:
    destination_id = stage.destination(status="held", status_reason="<No> token", held_since=NOW)
    page = owner.browser.get(path).text
    assert findings(page) == {FindingKind.DESTINATION_HELD: 1}
    assert "&lt;No&gt; token" in page
    answer = owner.browser.fill(path, f"{path}/resume", hidden_values={"destination": str(destination_id)})
    assert "The destination is resumed" in answer.text
    assert findings(answer.text) == {}
    row = connection.execute("SELECT status FROM destinations WHERE id = %s", (destination_id,)).fetchone()
    assert row == ("active",)


def test_rejected_rows_are_replayed(
    owner: Person, connection: psycopg.Connection, path: str, space_id: int
) -> None:
    for _ in range(2):
        reject(connection, space_id)
    page = owner.browser.get(path).text
    assert findings(page) == {FindingKind.EVENTS_REJECTED: 2}
    assert "unknown kind: &lt;x&gt;" in page
    answer = owner.browser.fill(path, f"{path}/replay")
    assert "The events are being processed again" in answer.text
    row = connection.execute(
        "WITH gone AS (DELETE FROM inbox WHERE space_id = %s RETURNING id) SELECT count(*) FROM gone",
        (space_id,),
    ).fetchone()
    assert row == (2,)
    assert "Nothing was changed." in owner.browser.client.post(
        f"{path}/replay", data={"form_token": form_token(owner.form_key, "data-quality")},
        follow_redirects=True,
    ).text  # fmt: skip


def test_a_period_and_the_bounds(
    owner: Person, stage: Stage, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for days in (1, 60):
        contact = visit(
            stage, "campaign", occurred_at=NOW - timedelta(days=days),
            url=f"{PAGE}?utm_source=letter-{days}",
        )  # fmt: skip
        order(stage, contact, event_time=NOW - timedelta(days=days), currency="SEK")
    page = owner.browser.get(path).text
    assert parts(page) == {"SEK: no exchange rate": 1, "letter-1": 1}
    wider = owner.browser.get(f"{path}?period=last+90+days").text
    assert parts(wider) == {"SEK: no exchange rate": 2, "letter-1": 1, "letter-60": 1}
    dates = "start_date=2000-01-01+00:00:00&end_date=2000-01-02+00:00:00"
    assert findings(owner.browser.get(f"{path}?{dates}").text) == {}
    monkeypatch.setattr(event_checks, "MOST_EVENTS", 1)
    monkeypatch.setattr(touchpoint_checks, "MOST_TOUCHPOINTS", 1)
    bounded = owner.browser.get(f"{path}?period=last+90+days").text
    assert "the latest 1 event in the period, back to" in bounded
    assert "the latest 1 touchpoint received by its end" in bounded
    assert parts(bounded)["SEK: no exchange rate"] == 1


def test_counts_that_end_at_a_bound(
    owner: Person, stage: Stage, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    contact = stage.contact(email="a@b.org")
    for number in (1, 2):
        order(stage, contact, event_time=NOW - timedelta(minutes=number))
        stage.event(contact, event_name="sign_up", event_time=NOW + timedelta(days=number))
        reject(stage.connection, stage.space_id)

    def count_texts() -> dict[str, str]:
        return dict(re.findall(r'<h2 id="(\w+)"><data[^>]*>([^<]*)', owner.browser.get(path).text))

    kinds = (FindingKind.EVENTS_REJECTED, FindingKind.FUTURE_EVENTS)
    assert {kind: count_texts()[kind] for kind in kinds} == dict.fromkeys(kinds, "2")
    monkeypatch.setattr(event_checks, "MOST_EVENTS", 2)
    for module in (problems, report):
        monkeypatch.setattr(module, "MOST_COUNTED", 2)
    assert {kind: count_texts()[kind] for kind in kinds} == dict.fromkeys(kinds, "2+")
    assert count_texts()[FindingKind.DUPLICATE_ORDERS] == "1"


@pytest.mark.parametrize("query", ["period=whenever", "start_date=x", "end_date=2026-01-01+00:00:00"])
def test_bad_parameters(owner: Person, path: str, query: str) -> None:
    page = owner.browser.get(f"{path}?{query}")
    assert page.status_code == 422
    assert 'role="alert"' in page.text


def test_hostile_values(owner: Person, stage: Stage, path: str) -> None:
    value = "<script>alert(1)</script>" + "x" * 150
    visit(stage, "campaign", url=f"{PAGE}?utm_source={value}&utm_campaign=\"'")
    visit(stage, "campaign", url=f"{PAGE}?utm_source=%00%FF%ED%A0%80")
    page = owner.browser.get(path).text
    assert value in parts(page)
    assert "<script>alert" not in page
    answer = owner.browser.fill(path, f"{path}/name", hidden_values={"name": value}, source="email")
    assert value not in parts(answer.text)
    assert "<script>alert" not in answer.text


def test_what_cannot_be_saved(owner: Person, stage: Stage, path: str) -> None:
    visit(stage, "campaign", url=f"{PAGE}?utm_source=what")
    for source in ("", "facebook"):
        answer = owner.browser.fill(path, f"{path}/name", source=source)
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text
        assert parts(answer.text) == {"what": 1}


@pytest.mark.parametrize("verb", ["resume", "replay", "name", "unname", "own", "exclude"])
def test_only_admins_may_change_settings(
    person: Callable[..., Person], make_space: Callable[..., int], path: str, stage: Stage,
    verb: str,
) -> None:  # fmt: skip
    visit(stage, "campaign", url=f"{PAGE}?utm_source=what")
    stage.destination(status="held", held_since=NOW)
    viewer, admin = person(Role.VIEWER), person(Role.ADMIN)
    page = viewer.browser.get(path).text
    assert findings(page)
    assert f"{path}/" not in page
    values = {"destination": "1", "name": "x", "source": "sms", "host": "x.example"}
    for visitor, target, status in (
        (viewer, path, 403),
        (admin, f"/console/spaces/{make_space()}/data-quality", 404),
    ):
        token = form_token(visitor.form_key, "data-quality")
        answer = visitor.browser.client.post(f"{target}/{verb}", data=values | {"form_token": token})
        assert answer.status_code == status
    answer = admin.browser.client.post(f"{path}/{verb}", data=values | {"form_token": "x"})
    assert answer.status_code == 403


def test_every_kind_has_words() -> None:
    assert all(find_title(kind) for kind in FindingKind)
