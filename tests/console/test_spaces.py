"""The page of all Spaces: the revenue and the problems of each."""

from __future__ import annotations

import html
from collections.abc import Callable
from datetime import UTC, datetime

import psycopg
import pytest

from headwater.console import space_choice
from headwater.reports.query import ReportTooLarge
from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.console.test_channels import HOSTILE, order
from tests.console.test_foreign_amounts import note_currency
from tests.support.factories import Stage


@pytest.fixture
def join(
    owner: Person, make_space: Callable[..., int], connection: psycopg.Connection
) -> Callable[..., Stage]:
    """A function that makes another Space of the owner."""

    def make(name: str = "Second", **columns: object) -> Stage:
        space_id = make_space(name=name, **columns)
        connection.execute("INSERT INTO memberships VALUES (%s, %s, 'viewer')", (space_id, owner.user.id))
        return Stage(connection, space_id, "")

    return make


def make_page(person: Person, query: str = "all") -> PageTables:
    answer = person.browser.get(f"/console?{query}")
    assert answer.status_code == 200, answer.text
    return PageTables(answer.text)


def test_it_works(owner: Person, space_id: int, join: Callable[..., Stage]) -> None:
    second = join(HOSTILE, currency="EUR")
    order(second, "google_ads", "100.50")
    order(second, "google_ads", "50", days=40)
    destination = second.destination()
    second.connection.execute(
        "UPDATE destinations SET status = 'held', held_since = now() WHERE id = %s", (destination,)
    )
    page = make_page(owner, "")
    rows = {row[0].link: row for row in page.tables["yours"][1:]}
    assert set(rows) == {f"/console/spaces/{joined_id}" for joined_id in (space_id, second.space_id)}
    name, revenue, orders, attention = rows[f"/console/spaces/{second.space_id}"]
    assert HOSTILE in name.text
    assert "viewer" in name.text
    assert (revenue.value, orders.value) == ("100.5", "1")
    assert "EUR" in revenue.text
    assert "up 101.0 %" in " ".join(revenue.text.split())
    assert "connection expired" in attention.text
    headlines = PageTables(owner.browser.get(revenue.link or "").text).headlines
    assert headlines["Their amounts"].value == "100.5"
    assert PageTables(owner.browser.get(orders.link or "").text).event_count.value == "1"
    none = rows[f"/console/spaces/{space_id}"]
    assert (none[1].value, none[2].value, none[3].text) == ("0", "0", "Nothing")


def test_figures_lead_to_their_events(owner: Person, join: Callable[..., Stage]) -> None:
    """The last 30 days end today; free orders count, upsells and refunds don't."""
    second = join(currency="EUR")
    for amount, columns in (("10", {}), ("0", {}), ("3", {"is_upsell": True}), ("-2", {})):
        second.event(second.contact(), event_time=datetime.now(UTC), amount=amount, **columns)
    second.event(second.contact(), event_time=datetime.now(UTC), amount="9", currency="XAF")
    note_currency(second, "XAF", datetime.now(UTC))
    page = make_page(owner, "")
    row = next(row for row in page.tables["yours"][1:] if "Second" in row[0].text)
    orders = PageTables(owner.browser.get(html.unescape(row[2].link or "")).text)
    assert (row[1].value, row[2].value, orders.event_count.value) == ("11", "3", "3")
    assert "1 event, 9 XAF, left out: no exchange rate" in row[1].text
    assert "Sales of the last 30 days including today" in page.html


def test_a_single_space_is_gone_to(owner: Person, space_id: int) -> None:
    assert owner.browser.get("/console").url.path == f"/console/spaces/{space_id}/setup"


def test_pages_and_names(owner: Person, join: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space_choice, "PER_PAGE", 2)
    for name in ("Shop A", "Shop B", "Shop C & D", "Other", "Another"):
        join(name)
    first = make_page(owner, "all=&q=shop")
    assert [row[0].text.split("Space")[0] for row in first.tables["yours"][1:]] == [
        "Shop A", "Shop B",
    ]  # fmt: skip
    assert 'rel="next" href="/console?all=&amp;q=shop&amp;page=2"' in first.html
    second = make_page(owner, "all=&q=shop&page=2")
    assert len(second.tables["yours"]) == 2
    assert 'rel="next"' not in second.html
    assert "None of your Spaces" in make_page(owner, "all=&q=nowhere").html
    assert owner.browser.get("/console?all=&page=x").status_code == 422


def test_a_space_that_is_too_large(
    owner: Person, join: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch
) -> None:
    join()

    async def refuse(*_: object) -> None:
        raise ReportTooLarge

    monkeypatch.setattr(space_choice, "query_report", refuse)
    assert "Too many to sum here" in make_page(owner).html
