"""The page of one company: its contacts, and everything they did."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest

from headwater.console.people_pages import company as company_page
from headwater.console.people_pages import contact as contact_page
from headwater.console.people_pages.company import queries
from headwater.spaces.accounts.roles import Role
from tests.console.conftest import Person
from tests.console.test_contact import link, show
from tests.console.test_event import HOSTILE
from tests.console.test_every_page import check
from tests.support.factories import NOON, Stage
from tests.support.forgetting import forget_space, take_away_second_wall


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def list_path(space_id: int, company_id: int) -> str:
    return f"/console/spaces/{space_id}/companies/{company_id}"


def test_it_works(stage: Stage, owner: Person) -> None:
    company = stage.company(name="Acme", domain="acme.example", external_id="acc-1")
    ann, ben = (stage.contact(name=name, company_id=company) for name in ("Ann", "Ben"))
    stage.contact(name="Carl")
    stage.touchpoint(ben, "email", source_rule="utm_medium", company_id=company,
                     url="https://shop.example/?utm_medium=email",
                     occurred_at=NOON - timedelta(days=1))  # fmt: skip
    stage.event(ann, amount="20", company_id=company)
    text = show(owner, list_path(stage.space_id, company))
    for fragment in ("Acme", "acme.example", "acc-1", "Revenue 20.00 USD", "Contacts 2", "Events 1",
                     "Ann", "Ben", "utm_medium=email"):  # fmt: skip
        assert fragment in text, fragment
    assert "Carl" not in text
    assert text.index("Purchase 20.00") < text.index("utm_medium=email")


def test_the_empty_state(stage: Stage, owner: Person) -> None:
    text = show(owner, list_path(stage.space_id, stage.company()))
    assert "No contacts belong to this company." in text
    assert "No activity yet." in text


def test_revenue_of_many_events_is_of_the_latest(
    stage: Stage, owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    for page in (company_page, contact_page):
        monkeypatch.setattr(page, "MOST_EVENTS", 2)
    company_id = stage.company()
    for day, amount in enumerate(("1", "20", "300")):
        stage.event(
            stage.contact(), company_id=company_id, amount=amount, event_time=NOON + timedelta(days=day)
        )
    text = show(owner, list_path(stage.space_id, company_id))
    assert "320.00" in text
    assert "of the last 2 events" in text


def test_its_contacts_and_its_timeline_go_on(stage: Stage, owner: Person) -> None:
    company = stage.company()
    contacts = [stage.contact(name=f"name-{n}-", company_id=company) for n in range(30)]
    for number in range(60):
        stage.event(contacts[0], order_id=f"order-{number}-", company_id=company,
                    event_time=NOON - timedelta(minutes=number // 7))  # fmt: skip
    first = owner.browser.get(list_path(stage.space_id, company)).text
    older = owner.browser.get(link(first, "Older")).text
    orders = [{n for n in range(60) if f"order-{n}-" in html} for html in (first, older)]
    assert [len(page_orders) for page_orders in orders] == [50, 10]
    assert not orders[0] & orders[1]
    second = owner.browser.get(link(first, "More contacts")).text
    names = [{n for n in range(30) if f"/contacts/{contacts[n]}" in html.partition("timeline")[0]}
             for html in (first, second)]  # fmt: skip
    assert (len(names[0]), names[0] | names[1]) == (25, set(range(30)))


@pytest.mark.parametrize("query", ["?cursor=x", "?contacts_after=x", "?contacts_after=-1"])
def test_bad_parameters(stage: Stage, owner: Person, query: str) -> None:
    show(owner, list_path(stage.space_id, stage.company()) + query, status=422)


def test_hostile_values_are_text(stage: Stage, owner: Person) -> None:
    company = stage.company(name=HOSTILE, domain=HOSTILE, external_id=HOSTILE)
    stage.contact(name=HOSTILE, company_id=company)
    page = owner.browser.get(list_path(stage.space_id, company))
    check(page)
    assert "<script>alert" not in page.text


@pytest.mark.parametrize("role", list(Role))
def test_every_role_sees_it(stage: Stage, person: Callable[..., Person], role: Role) -> None:
    person(Role.OWNER)
    show(person(role), list_path(stage.space_id, stage.company()))


def test_another_spaces_company_is_as_an_unknown_one(
    stage: Stage, owner: Person, make_space: Callable[..., int], connection: psycopg.Connection
) -> None:
    other_stage = Stage(connection, make_space(), "")
    other_company = other_stage.company(name="Secret")
    for company in (str(other_company), "999999999", "x"):
        show(owner, f"/console/spaces/{stage.space_id}/companies/{company}", status=404)
    show(owner, list_path(other_stage.space_id, other_company), status=404)


def test_a_faulty_statement_shows_no_other_space(
    owner: Person, stage: Stage, make_space: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    other_stage = Stage(stage.connection, make_space(), "")
    path = list_path(stage.space_id, other_stage.company(name="Somebody else's"))
    forget_space(monkeypatch, queries, "company")
    assert owner.browser.get(path).status_code == 404
    take_away_second_wall(monkeypatch)
    assert "Somebody else" in show(owner, path)  # without row-level security the row shows
