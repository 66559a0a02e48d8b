"""The page of exchange rates: listed, added for a day or for several, refused by field."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

from headwater.console.report_pages.rates import MOST_DAYS, PER_PAGE
from headwater.spaces.accounts.roles import Role
from tests.console.conftest import Person
from tests.console.tables import PageTables

USD = {"base": "usd", "currency": "EUR", "rate": "0,92", "first_day": "2026-05-01"}


def add(person: Person, space_id: int, **values: str) -> Any:
    page = f"/console/spaces/{space_id}/rates"
    return person.browser.fill(page, f"{page}/add", **{**USD, **values})


def rows(html: str) -> list[list[str]]:
    return [
        [" ".join(cell.text.split()) for cell in row] for row in PageTables(html).tables.get("listed", [])[1:]
    ]


def test_it_works(owner: Person, space_id: int) -> None:
    page = add(owner, space_id)
    assert "Rates stored" in page.text
    assert rows(page.text) == [["1 May 2026", "USD", "0.92", "EUR"]]
    page = add(owner, space_id, last_day="2026-05-03", rate="0.5")
    assert [row[0] for row in rows(page.text)] == ["3 May 2026", "2 May 2026", "1 May 2026"]
    assert {row[2] for row in rows(page.text)} == {"0.5"}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("rate", {"rate": "0"}), ("rate", {"rate": "much"}), ("base", {"base": "DOLLAR"}),
        ("currency", {"currency": "USD"}), ("first_day", {"first_day": "1 May"}),
        ("first_day", {"first_day": ""}), ("last_day", {"last_day": "2026-04-30"}),
        ("last_day", {"last_day": "2099-01-01"}), ("last_day", {"last_day": "x"}),
    ],
)  # fmt: skip
def test_what_is_wrong_stands_at_its_field(
    owner: Person, space_id: int, field: str, values: dict[str, str]
) -> None:
    page = add(owner, space_id, **values)
    assert page.status_code == 422
    assert re.findall(r'id="(\w+)-refusal"', page.text) == [field]
    assert "rates.0" not in page.text
    assert ("The base currency" in page.text) == (field == "base")
    assert 'value="0,92"' in page.text or "rate" in values  # the input is kept
    assert rows(page.text) == []


def test_pages(owner: Person, space_id: int) -> None:
    add(owner, space_id, last_day="2026-06-30")
    page = owner.browser.get(f"/console/spaces/{space_id}/rates").text
    assert len(rows(page)) == PER_PAGE
    older = re.findall(r'href="([^"]*cursor=[^"]*)">Earlier', page)
    assert len(rows(owner.browser.get(older[0]).text)) == 61 - PER_PAGE
    assert MOST_DAYS > 61


def test_reference_rates_are_named(owner: Person, space_id: int, connection: psycopg.Connection) -> None:
    path = f"/console/spaces/{space_id}/rates"
    if "has not imported any" in owner.browser.get(path).text:
        connection.execute("INSERT INTO reference_rates VALUES ('1999-01-04', 'XTS', 1)")
        assert "are available up to 4 Jan 1999" in owner.browser.get(path).text
        connection.execute("DELETE FROM reference_rates WHERE currency = 'XTS'")
    else:
        assert "are available up to" in owner.browser.get(path).text


def test_a_viewer_adds_none(person: Any, space_id: int) -> None:
    viewer = person(Role.VIEWER)
    page = f"/console/spaces/{space_id}/rates"
    assert f'action="{page}/add"' not in viewer.browser.get(page).text
    assert viewer.browser.get(f"{page}?cursor=x&first_day=%00").status_code == 200
