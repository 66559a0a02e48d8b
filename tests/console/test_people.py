"""The people page: the newest, and the search for contacts and companies."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from urllib.parse import quote

import psycopg
import pytest

from headwater.console.people_pages import people_list
from tests.console.conftest import Person
from tests.console.test_contact import link, show
from tests.console.test_event import HOSTILE
from tests.console.test_every_page import check
from tests.support.factories import NOON, Stage
from tests.support.people import merge


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


@pytest.fixture
def ann(stage: Stage) -> int:
    """A contact with an identifier of every kind."""
    contact = stage.contact(name="Ann Ash", email="ann.ash@ash.example", phone="0151 20001")
    for kind, value in (
        ("email", "ann.ash@ash.example"), ("email", "second@home.example"), ("name", "Ann Ash"),
        ("phone", "0151 20001"), ("tracking_id", "crm-77"), ("trk_token", "token-9"),
    ):  # fmt: skip
        stage.identifier(contact, kind, value)
    return contact


def search(visitor: Person, space_id: int, text: str) -> str:
    return show(visitor, f"/console/spaces/{space_id}/people?q={quote(text)}")


def test_it_works(stage: Stage, owner: Person, ann: int) -> None:
    stage.event(ann, amount="20", event_name="purchase")
    stage.event(ann, amount="7", event_name="lead_generated", event_time=NOON + timedelta(days=1))
    stage.contact(name="Ben Birch")
    newest = show(owner, f"/console/spaces/{stage.space_id}/people")
    assert newest.index("Ben Birch") < newest.index("Ann Ash")
    text = search(owner, stage.space_id, "ann.ash@ash.example")
    assert "Ann Ash ann.ash@ash.example" in text
    assert "lead generated 14 May 2026, 12:00" in text
    assert "20.00" in text
    assert "Ben Birch" not in text


@pytest.mark.usefixtures("ann")
@pytest.mark.parametrize(
    "text",
    ["ann.ash@ash.example", " ANN.Ash@ash.example ", "second@home.example", "ann.a", "Ann", "ann a",
     "ANN ASH", "0151 20001", "crm-77", "token-9", "sh", "ASH"],
)  # fmt: skip
def test_what_leads_to_a_contact(stage: Stage, owner: Person, text: str) -> None:
    stage.identifier(stage.contact(name="Zoe"), "name", "Zoe")
    answer = search(owner, stage.space_id, text)
    assert "Ann Ash" in answer
    assert "Zoe" not in answer


@pytest.mark.usefixtures("ann")
@pytest.mark.parametrize("text", ["nn.ash@ash.example", "crm-7", "token", "0151", "%", "_", "\\"])
def test_searches_without_result_say_so(stage: Stage, owner: Person, text: str) -> None:
    answer = search(owner, stage.space_id, text)
    assert "No people, companies or orders match" in answer
    assert "match by their beginning" in answer


def test_an_id_leads_to_the_surviving_contact(stage: Stage, owner: Person, ann: int) -> None:
    other_id = stage.contact(name="Was another")
    merge(stage, other_id, ann)
    for text in (str(ann), str(other_id)):
        assert "Ann Ash" in search(owner, stage.space_id, text)


def test_companies(stage: Stage, owner: Person) -> None:
    stage.company(name="Acme Tools", domain="acme.example", external_id="acc-1")
    for text in ("acme.example", "acme.ex", "tools", "ACME", "acc-1"):
        assert "Acme Tools" in search(owner, stage.space_id, text), text
    assert "Acme Tools" not in search(owner, stage.space_id, "cme.example")


@pytest.mark.parametrize("text", ["1001", "#1001"])
def test_an_order_number_leads_to_its_events(stage: Stage, owner: Person, ann: int, text: str) -> None:
    purchase = stage.event(ann, event_name="purchase", order_id="1001", amount="20")
    refund = stage.event(ann, event_name="purchase", order_id="1001-refund", amount="-5")
    other = stage.event(ann, event_name="purchase", order_id="10012", amount="7")
    answer = owner.browser.get(f"/console/spaces/{stage.space_id}/people?q={quote(text)}").text
    linked = {event: f'/events/{event}"' in answer for event in (purchase, refund, other)}
    assert linked == {purchase: True, refund: True, other: False}


def test_more_than_a_page(stage: Stage, owner: Person) -> None:
    for number in range(30):
        contact = stage.contact(name=f"Same {number}-", created_at=NOON + timedelta(seconds=number))
        stage.identifier(contact, "name", f"Same {number}-")
    assert "The first 25 results" in search(owner, stage.space_id, "Same")
    first = owner.browser.get(f"/console/spaces/{stage.space_id}/people").text
    second = owner.browser.get(link(first, "Older")).text
    assert "Same 29-" in first
    assert {n for n in range(30) if f"Same {n}-" in second} == set(range(5))
    assert "Same 29-" in owner.browser.get(link(second, "Newer")).text


def test_revenue_of_too_many_events_is_left_to_their_page(
    stage: Stage, owner: Person, ann: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people_list, "MOST_EVENTS", 2)
    for total in ("20.00", "40.00"):
        stage.event(ann, amount="20")
        assert total in search(owner, stage.space_id, "Ann")
    stage.event(ann, amount="20")
    assert "on its page" in search(owner, stage.space_id, "Ann")


def test_the_empty_state(stage: Stage, owner: Person) -> None:
    text = show(owner, f"/console/spaces/{stage.space_id}/people")
    assert "No people yet" in text
    assert "Get started" in text


@pytest.mark.usefixtures("ann")
@pytest.mark.parametrize("text", [HOSTILE, "x" * 5000, "'; --", "é" * 300, "\ud7ff", "9" * 40])
def test_hostile_searches_are_text(stage: Stage, owner: Person, text: str) -> None:
    page = owner.browser.get(f"/console/spaces/{stage.space_id}/people?q={quote(text)}")
    assert page.status_code == 200
    check(page)
    assert "<script>alert" not in page.text


@pytest.mark.usefixtures("ann")
def test_another_spaces_people_are_not_searched(
    stage: Stage, owner: Person, make_space: Callable[..., int], connection: psycopg.Connection
) -> None:
    other_stage = Stage(connection, make_space(), "")
    other_contact = other_stage.contact(name="Secret Person", email="ann.ash@ash.example")
    other_stage.identifier(other_contact, "email", "ann.ash@ash.example")
    other_stage.company(name="Secret Ltd", domain="ash.example")
    for text in ("ann.ash@ash.example", "ash.example", str(other_contact), "Secret"):
        assert "Secret P" not in search(owner, stage.space_id, text)
        assert "Secret L" not in search(owner, stage.space_id, text)


@pytest.mark.parametrize("query", ["cursor=x", "q=%00"])
def test_bad_parameters(stage: Stage, owner: Person, query: str) -> None:
    show(owner, f"/console/spaces/{stage.space_id}/people?{query}", status=422)
