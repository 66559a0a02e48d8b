"""The paths page: every figure equals the report's, and links to events that add up to it."""

from __future__ import annotations

import csv
import random
from datetime import timedelta
from functools import cache

import psycopg
import pytest

from headwater.console.report_pages.figures import NO_FIGURE
from tests.console.conftest import Person
from tests.console.tables import Cell, PageTables
from tests.console.test_channels import NOON, days_ago
from tests.console.test_figures_agree import fill
from tests.support.campaigns import pick_share
from tests.support.factories import Stage

TOTAL = "Their revenue"
UNTAKEN = f"{NO_FIGURE} No conversion from this to that source"


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def add_path(stage: Stage, *sources: str, amount: str) -> None:
    """Store an order three days ago, with one touchpoint on each of the days up to it."""
    contact = stage.contact()
    for days_before, source in enumerate(reversed(sources)):
        stage.touchpoint(contact, source, occurred_at=days_ago(3) - days_before * timedelta(days=1))
    stage.event(contact, event_time=days_ago(3), amount=amount)


def make_page(person: Person, space_id: int, query: str = "") -> PageTables:
    answer = person.browser.get(f"/console/spaces/{space_id}/paths?{query}")
    assert answer.status_code == 200, answer.text
    return PageTables(answer.text)


def texts(row: list[Cell]) -> list[str]:
    return [" ".join(cell.text.split()) for cell in row]


def test_it_works(owner: Person, stage: Stage, space_id: int) -> None:
    add_path(stage, "google_ads", "email", amount="100.50")
    add_path(stage, "google_ads", "google_ads", "email", amount="10")
    add_path(stage, "direct", amount="3")
    add_path(stage, amount="1000")
    page = make_page(owner, space_id)
    assert page.headlines["Orders with a journey"].value == "3"
    assert page.headlines["Their revenue"].value == "113.5"
    assert page.headlines["Days from the first touchpoint"].value == "1"
    assert "66.7 % of orders came from Google ads, then E-mail." in page.html
    heads, *paths = page.tables["top-paths"]
    assert texts(heads) == ["Journey", "Conversions", "Revenue", "Days, on average"]
    assert [[cell.value for cell in row[1:]] for row in paths] == [["2", "110.5", "1.5"],
                                                                   ["1", "3", "0"]]  # fmt: skip
    assert texts(page.tables["flow"][0]) == ["First, last", "E-mail", "Direct"]
    assert [texts(row) for row in page.tables["flow"][1:]] == [["Google ads", "2", UNTAKEN],
                                                               ["Direct", UNTAKEN, "1"]]  # fmt: skip
    assert page.html.count('<path class="ribbon ') == 2
    assert texts(page.tables["touches"][3]) == ["3", "1", "10.00"]
    assert texts(page.tables["days"][6]) == [
        f"15{NO_FIGURE}30",
        "0",
        f"{NO_FIGURE} No conversion took this path",
    ]


@pytest.mark.parametrize("query", ["period=last+90+days", "steps=channel&attribution_window=0",
                                   "query_mode=company&only=customer:new"])  # fmt: skip
def test_every_figure_leads_to_its_events(owner: Person, stage: Stage, space_id: int, query: str) -> None:
    fill(stage, random.Random("paths"))
    page = make_page(owner, space_id, query)

    @cache
    def read_totals(link: str) -> tuple[str | None, str | None]:
        linked_page = PageTables(owner.browser.get(link).text)
        return linked_page.event_count.value, linked_page.headlines["Their amounts"].value

    def linked_totals(cell: Cell) -> tuple[str | None, str | None]:
        return read_totals(cell.link or "")

    for table in ("top-paths", "touches", "days"):
        for _, conversions, revenue, *_ in pick_share(page.tables[table][1:], query, 2):
            if conversions.link:
                assert linked_totals(conversions)[0] == conversions.value
            if revenue.link:
                assert linked_totals(revenue)[1] == revenue.value
    pairs = [cell for row in page.tables["flow"][1:] for cell in row if cell.link]
    assert len(pairs) > 2
    for cell in pairs[:15]:
        assert linked_totals(cell)[0] == cell.value
    assert (
        linked_totals(page.headlines["Orders with a journey"])[0]
        == page.headlines["Orders with a journey"].value
    )
    assert linked_totals(page.headlines[TOTAL])[1] == page.headlines[TOTAL].value


def test_an_empty_space_says_so(owner: Person, space_id: int) -> None:
    assert "No journeys in this period" in make_page(owner, space_id).html


def test_channels_are_a_choice(owner: Person, stage: Stage, space_id: int) -> None:
    add_path(stage, "google_ads", "facebook_ads", "email", amount="5")
    page = make_page(owner, space_id, "steps=channel")
    assert texts(page.tables["top-paths"][1])[0].split() == ["Paid", "adsE-mail"]


def test_a_path_of_many_steps(owner: Person, stage: Stage, space_id: int) -> None:
    add_path(stage, *["email", "direct"] * 6, amount="5")
    page = make_page(owner, space_id)
    row = page.tables["top-paths"][1]
    assert "2 more" in row[0].text
    linked_text = owner.browser.get(row[1].link or "").text
    assert PageTables(linked_text).headlines["Their amounts"].value == "5"
    assert "path: E-mail &gt; Direct" in linked_text


def test_the_csv_has_the_paths(owner: Person, stage: Stage, space_id: int) -> None:
    add_path(stage, "google_ads", "email", amount="5")
    add_path(stage, amount="7")
    (link,) = [
        fragment for fragment in make_page(owner, space_id).html.split('"') if "report.csv" in fragment
    ]
    lines = [*csv.DictReader(owner.browser.get(link.replace("&amp;", "&")).text.splitlines())]
    assert [(line["path"], line["events"], line["revenue"]) for line in lines] == [
        ("google_ads > email", "1", "5"),
    ]  # fmt: skip


@pytest.mark.parametrize("query", ["steps=ad", "period=tomorrow", "only=channel:paid",
                                   "attribution_window=5"])  # fmt: skip
def test_what_cannot_be_is_said(owner: Person, space_id: int, query: str) -> None:
    answer = owner.browser.get(f"/console/spaces/{space_id}/paths?{query}")
    assert answer.status_code == 422
    assert "No report" in answer.text


def test_dates_are_those_of_the_conversion(owner: Person, stage: Stage, space_id: int) -> None:
    add_path(stage, "email", amount="5")
    assert days_ago(3) < NOON
    page = make_page(owner, space_id, "date_basis=touch")
    assert page.headlines["Orders with a journey"].value == "1"
    assert "date_basis=touch" not in page.html
