"""The campaigns page: spend next to the revenue it brought. Every cent of the ledger is in a row or in the
line for the remaining spend, and every figure of events links to its events.
"""

from __future__ import annotations

import asyncio
import csv
import html
import random
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from headwater.console.ad_pages import campaigns
from headwater.console.ad_pages.ad_columns import COLUMNS
from headwater.console.report_pages.figures import NO_FIGURE
from headwater.sources.networks import NUMBERS, PaidNetwork
from headwater.sources.source_names import SourceNames
from headwater.spaces.accounts.roles import Role
from headwater.spend.inputs import read_spend
from headwater.spend.ledger import put_report
from tests.console.conftest import Person
from tests.console.tables import Cell, PageTables
from tests.console.test_channels import HOSTILE, days_ago, order
from tests.console.test_figures_agree import fill, follow
from tests.support.factories import Stage

ONCE_KNOWN = SourceNames(
    {}, [PaidNetwork(number, f"{name}_ads", (), name)
         for number, name in zip(NUMBERS, ("billboard", "fair"), strict=False)],
)  # fmt: skip
"""Networks with rows in the ledger, but without a source in these Spaces."""
PLACES = {column.figure: index for index, column in enumerate(COLUMNS, 1)}


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    connection.execute("UPDATE spaces SET currency = 'EUR' WHERE id = %s", (space_id,))
    return Stage(connection, space_id, "")


@pytest.fixture
def put_rows(database_url: str, space_id: int) -> Any:
    """A function that puts rows into the ledger."""

    def store(*rows: dict[str, Any]) -> None:
        report = read_spend({"spend": [*rows]}, datetime.now(UTC), ONCE_KNOWN)

        async def run() -> None:
            async with await psycopg.AsyncConnection.connect(database_url) as connection:
                await put_report(connection, space_id, report.rows, report.as_of)

        asyncio.run(run())

    return store


def spend_row(days: int, platform: str, amount: Any, **columns: Any) -> dict[str, Any]:
    day = f"{days_ago(days).date()}"
    return {"date": day, "platform": platform, "amount": amount, "currency": "EUR", **columns}


def make_page(person: Person, space_id: int, query: str = "") -> PageTables:
    answer = person.browser.get(f"/console/spaces/{space_id}/campaigns?columns=all&unpaid=1&{query}")
    assert answer.status_code == 200, answer.text
    return PageTables(answer.text)


def values(row: list[Cell], *figures: str) -> list[str | None]:
    return [row[PLACES[figure]].value for figure in figures]


def test_it_works(owner: Person, stage: Stage, space_id: int, put_rows: Any) -> None:
    order(stage, "google_ads", "100.50")
    order(stage, "email", "20")
    order(stage, "google_ads", "30", days=40)
    put_rows(spend_row(3, "google", "25.125", clicks=10, impressions=1000, platform_conversions=2,
                       platform_revenue=150), spend_row(3, "meta", 10), spend_row(3, "billboard", 5),
             spend_row(40, "google", 10))  # fmt: skip
    page = make_page(owner, space_id)
    google = page.row("rows", "Google ads")
    assert values(google, "spend", "impressions", "clicks", "credited_conversions",
                  "credited_revenue", "roas", "cpa", "new_customers", "cac") == [
        "25.125", "1000", "10", "1", "100.5", "4", "25.125", "1", "25.125",
    ]  # fmt: skip
    assert values(google, "platform_conversions", "platform_revenue") == ["2", "150"]
    assert "151.3 %" in google[PLACES["spend"]].text
    assert values(page.row("rows", "Meta ads"), "spend", "credited_conversions", "roas") == [
        "10", "0", "0",
    ]  # fmt: skip
    ads_row = page.row("rows", "Platforms with spend")
    assert values(ads_row, "spend", "credited_revenue", "roas") == ["40.125", "100.5", "2.5047"]
    assert values(page.row("rows", "Other platforms"), "spend") == ["5"]
    assert values(page.row("rows", "All, with and without spend"), "spend", "credited_revenue") == [
        "40.125",
        "120.5",
    ]
    assert "40.13 EUR</a>" in page.html
    assert page.headlines["Spend"].value == "40.125"
    assert page.headlines["ROAS"].value == "2.5047"


def test_rows_open_into_finer_ones(owner: Person, stage: Stage, space_id: int, put_rows: Any) -> None:
    """Finer rows open below the row they belong to; spend in none of them has its own row."""
    order(stage, "google_ads", "100", campaign_id="4711", adset_id="8", ad_id="9")
    ids = {"account_id": "1", "campaign_id": "4711", "campaign_name": HOSTILE}
    put_rows(
        spend_row(3, "google", 60, **ids),
        spend_row(3, "google", 40, **ids, adset_id="8", ad_id="9"),
        spend_row(3, "meta", 7, campaign_id="other"),
        spend_row(4, "google", 5, account_id="1"),
    )
    page = make_page(owner, space_id)
    assert values(page.row("rows", "Google ads"), "spend", "credited_revenue") == ["65", "100"]
    for title, spend in (("Google ads", None), ("<script>", "60"), ("8", "40"), ("9", "40")):
        assert "<script>alert" not in page.html
        row = page.row("rows", title)
        if spend:
            assert values(row, "spend", "credited_revenue") == [spend, "100"]
        if row[0].link:
            page = PageTables(owner.browser.get(row[0].link).text)
    assert row[0].link is None
    assert values(page.row("rows", "Account level"), "spend") == ["5"]
    assert values(page.row("rows", "No ad set"), "spend") == ["20"]
    closed_link = page.row("rows", "Google ads")[0].link
    assert closed_link
    titles = [row[0].text for row in PageTables(owner.browser.get(closed_link).text).tables["rows"]]
    assert "8" not in titles


def test_rows_beyond_the_longest_list_are_counted(
    owner: Person, stage: Stage, space_id: int, put_rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaigns, "MOST_LISTED", 2)
    order(stage, "google_ads", "100", campaign_id="0")
    put_rows(*(spend_row(3, "google", number + 1, campaign_id=f"{number}") for number in range(5)))
    page = make_page(owner, space_id, "open=google")
    more = page.row("rows", "3 more rows in the totals")
    assert more[0].link
    below = owner.browser.get(html.unescape(more[0].link)).text
    assert "3 more rows are not listed" in below
    assert "platform: Google" in html.unescape(below)


def test_what_a_platform_says_leads_to_the_comparison(
    owner: Person, stage: Stage, space_id: int, put_rows: Any
) -> None:
    order(stage, "google_ads", "100")
    put_rows(spend_row(3, "google", 50, platform_conversions=3, platform_revenue=260))
    answer = owner.browser.get(f"/console/spaces/{space_id}/campaigns?columns=platform_says")
    cell = PageTables(answer.text).row("rows", "Google ads")[1]
    assert "3.0 times yours" in cell.text
    assert cell.link
    assert owner.browser.get(html.unescape(cell.link)).status_code == 200


def test_sorted_by_any_column(owner: Person, stage: Stage, space_id: int, put_rows: Any) -> None:
    """Rows without a value come last in both directions."""
    order(stage, "google_ads", "100")
    order(stage, "facebook_ads", "90")
    order(stage, "email", "500")
    put_rows(spend_row(3, "google", 50), spend_row(3, "meta", 10))

    def list_campaigns(query: str) -> list[str]:
        return [row[0].text for row in make_page(owner, space_id, query).tables["rows"][1:4]]

    assert list_campaigns("sort=roas") == ["Meta ads", "Google ads", "E-mail"]
    assert list_campaigns("sort=roas&order=ascending") == ["Google ads", "Meta ads", "E-mail"]
    assert list_campaigns("sort=credited_revenue")[0] == "E-mail"
    assert list_campaigns("sort=shoe") == list_campaigns("")


def test_columns_are_chosen_and_rows_without_spend_hidden(
    owner: Person, stage: Stage, space_id: int, put_rows: Any
) -> None:
    order(stage, "google_ads", "100")
    order(stage, "email", "20")
    put_rows(spend_row(3, "google", 50, clicks=10, impressions=1000))
    answer = owner.browser.get(f"/console/spaces/{space_id}/campaigns?columns=ctr&columns=cpc&columns=x")
    heads, *rows = PageTables(answer.text).tables["rows"]
    assert [head.text for head in heads] == ["Ads", "CTR", "CPC"]
    assert [cell.value for cell in rows[0][1:]] == ["0.01", "5"]
    assert "E-mail" not in [row[0].text for row in rows]
    assert "1 row without spend hidden" in answer.text
    usual = PageTables(owner.browser.get(f"/console/spaces/{space_id}/campaigns").text).tables["rows"][0]
    assert "ROAS" in [head.text for head in usual]
    assert "Profit" not in [head.text for head in usual], "it needs a cost rate"


@pytest.mark.parametrize(
    ("rate", "revenue", "mark"),
    [
        ("50", "210", "near"),
        ("50", "250", "good"),
        ("50", "150", "bad"),
        ("50", "180", "near"),
        ("", "250", ""),
    ],
)
def test_roas_is_compared_with_break_even(
    owner: Person, stage: Stage, put_rows: Any, rate: str, revenue: str, mark: str
) -> None:
    """With product costs of 50 %, ROAS breaks even at 2; within a tenth of that it counts as near."""
    space_id = stage.space_id
    stage.connection.execute("UPDATE spaces SET cost_rate = %s WHERE id = %s", (rate or None, space_id))
    order(stage, "google_ads", revenue)
    put_rows(spend_row(3, "google", 100))
    page = make_page(owner, space_id)
    assert ("break-even 2.00" in page.html) == bool(rate)
    assert set(re.findall(r'class="mark-(\w+)"', page.html)) == ({mark} if mark else set())


@pytest.mark.parametrize(
    "group", ["platform", "source", "campaign", "adset", "ad", "country", "week", "month"]
)
def test_all_adds_up_and_leads_to_events(
    owner: Person, stage: Stage, space_id: int, put_rows: Any, group: str
) -> None:
    draw = random.Random(group)
    fill(stage, draw)
    put_rows(*(
        spend_row(draw.randrange(60), draw.choice(["google", "meta", "fair"]),
                  Decimal(draw.randrange(10**8)) / 10**6, account_id="1",
                  **draw.choice([{}, {"campaign_id": f"c{draw.randrange(4)}"},
                                 {"campaign_id": "c1", "adset_id": "s1", "ad_id": "a1"}]))
        for _ in range(60)
    ))  # fmt: skip
    model = draw.choice(["last_touch", "linear", "u_shaped"])
    query = f"group={group}&attribution_model={model}&period=last+90+days"
    page = make_page(owner, space_id, query)
    rows = page.tables["rows"][1:]
    end = next(index for index, row in enumerate(rows) if row[0].text == "Platforms with spend")
    rows, (ads_row, *unmatched_rows, _) = rows[:end], rows[end:]
    spend = sum(Decimal(row[1].value or 0) for row in [*rows, *unmatched_rows])
    assert spend == Decimal(page.row("rows", "All, with and without spend")[1].value or 0)
    assert spend == Decimal(ads_row[1].value or 0)
    followed = 0
    for row in draw.sample(rows, min(2, len(rows))):
        for figure, title in (("credited_revenue", "Revenue"), ("new_customers", "New customers")):
            cell = row[PLACES[figure]]
            if cell.link:
                follow(owner, cell, title, (query, row[0].text))
                followed += 1
    assert followed or group == "country"
    file_text = owner.browser.get(f"/console/spaces/{space_id}/campaigns.csv?{query}").text
    assert [line["spend"] for line in csv.DictReader(file_text.splitlines())][:-1] == [
        row[1].value for row in rows
    ]


def test_contribution(owner: Person, stage: Stage, space_id: int, put_rows: Any) -> None:
    """The column appears once the Space has a cost rate, which is one of its settings."""
    order(stage, "google_ads", "100")
    put_rows(spend_row(3, "google", 20))
    assert "Profit" not in make_page(owner, space_id).headlines
    settings = f"/console/spaces/{space_id}/settings"
    refusal = owner.browser.fill(settings, settings, cost_rate="101")
    assert "must be a percentage from 0 to 100" in refusal.text.replace("Must", "must")
    assert "The settings are saved" in owner.browser.fill(settings, settings, cost_rate="12,5 %").text
    assert 'name="cost_rate" type="text" value="12.5"' in owner.browser.get(settings).text
    page = make_page(owner, space_id)
    assert values(page.row("rows", "Google ads"), "contribution") == ["67.5"]
    assert page.headlines["Profit"].value == "67.5"
    owner.browser.fill(settings, settings, cost_rate="")
    assert "Profit" not in make_page(owner, space_id).headlines


def test_profit_adds_up(owner: Person, stage: Stage, space_id: int, put_rows: Any) -> None:
    """Spend without a campaign lowers the profit too. Sources that share a bill have no profit, so the rest
    has none either.
    """
    stage.connection.execute("UPDATE spaces SET cost_rate = 40 WHERE id = %s", (space_id,))
    order(stage, "google_ads", "100", campaign_id="c1")
    put_rows(spend_row(3, "google", 50), spend_row(3, "google", 20, campaign_id="c1"))
    rest = "Not broken down by campaign"
    page = make_page(owner, space_id, "group=campaign")
    profit = [values(page.row("rows", title), "contribution") for title in ("c1", rest)]
    assert profit == [["40"], ["-30"]]
    assert values(page.row("rows", "All, with and without spend"), "contribution") == ["10"]
    page = make_page(owner, space_id, "open=google")
    assert values(page.row("rows", "Account level"), "contribution") == ["-30"]
    page = make_page(owner, space_id, "group=source")
    assert values(page.row("rows", "Not broken down by source"), "contribution") == [None]


def test_without_spend(owner: Person, stage: Stage, space_id: int, put_rows: Any) -> None:
    """The page explains how to bring in spend, or which days have some."""
    page = make_page(owner, space_id)
    assert "No spend yet" in page.html
    assert f"/console/spaces/{space_id}/orders/imports/new?kind=spend" in page.html
    assert f'href="/console/spaces/{space_id}/spend/connections"' in page.html
    put_rows(spend_row(50, "google", 3), spend_row(60, "google", 4))
    page = make_page(owner, space_id)
    assert "No spend in this period" in page.html
    assert f"start_date={days_ago(60).date()}&amp;end_date={days_ago(50).date()}" in page.html
    order(stage, "email", "20")
    assert values(make_page(owner, space_id, "group=source").row("rows", "E-mail"), "spend") == ["0"]


@pytest.mark.usefixtures("stage")
def test_left_out_spend_leads_to_where_rates_are_added(owner: Person, space_id: int, put_rows: Any) -> None:
    put_rows(spend_row(3, "google", 3), {**spend_row(3, "google", 10), "currency": "USD"})
    page = make_page(owner, space_id)
    assert "Spend of 10.00 USD left out: no exchange rate" in page.html
    day, rates = days_ago(3).date(), f"/console/spaces/{space_id}/rates"
    link = f"{rates}?base=USD&first_day={day}&last_day={day}"
    assert link.replace("&", "&amp;") in page.html
    answer = owner.browser.fill(link, f"{rates}/add", rate="0.5", currency="EUR")
    assert "Rates stored" in answer.text
    page = make_page(owner, space_id)
    assert page.headlines["Spend"].value == "8"
    assert "left out" not in page.html


@pytest.mark.parametrize("bad", ["group=shoe", "compare=shoe", "only=event:purchase", "period=x"])
def test_bad_choices(owner: Person, space_id: int, bad: str) -> None:
    for end in ("campaigns", "campaigns.csv"):
        answer = owner.browser.get(f"/console/spaces/{space_id}/{end}?{bad}")
        assert answer.status_code == 422, end
        assert end.endswith("csv") or "No report" in answer.text


def test_a_viewer_sees_it_and_imports_nothing(person: Any, space_id: int) -> None:
    page = make_page(person(Role.VIEWER), space_id)
    assert "imports/new" not in page.html
    assert NO_FIGURE not in page.headlines
