"""The tabs of Orders: sales, and all events."""

from __future__ import annotations

import html
import re

import psycopg
import pytest

from headwater.console.report_pages import events
from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.console.test_channels import days_ago, order
from tests.console.test_foreign_amounts import note_currency
from tests.support.factories import Stage

ALL_EVENTS = "conversion=any"


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def open_list(person: Person, space_id: int, query: str = "") -> str:
    answer = person.browser.get(f"/console/spaces/{space_id}/events?{query}")
    assert answer.status_code == 200, answer.text
    return answer.text


def current_tab(page: str) -> list[str]:
    tabs = page.partition('<nav class="tabs"')[2].partition("</nav>")[0]
    return re.findall('aria-current="[^"]+">([^<]+)', tabs)


def list_rows(page: str) -> list[list[str]]:
    return [[" ".join(cell.text.split()) for cell in row] for row in PageTables(page).tables["listed"]]


def test_orders(owner: Person, stage: Stage, space_id: int) -> None:
    ann = stage.contact(name="Ann")
    stage.touchpoint(ann, "google_ads", occurred_at=days_ago(4))
    stage.event(ann, event_time=days_ago(3), amount="80.5", order_id="77", order_name="#1077")
    stage.event(ann, event_time=days_ago(2), amount="-80.5", order_id="77-back")
    stage.event(ann, event_time=days_ago(2), event_name="sign_up")
    page = open_list(owner, space_id)
    head, *rows = list_rows(page)
    assert head == ["Number", "Customer", "Amount", "Source", "Time"]
    assert [row[:4] for row in rows] == [
        ["77-back refund", "Ann", "-80.50", "Google ads"],
        ["#1077", "Ann", "80.50", "Google ads"],
    ]
    assert current_tab(page) == ["Orders"]


def test_refunds_and_upsells_are_named(owner: Person, stage: Stage, space_id: int) -> None:
    """Neither counts as an order, whatever the event is called and even without an exchange rate."""
    ann = stage.contact(name="Ann")
    stage.event(ann, event_time=days_ago(1), amount="5", order_id="1", is_upsell=True)
    stage.event(ann, event_time=days_ago(2), amount="-5", order_id="2", currency="XAF")
    note_currency(stage, "XAF", days_ago(2))
    assert [row[0] for row in list_rows(open_list(owner, space_id))[1:]] == ["1 upsell", "2 refund"]


def test_a_long_list_says_what_its_file_has(
    owner: Person, stage: Stage, space_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for days in (1, 2, 3):
        stage.event(stage.contact(), event_time=days_ago(days), amount="5")
    assert "The CSV has" not in open_list(owner, space_id)
    monkeypatch.setattr(events, "MOST_ROWS", 2)
    assert "The CSV has the newest 2." in open_list(owner, space_id)


def test_the_credit_of_an_event_without_an_amount(owner: Person, stage: Stage, space_id: int) -> None:
    """It is a part of the event, not of revenue."""
    ann = stage.contact()
    for source in ("google_ads", "email"):
        stage.touchpoint(ann, source, occurred_at=days_ago(4))
    stage.event(ann, event_time=days_ago(3), event_name="sign_up", amount=None)
    query = "conversion=sign_up&attribution_model=linear&credit=credited&only=source:google_ads"
    head, row = list_rows(open_list(owner, space_id, query))
    assert row[head.index("Credited revenue")] == "50.0 % of the event"


def test_all_events(owner: Person, stage: Stage, space_id: int) -> None:
    """The tab also lists steps before a conversion, which aren't conversions."""
    ann = stage.contact(name="Ann")
    for name in ("view_content", "sign_up", "purchase"):
        stage.event(ann, event_time=days_ago(3), event_name=name)
    page = open_list(owner, space_id, ALL_EVENTS)
    assert current_tab(page) == ["All events"]
    assert {row[1] for row in list_rows(page)[1:]} == {"view content", "sign up", "purchase"}


def test_a_list_of_other_conversions_belongs_to_all_events(
    owner: Person, stage: Stage, space_id: int
) -> None:
    stage.event(stage.contact(), event_time=days_ago(3), event_name="sign_up")
    page = open_list(owner, space_id, "conversion=sign_up")
    assert current_tab(page) == ["All events"]
    assert len(list_rows(page)) == 2


def test_the_page_of_an_event_leads_back(owner: Person, stage: Stage, space_id: int) -> None:
    sale_id = order(stage, "email", "10")
    view_id = stage.event(stage.contact(), event_time=days_ago(3), event_name="view_content")
    for event, tab in ((sale_id, "Orders"), (view_id, "All events")):
        page = owner.browser.get(f"/console/spaces/{space_id}/events/{event}").text
        assert current_tab(page) == [tab]
        back = re.search(f'<a href="([^"]+)"><bdi>{tab}</bdi>', page)
        assert back is not None
        assert current_tab(owner.browser.get(html.unescape(back[1])).text) == [tab]


def test_dates_of_visits_list_credited_events_only(owner: Person, space_id: int) -> None:
    """Other events have no visit whose date could count, so the menu leaves them out."""
    page = open_list(owner, space_id, "date_basis=touch&credit=all")
    assert "credited events" in page
    assert "unattributed events" not in page
    assert "unattributed events" in open_list(owner, space_id)
