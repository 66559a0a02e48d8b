"""The first page of a Space: tiles that drive the chart, sources by name with their spend, the latest orders.
Its figures equal `GET /reports` and the linked pages.
"""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from headwater.console.report_pages import events
from headwater.console.tables import NONE
from headwater.reports.questions.credits import CreditList, CreditsQuery, query_credits
from headwater.sources.catalogue import SOURCES
from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.console.test_campaigns import put, spent, stage
from tests.console.test_channels import HOSTILE, days_ago, order
from tests.console.test_foreign_amounts import note_currency
from tests.support.factories import Stage
from tests.support.pipeline import Stage as Pipeline
from tests.support.pipeline import event, hit

__all__ = ["put", "stage"]


class Overview(PageTables):
    def __init__(self, person: Person, space_id: int, query: str = "") -> None:
        answer = person.browser.get(f"/console/spaces/{space_id}?{query}")
        assert answer.status_code == 200, answer.text
        super().__init__(answer.text)

    def figures(self, title: str) -> list[str | None]:
        return [cell.value for cell in self.row("sources", title)[1:]]

    @property
    def chart(self) -> list[str]:
        """Return the values of the chart's time buckets."""
        return [row[1].value or "" for row in self.tables["chart"][1:]]


def test_it_works(owner: Person, stage: Stage, space_id: int, put: Any) -> None:
    order(stage, "facebook_ads", "100")
    order(stage, "instagram_ads", "50", days=4)
    order(stage, "email", "30.50")
    order(stage, None, "20")
    order(stage, "email", "10", days=40)
    put(spent(3, "meta", 60), spent(3, "google", 15), spent(40, "meta", 5))
    page = Overview(owner, space_id)
    assert {title: cell.value for title, cell in page.headlines.items()} == {
        "Revenue": "200.5", "Orders": "4", "Ad spend": "75", "ROAS": "2", "CAC": "37.5",
        "Visits": "0", "Unattributed": "1",
    }  # fmt: skip
    meta, email = page.row("sources", "Meta Ads"), page.row("sources", "E-mail")
    assert [meta[1].value, meta[3].value, meta[-2].value, meta[-1].value] == ["150", "2", "60", "2.5"]
    assert [email[1].value, email[2].value, email[-1].value] == ["30.5", "10", None]
    assert page.row("sources", "Google Ads")[-2].value == "15"
    assert [page.row("sources", title)[1].value for title in ("Unattributed", "All")] == ["20", "200.5"]
    assert page.row("sources", "All")[-1].value == "2"
    assert "Latest orders" in page.html
    assert sum(map(float, page.chart)) == 200.5


@pytest.mark.parametrize("query", ["", "period=last+90+days", "date_basis=touch"])
@pytest.mark.parametrize("of_last_day", [0, 2, 5, 7])
def test_latest_orders(owner: Person, stage: Stage, space_id: int, of_last_day: int, query: str) -> None:
    """The page lists the five newest, whether they are from the last day or earlier."""
    now = datetime.now(UTC)
    ages = [timedelta(hours=1 + number) for number in range(of_last_day)]
    ages += [timedelta(days=2, hours=number) for number in range(9 - of_last_day)]
    for number, age in enumerate(ages):
        contact = stage.contact()
        stage.touchpoint(contact, "email", occurred_at=now - age - timedelta(minutes=1))
        stage.event(contact, event_time=now - age, amount="10", order_id=f"order-{number}")
    page = Overview(owner, space_id, query)
    latest = page.html.partition('<ul class="latest">')[2].partition("</ul>")[0]
    assert re.findall(r"order-\d+", latest) == [f"order-{number}" for number in range(5)]
    assert latest.count("E-mail") == 5


@pytest.mark.parametrize(("of_last_day", "periods"), [(5, 1), (4, 2)])
def test_latest_orders_read_the_whole_period_only_if_they_must(
    owner: Person,
    stage: Stage,
    space_id: int,
    monkeypatch: pytest.MonkeyPatch,
    of_last_day: int,
    periods: int,
) -> None:
    queries: list[CreditsQuery] = []

    async def count(connection: psycopg.AsyncConnection, space_id: int, query: CreditsQuery) -> CreditList:
        queries.append(query)
        return await query_credits(connection, space_id, query)

    monkeypatch.setattr(events, "query_credits", count)
    for hours in range(1, of_last_day + 1):
        stage.event(stage.contact(), event_time=datetime.now(UTC) - timedelta(hours=hours), amount="10")
    Overview(owner, space_id)
    assert len(queries) == periods


@pytest.mark.parametrize(
    ("tile", "total"),
    [("orders", 3), ("spend", 75), ("unattributed", 1), ("visits", 0), ("no such tile", 120)],
)
def test_a_tile_drives_the_chart(
    owner: Person, stage: Stage, space_id: int, put: Any, tile: str, total: float
) -> None:
    """The chart is daily; an unknown tile selects the first one."""
    order(stage, "google_ads", "60", days=5)
    order(stage, "google_ads", "40")
    order(stage, None, "20")
    put(spent(3, "google", 50), spent(4, "google", 25))
    page = Overview(owner, space_id, f"tile={tile}")
    assert len(page.chart) == 30
    assert sum(map(float, page.chart)) == total
    link = re.search(r'href="([^"]*tile=orders[^"]*)"', page.html)
    assert tile == "orders" or link is not None


def test_a_ratio_by_day(owner: Person, stage: Stage, space_id: int, put: Any) -> None:
    order(stage, "google_ads", "60")
    put(spent(3, "google", 30), spent(4, "google", 10))
    chart = Overview(owner, space_id, "tile=roas").chart
    assert [value for value in chart if value] == ["0", "2"]


@pytest.mark.parametrize(("tile", "total"), [("spend", 75), ("roas", 0.8)])
def test_the_spend_of_one_day(
    owner: Person, stage: Stage, space_id: int, put: Any, tile: str, total: float
) -> None:
    """Spend has no hours, so the chart has the day."""
    order(stage, "google_ads", "60")
    put(spent(3, "google", 75))
    day = days_ago(3).date()
    page = Overview(owner, space_id, f"start_date={day}&end_date={day}&tile={tile}")
    assert [float(value) for value in page.chart] == [total]


def test_a_day_without_spend_has_no_ratio(owner: Person, stage: Stage, space_id: int, put: Any) -> None:
    order(stage, "google_ads", "60")
    put(spent(3, "google", 30))
    html = Overview(owner, space_id, "tile=roas").html
    assert "ROAS 2.00" in html
    assert f"ROAS {NONE}" in html
    assert "ROAS 0.00" not in html


@pytest.mark.parametrize("page", ["", "/channels"])
def test_a_day_is_compared_with_the_same_date_a_year_earlier(
    owner: Person, stage: Stage, space_id: int, page: str
) -> None:
    """The leap day has no counterpart, and moves no later day."""
    for day, amount in (("2024-02-29", "8"), ("2024-03-01", "7"), ("2025-03-01", "5")):
        stage.event(stage.contact(), event_time=f"{day} 12:00:00+00", amount=amount)
    query = "start_date=2025-02-27&end_date=2025-03-02&compare=previous_year"
    tables = PageTables(owner.browser.get(f"/console/spaces/{space_id}{page}?{query}").text).tables
    rows = tables["course" if page else "chart"][1:]
    assert [row[-1].value for row in rows] == ["0", "0", "7", "0"]


def test_the_column_before_has_all_of_the_previous_period(
    owner: Person, stage: Stage, space_id: int, put: Any
) -> None:
    """Sources without credit now have rows, and count in their platforms."""
    order(stage, "facebook_ads", "100")
    order(stage, "facebook_ads", "20", days=40)
    order(stage, "instagram_ads", "30", days=40)
    order(stage, "tiktok_ads", "11", days=40)
    order(stage, "email", "7", days=40)
    order(stage, None, "3", days=40)
    put(spent(3, "tiktok", 5))
    page = Overview(owner, space_id, "open=meta")
    before = {row[0].text: row[2].value for row in page.tables["sources"][1:]}
    assert before == {
        "Meta Ads": "50", "Facebook ads": "20", "Instagram ads": "30", "TikTok Ads": "11", "E-mail": "7",
        "Unattributed": "3", "All": "71",
    }  # fmt: skip
    page = Overview(owner, space_id, "open=meta&compare=none")
    assert {row[2].value for row in page.tables["sources"][1:]} == {None}


def test_the_file_has_every_source(owner: Person, stage: Stage, space_id: int) -> None:
    for source in SOURCES:
        order(stage, source, "10")
    link = re.search(r'href="([^"]*report\.csv[^"]*)"', Overview(owner, space_id).html)
    assert link is not None
    assert len(owner.browser.get(html.unescape(link[1])).text.splitlines()) == 1 + len(SOURCES)


def test_the_return_on_spend_is_that_of_the_revenue_shown(
    owner: Person, stage: Stage, space_id: int, put: Any
) -> None:
    """A colleague's click counts for the whole company, in every column and tile."""
    company = stage.company()
    visitor, buyer = (stage.contact(company_id=company) for _ in range(2))
    stage.touchpoint(visitor, "google_ads", occurred_at=days_ago(4), company_id=company)
    stage.event(buyer, event_time=days_ago(3), amount="100", company_id=company)
    put(spent(3, "google", 50))
    for mode, revenue, roas in (("profile", "0", "0"), ("company", "100", "2")):
        page = Overview(owner, space_id, f"query_mode={mode}")
        google = page.row("sources", "Google Ads")
        assert [google[1].value, google[-1].value, page.headlines["ROAS"].value] == [revenue, roas, roas]


def test_money_left_out_of_either_period_is_listed(owner: Person, stage: Stage, space_id: int) -> None:
    for days, amount in ((3, "5"), (40, "6")):
        stage.event(stage.contact(), event_time=days_ago(days), amount=amount, currency="XAF")
        note_currency(stage, "XAF", days_ago(days))
    stage.event(stage.contact(), event_time=days_ago(50), amount="1")
    for page in ("", "/channels", "/campaigns", "/changes"):
        html = owner.browser.get(f"/console/spaces/{space_id}{page}").text
        assert ">1 event, 5.00 XAF, left out: no exchange rate." in html, page
        assert "In the compared period: 1 event, 6.00 XAF, left out: no exchange rate." in html, page


def test_a_platform_opens_into_its_sources(owner: Person, stage: Stage, space_id: int) -> None:
    order(stage, "facebook_ads", "100")
    order(stage, "instagram_ads", "50")
    order(stage, "google_ads", "7")
    page = Overview(owner, space_id)
    toggle = page.row("sources", "Meta Ads")[0].link
    assert toggle
    open_page = PageTables(owner.browser.get(html.unescape(toggle)).text)
    rows = [row[0].text for row in open_page.tables["sources"]]
    assert rows[1:4] == ["Meta Ads", "Facebook ads", "Instagram ads"]
    assert [open_page.row("sources", title)[1].value for title in rows[1:4]] == ["150", "100", "50"]
    assert "open=" not in (page.row("sources", "Google Ads")[0].link or "")


def test_sources_of_the_same_value_are_in_the_order_of_their_spend(
    owner: Person, stage: Stage, space_id: int, put: Any
) -> None:
    for source in ("email", "facebook_ads", "google_ads"):
        order(stage, source, "10")
    put(spent(3, "meta", 5), spent(3, "google", 15))
    rows = [row[0].text for row in Overview(owner, space_id).tables["sources"]]
    assert rows[1:4] == ["Google Ads", "Meta Ads", "E-mail"]


def test_the_rate_of_a_platform_is_that_of_all_its_visits(
    owner: Person, connection: psycopg.Connection, space_id: int
) -> None:
    """Two of four visits through Meta led to an order: one of three through Facebook, one through
    Instagram.
    """
    visits = [("facebook", 3), ("instagram", 1), ("google", 2)]
    moment = round(days_ago(3).timestamp() * 1000)
    items: list[Any] = []
    for network, count in visits:
        url = f"https://shop.example/?utm_source={network}&utm_medium=cpc"
        items += [hit(trk_token=f"{network}-{n}", occurred_at=moment, url=url) for n in range(count)]
        items.append(event(trk_token=f"{network}-0", event_time=moment + 60_000, amount="10"))
    Pipeline(connection, space_id).run(*items)
    rows = {title: Overview(owner, space_id, "open=meta").figures(title)[3:5]
            for title in ("Meta Ads", "Facebook ads", "Instagram ads", "Google Ads", "All")}  # fmt: skip
    assert rows == {
        "Meta Ads": ["4", "0.5"], "Facebook ads": ["3", "0.3333"], "Instagram ads": ["1", "1"],
        "Google Ads": ["2", "0.5"], "All": ["6", "0.5"],
    }  # fmt: skip


def test_visitors_on_the_site_now(owner: Person, connection: psycopg.Connection, space_id: int) -> None:
    stage = Stage(connection, space_id, "")
    order(stage, "email", "10")
    assert "on the site now" not in Overview(owner, space_id).html
    now = datetime.now(UTC)
    for minutes in (1, 2, 3, 40):
        contact = stage.contact()
        visit = stage.visit(contact)
        for earlier in (0, 1):
            stage.hit(contact, visit, occurred_at=now - timedelta(minutes=minutes + earlier))
    assert f'href="/console/spaces/{space_id}/live"><span' in Overview(owner, space_id).html
    assert "3 on the site now" in Overview(owner, space_id).html


def test_every_missing_figure_has_a_reason(owner: Person, stage: Stage, space_id: int, put: Any) -> None:
    order(stage, "facebook_ads", "100")
    order(stage, "email", "30.50", days=40)
    order(stage, None, "20")
    put(spent(3, "google", 15, campaign_id="1"), spent(40, "meta", 5))
    ends = (
        "", "?conversion=lead_generated", "?compare=none", "/channels", "/channels?compare=none", "/models",
        "/paths", "/campaigns?unpaid=1&columns=all", "/campaigns?open=google&unpaid=1",
        "/campaigns?group=campaign", "/cohorts", "/cohorts?group=source", "/ads/comparison", "/spend",
        "/events", "/events?conversion=any", "/self-reported",
    )  # fmt: skip
    dashes = 0
    for end in ends:
        page = owner.browser.get(f"/console/spaces/{space_id}{end}").text.partition("<main")[2]
        for before, after in re.findall(rf"(<[^>]*>)\s*{NONE}\s*(<[^>]*>)", page):
            dashes += 1
            assert re.search('title="[^"]+"', before), end
            assert after == '<span class="sr">', end
    assert dashes > 20


def test_figures_lead_to_their_events(owner: Person, stage: Stage, space_id: int) -> None:
    order(stage, "facebook_ads", "100")
    order(stage, "email", "50")
    link = Overview(owner, space_id).row("sources", "Meta Ads")[1].link
    assert link
    events = PageTables(owner.browser.get(html.unescape(link)).text)
    assert events.headlines["Their amounts"].value == "100"


def test_stacked_by_channel(owner: Person, stage: Stage, space_id: int) -> None:
    order(stage, "facebook_ads", "100")
    order(stage, "email", "50")
    page = Overview(owner, space_id, "stack=channel")
    assert "Paid ads</li>" in page.html
    assert "Other and unattributed" in page.html


def test_with_a_filter_that_spend_lacks(owner: Person, stage: Stage, space_id: int, put: Any) -> None:
    """Spend has no country, so no tile or column of spend can be right."""
    order(stage, "google_ads", "60")
    put(spent(3, "google", 30))
    page = Overview(owner, space_id, "only=customer:new")
    assert page.headlines["Revenue"].value == "60"
    assert "Ad spend" not in page.headlines
    assert page.row("sources", "All")[-1].value is None


def test_with_a_filter_that_does_not_narrow_spend(
    owner: Person, stage: Stage, space_id: int, put: Any
) -> None:
    """The page says so, instead of a missing spend."""
    order(stage, "google_ads", "60", keyword="tent")
    put(spent(3, "google", 30))
    page = Overview(owner, space_id, "only=keyword:tent")
    reason = "Spend cannot be filtered by keyword"
    assert f"{reason}, so there are no ratios." in page.html
    assert f"{NONE} {reason}." in page.headlines["ROAS"].text
    assert "No ad spend" not in page.html
    assert "don't belong together" in page.row("sources", "Google Ads")[-1].text


def test_an_order_without_a_rate_has_an_amount(owner: Person, stage: Stage, space_id: int) -> None:
    stage.event(stage.contact(), event_time=days_ago(3), amount="5", currency="XAF")
    note_currency(stage, "XAF", days_ago(3))
    stage.event(stage.contact(), event_time=days_ago(4), amount=None)
    latest = Overview(owner, space_id).html.partition("Latest orders")[2]
    listed = owner.browser.get(f"/console/spaces/{space_id}/events").text
    for page in (latest, listed):
        reasons = re.findall(f'title="([^"]*)">{NONE}', page)
        assert reasons == ["No exchange rate, or too large", "No amount"]


def test_other_conversions(owner: Person, stage: Stage, space_id: int) -> None:
    stage.event(stage.contact(), event_name="sign_up", amount=None, event_time=days_ago(3))
    page = Overview(owner, space_id, "conversion=sign_up")
    assert page.headlines["Conversions"].value == "1"
    assert "Revenue" not in page.headlines


def test_a_name_that_is_not_listed(owner: Person, stage: Stage, space_id: int) -> None:
    """A typed name is translated to its key; for an unknown name the nearest one is suggested."""
    order(stage, "facebook_ads", "100")
    order(stage, "email", "50")
    page = Overview(owner, space_id, "filter=source&key=Facebook+ads")
    assert page.headlines["Revenue"].value == "100"
    wrong = owner.browser.get(f"/console/spaces/{space_id}?filter=source&key=facebok_ads")
    assert wrong.status_code == 422
    assert "Did you mean source: Facebook ads?" in wrong.text


@pytest.mark.parametrize("odd", ["tile=%00", f"open={HOSTILE}", "stack=x", "open=a/b/c", "tile=a&tile=b"])
def test_odd_choices(owner: Person, stage: Stage, space_id: int, odd: str) -> None:
    order(stage, "google_ads", "60")
    page = Overview(owner, space_id, odd)
    assert "<script>alert" not in page.html
    assert page.headlines["Revenue"].value == "60"


def test_an_empty_space_is_shown_what_to_connect(owner: Person, space_id: int) -> None:
    assert owner.browser.get(f"/console/spaces/{space_id}").url.path.endswith("/setup")
