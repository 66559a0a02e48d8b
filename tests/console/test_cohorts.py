"""The cohorts page: every figure equals the API's, and links to the events behind it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from headwater.console.tables import NO_FIGURE
from headwater.http.inputs.timerange import months_after
from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.console.test_campaigns import put_rows as put_rows  # noqa: PLC0414 - a fixture
from tests.support.factories import Stage

TODAY = datetime.now(UTC).date()


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    connection.execute("UPDATE spaces SET currency = 'EUR', timezone = 'UTC' WHERE id = %s", (space_id,))
    return Stage(connection, space_id, "")


@pytest.fixture
def shop(stage: Stage, put_rows: Any) -> Stage:
    """A customer who came through TikTok two months ago and bought again the month after, and a customer
    without a touch.
    """
    anna, ben = stage.contact(), stage.contact()
    stage.touchpoint(anna, "tiktok_ads", occurred_at=f"{_month(2):%Y-%m}-09 12:00:00+00")
    for ago, amount in ((2, 100), (1, 50), (1, -20)):
        stage.event(anna, amount=amount, event_time=f"{_month(ago):%Y-%m}-10 12:00:00+00")
    stage.event(ben, amount=30, event_time=f"{_month(2):%Y-%m}-10 12:00:00+00")
    put_rows(
        {"date": f"{_month(2)}", "platform": "tiktok", "amount": 110, "currency": "EUR"},
        {"date": f"{_month(2)}", "platform": "billboard", "amount": 5, "currency": "EUR"},
    )
    return stage


def _month(months_ago: int) -> Any:
    return months_after(TODAY, -months_ago)


def make_page(person: Person, space_id: int, query: str = "") -> PageTables:
    answer = person.browser.get(f"/console/spaces/{space_id}/cohorts?{query}")
    assert answer.status_code == 200, answer.text
    return PageTables(answer.text)


@pytest.mark.usefixtures("shop")
def test_it_works(owner: Person, space_id: int) -> None:
    page = make_page(owner, space_id)
    row = page.row("cohorts", f"{_month(2):%b %Y}")
    assert [cell.value for cell in row] == [None, "2", "115", "57.5", None, "130", "160", "160"]
    assert row[4].text == "month 0"
    assert row[7].text == "160.00, month still running"
    assert page.headlines["New customers"].value == "2"
    tiktok = page.row("keys", "TikTok ads")
    assert [cell.value for cell in tiktok[1:]] == ["1", "110", "110", "130"]
    assert [cell.value for cell in page.row("keys", "Unattributed")[1:]] == ["1", None, None, "30"]
    assert '<data value="5">5.00</data> EUR of spend is not in any row' in page.html
    tiktok_page = PageTables(owner.browser.get(tiktok[0].link or "").text)
    row = tiktok_page.row("cohorts", f"{_month(2):%b %Y}")
    assert [cell.value for cell in row[1:]] == ["1", "110", "110", None, "100", "130", "130"]
    assert "Source: tiktok_ads" in tiktok_page.html or "source: TikTok ads" in tiktok_page.html


def acquire(stage: Stage, *sources: str) -> None:
    """Store a customer of two months ago with these touchpoints, the last of which is credited."""
    contact = stage.contact()
    for day, source in enumerate(sources, 1):
        stage.touchpoint(contact, source, occurred_at=f"{_month(2):%Y-%m}-{day:02} 12:00:00+00")
    stage.event(contact, amount=10, event_time=f"{_month(2):%Y-%m}-10 12:00:00+00")


@pytest.mark.usefixtures("shop")
def test_a_platform_that_bills_several_sources_has_a_row(
    owner: Person, space_id: int, stage: Stage, put_rows: Any
) -> None:
    """Customers came from one of Google's two sources, and from both of Meta's, one of them from both."""
    for sources in (
        ["google_ads"],
        ["google_organic"],
        ["facebook_ads"],
        ["instagram_ads"],
        ["facebook_ads", "instagram_ads"],
    ):
        acquire(stage, *sources)
    put_rows(
        {"date": f"{_month(2)}", "platform": "google", "amount": 7, "currency": "EUR"},
        {"date": f"{_month(2)}", "platform": "meta", "amount": 60, "currency": "EUR"},
    )
    page = make_page(owner, space_id, "attribution_model=linear")
    names = [row[0].text for row in page.tables["keys"][1:]]
    assert names[:6] == [
        "TikTok ads",
        "Meta ads",
        "Facebook ads",
        "Instagram ads",
        "Google ads",
        "Google organic",
    ]
    rows = {row[0].text: row for row in page.tables["keys"][1:]}
    assert [cell.value for cell in rows["Meta ads"][1:]] == ["3", "60", "20", "30"]
    assert [[cell.value for cell in rows[name][1:]] for name in ("Facebook ads", "Instagram ads")] == [
        ["2", None, None, "15"]
    ] * 2
    assert [cell.value for cell in rows["Google ads"][1:]] == ["1", "7", "7", "10"]
    assert rows["Google organic"][2].text == f"{NO_FIGURE} No spend"
    assert "covers several sources" in rows["Facebook ads"][2].text
    assert '<data value="5">5.00</data> EUR of spend is not in any row' in page.html
    opened_page = PageTables(owner.browser.get(rows["Meta ads"][0].link or "").text)
    figures = {name: opened_page.headlines[name].value for name in ("New customers", "Spend", "CAC")}
    assert figures == {"New customers": "3", "Spend": "60", "CAC": "20"}


@pytest.mark.usefixtures("shop")
def test_figures_lead_to_their_events(owner: Person, space_id: int) -> None:
    page = make_page(owner, space_id, "only=source:tiktok_ads&figure=revenue")
    row = page.row("cohorts", f"{_month(2):%b %Y}")
    for cell, amount, events in ((row[1], "100", "1"), (row[5], "100", "1"), (row[6], "30", "2")):
        behind = PageTables(owner.browser.get(cell.link or "").text)
        assert behind.headlines["Their amounts"].value == amount
        assert behind.event_count.value == events
        assert "first order by source: TikTok ads" in behind.html
        assert f"first order in {_month(2):%Y-%m}" in behind.html
    buying = make_page(owner, space_id, "figure=customers").row("cohorts", f"{_month(2):%b %Y}")
    behind = PageTables(owner.browser.get(buying[6].link or "").text)
    assert (buying[6].value, behind.event_count.value) == ("1", "1")


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("figure", "values"),
    [("revenue", ["130", "30", "0"]), ("customers", ["2", "1", "0"]),
     ("retention", ["1", "0.5", "0"]), ("contribution", ["-37", "-19", "-19"])],
)  # fmt: skip
def test_other_figures(owner: Person, space_id: int, stage: Stage, figure: str, values: list[str]) -> None:
    address = f"/console/spaces/{space_id}/cohorts?figure={figure}"
    if figure == "contribution":
        assert "needs a cost rate" in owner.browser.get(address).text
    stage.connection.execute("UPDATE spaces SET cost_rate = 40 WHERE id = %s", (space_id,))
    row = PageTables(owner.browser.get(address).text).row("cohorts", f"{_month(2):%b %Y}")
    assert [cell.value for cell in row[5:]] == values
    assert row[4].text == "not yet"


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(("query", "is_kept"), [("figure=customers", True), ("", False)])
def test_a_row_opens_with_the_chosen_figure(owner: Person, space_id: int, query: str, is_kept: bool) -> None:
    row = make_page(owner, space_id, query).row("keys", "TikTok ads")
    assert ("figure=customers" in (row[0].link or "")) == is_kept


@pytest.mark.usefixtures("shop")
def test_csv_is_that_of_the_api(owner: Person, space_id: int) -> None:
    answer = owner.browser.get(f"/console/spaces/{space_id}/cohorts.csv?group=channel")
    assert answer.headers["content-disposition"].startswith('attachment; filename="cohorts-')
    lines = answer.text.splitlines()
    assert lines[0].startswith("month,channel,channel_name,new_customers,spend")
    assert lines[1].startswith(f"{_month(2):%Y-%m},paid,paid,1,110,110,reached,1,0,true,100,100")


def test_cohorts_begin_with_the_first_order(owner: Person, space_id: int, stage: Stage) -> None:
    page = make_page(owner, space_id)
    assert "No first orders in this period" in page.html
    assert f'href="/console/spaces/{space_id}/setup"' in page.html
    stage.event(stage.contact(), amount=40, event_time=f"{TODAY} 00:00:01+00")
    page = make_page(owner, space_id)
    assert page.headlines["New customers"].value == "1"
    row = page.row("cohorts", f"{TODAY:%b %Y}")
    assert (row[1].value, row[5].value) == ("1", "40")
    assert 'running" title="Month still running"' in page.html
