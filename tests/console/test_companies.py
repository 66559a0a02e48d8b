"""The list of companies."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest

from headwater.console.people_pages import company_list
from headwater.console.tables import NO_FIGURE
from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.console.test_contact import link, show
from tests.console.test_event import HOSTILE
from tests.console.test_every_page import check
from tests.support.factories import NOON, Stage


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def list_path(space_id: int) -> str:
    return f"/console/spaces/{space_id}/companies"


def list_rows(page: str) -> list[list[str]]:
    return [[" ".join(cell.text.split()) for cell in row] for row in PageTables(page).tables["companies"]][1:]


def test_it_works(stage: Stage, owner: Person) -> None:
    acme = stage.company(name="Acme", domain="acme.example", created_at=NOON + timedelta(days=1))
    quiet = stage.company(name="quiet.example", domain="quiet.example")
    ann, _, merged_id = (stage.contact(company_id=acme) for _ in range(3))
    stage.connection.execute("UPDATE contacts SET merged_into = %s WHERE id = %s", (ann, merged_id))
    for name, amount in (
        ("purchase", "20"),
        ("purchase", "-5"),
        ("upsell_purchase", "1.5"),
        ("sign_up", "9"),
    ):
        stage.event(ann, event_name=name, amount=amount, company_id=acme)
    page = owner.browser.get(list_path(stage.space_id)).text
    assert [row[:4] for row in list_rows(page)] == [
        ["Acme acme.example", "2", "1", "16.50"],
        ["quiet.example", "0", "0", f"{NO_FIGURE} No amount"],
    ]
    assert [row[4] for row in list_rows(page)][1] == "none yet"
    rows = PageTables(page).tables["companies"][1:]
    assert [row[0].link for row in rows] == [
        f"{list_path(stage.space_id)}/{company_id}" for company_id in (acme, quiet)
    ]


def test_sales_in_several_currencies_are_no_sum(stage: Stage, owner: Person) -> None:
    company = stage.company()
    for currency in ("EUR", "CHF"):
        stage.event(stage.contact(), amount="20", currency=currency, company_id=company)
    assert "in CHF, EUR" in show(owner, list_path(stage.space_id))


def test_more_than_a_page(stage: Stage, owner: Person) -> None:
    for number in range(30):
        stage.company(name=f"Number {number}-", created_at=NOON + timedelta(seconds=number // 4))
    first = owner.browser.get(list_path(stage.space_id)).text
    second = owner.browser.get(link(first, "Older")).text
    names = [{n for n in range(30) if f"Number {n}-" in page} for page in (first, second)]
    assert [len(page_names) for page_names in names] == [25, 5]
    assert not names[0] & names[1]
    assert owner.browser.get(link(second, "Newer")).text.count("Number") == first.count("Number")


def test_a_company_with_too_many_events(stage: Stage, owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(company_list, "MOST_COUNTED", 2)
    company = stage.company()
    contact = stage.contact(company_id=company)
    for total in ("20.00", "40.00"):
        stage.event(contact, amount="20", company_id=company)
        assert total in show(owner, list_path(stage.space_id))
    stage.event(contact, amount="20", company_id=company)
    assert "on its page" in show(owner, list_path(stage.space_id))


def test_the_empty_state(stage: Stage, owner: Person) -> None:
    assert "No companies yet" in show(owner, list_path(stage.space_id))


def test_another_spaces_companies_are_not_listed(
    stage: Stage, owner: Person, make_space: Callable[..., int], connection: psycopg.Connection
) -> None:
    other_stage = Stage(connection, make_space(), "")
    other_stage.company(name="Secret Ltd")
    assert "Secret" not in show(owner, list_path(stage.space_id))


def test_hostile_values_are_text(stage: Stage, owner: Person) -> None:
    stage.company(name=HOSTILE, domain=HOSTILE, external_id=HOSTILE)
    page = owner.browser.get(list_path(stage.space_id))
    check(page)
    assert "<script>alert" not in page.text


def test_bad_parameters(stage: Stage, owner: Person) -> None:
    show(owner, list_path(stage.space_id) + "?cursor=x", status=422)


def test_a_position_of_another_list_is_refused_as_an_address(owner: Person, space_id: int) -> None:
    for name in ("companies", "people"):
        answer = owner.browser.get(f"/console/spaces/{space_id}/{name}?cursor=xx")
        assert answer.status_code == 422
        assert "This address is not valid" in answer.text
        assert "position in the list" in answer.text
