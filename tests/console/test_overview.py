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
from headwater.console.tables import NO_FIGURE
from headwater.reports.questions.credits import CreditList, CreditsQuery, query_credits
from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.console.test_campaigns import put_rows, spend_row, stage
from tests.console.test_channels import HOSTILE, days_ago, order
from tests.support.factories import Stage
from tests.support.pipeline import Stage as Pipeline
from tests.support.pipeline import event, hit

__all__ = ["put_rows", "stage"]


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


def test_it_works(owner: Person, stage: Stage, space_id: int, put_rows: Any) -> None:
    order(stage, "facebook_ads", "100")
    order(stage, "instagram_ads", "50", days=4)
    order(stage, "email", "30.50")
    order(stage, None, "20")
    order(stage, "email", "10", days=40)
    put_rows(spend_row(3, "meta", 60), spend_row(3, "google", 15), spend_row(40, "meta", 5))
    page = Overview(owner, space_id)
    assert {title: cell.value for title, cell in page.headlines.items()} == {
        "Revenue": "200.5", "Orders": "4", "Ad spend": "75", "ROAS": "2", "CAC": "37.5",
        "Visits": "0", "Unattributed": "1",
    }  # fmt: skip
    meta, email = page.row("sources", "Meta ads"), page.row("sources", "E-mail")
    assert [meta[1].value, meta[3].value, meta[-2].value, meta[-1].value] == ["150", "2", "60", "2.5"]
    assert [email[1].value, email[2].value, email[-1].value] == ["30.5", "10", None]
    assert page.row("sources", "Google ads")[-2].value == "15"
    assert [page.row("sources", title)[1].value for title in ("Unattributed", "All")] == ["20", "200.5"]
    assert page.row("sources", "All")[-1].value == "2"
    assert "Latest orders" in page.html
    assert sum(map(float, page.chart)) == 200.5


@pytest.mark.parametrize("query", ["", "period=last+90+days", "date_basis=touch"])
@pytest.mark.parametrize("last_day_orders", [0, 2, 5, 7])
def test_latest_orders(owner: Person, stage: Stage, space_id: int, last_day_orders: int, query: str) -> None:
    """The page lists the five newest, whether they are from the last day or earlier."""
    now = datetime.now(UTC)
    ages = [timedelta(hours=1 + number) for number in range(last_day_orders)]
    ages += [timedelta(days=2, hours=number) for number in range(9 - last_day_orders)]
    for number, age in enumerate(ages):
        contact = stage.contact()
        stage.touchpoint(contact, "email", occurred_at=now - age - timedelta(minutes=1))
        stage.event(contact, event_time=now - age, amount="10", order_id=f"order-{number}")
    page = Overview(owner, space_id, query)
    latest = page.html.partition('<ul class="latest">')[2].partition("</ul>")[0]
    assert re.findall(r"order-\d+", latest) == [f"order-{number}" for number in range(5)]
    assert latest.count("E-mail") == 5


@pytest.mark.parametrize(("last_day_orders", "periods"), [(5, 1), (4, 2)])
def test_latest_orders_read_the_whole_period_only_if_they_must(
    owner: Person,
    stage: Stage,
    space_id: int,
    monkeypatch: pytest.MonkeyPatch,
    last_day_orders: int,
    periods: int,
) -> None:
    queries: list[CreditsQuery] = []

    async def count(connection: psycopg.AsyncConnection, space_id: int, query: CreditsQuery) -> CreditList:
        queries.append(query)
        return await query_credits(connection, space_id, query)

    monkeypatch.setattr(events, "query_credits", count)
    for hours in range(1, last_day_orders + 1):
        stage.event(stage.contact(), event_time=datetime.now(UTC) - timedelta(hours=hours), amount="10")
    Overview(owner, space_id)
    assert len(queries) == periods


@pytest.mark.parametrize(
    ("tile", "total"),
    [("orders", 3), ("spend", 75), ("unattributed", 1), ("visits", 0), ("no such tile", 120)],
)
def test_a_tile_drives_the_chart(
    owner: Person, stage: Stage, space_id: int, put_rows: Any, tile: str, total: float
) -> None:
    """The chart is daily; an unknown tile selects the first one."""
    order(stage, "google_ads", "60", days=5)
    order(stage, "google_ads", "40")
    order(stage, None, "20")
    put_rows(spend_row(3, "google", 50), spend_row(4, "google", 25))
    page = Overview(owner, space_id, f"tile={tile}")
    assert len(page.chart) == 30
    assert sum(map(float, page.chart)) == total
    link = re.search(r'href="([^"]*tile=orders[^"]*)"', page.html)
    assert tile == "orders" or link is not None


def test_a_ratio_by_day(owner: Person, stage: Stage, space_id: int, put_rows: Any) -> None:
    order(stage, "google_ads", "60")
    put_rows(spend_row(3, "google", 30), spend_row(4, "google", 10))
    chart = Overview(owner, space_id, "tile=roas").chart
    assert [value for value in chart if value] == ["0", "2"]


def test_a_platform_opens_into_its_sources(owner: Person, stage: Stage, space_id: int) -> None:
    order(stage, "facebook_ads", "100")
    order(stage, "instagram_ads", "50")
    order(stage, "google_ads", "7")
    page = Overview(owner, space_id)
    toggle = page.row("sources", "Meta ads")[0].link
    assert toggle
    open_page = PageTables(owner.browser.get(html.unescape(toggle)).text)
    rows = [row[0].text for row in open_page.tables["sources"]]
    assert rows[1:4] == ["Meta ads", "Facebook ads", "Instagram ads"]
    assert [open_page.row("sources", title)[1].value for title in rows[1:4]] == ["150", "100", "50"]
    assert "open=" not in (page.row("sources", "Google ads")[0].link or "")


def test_sources_of_the_same_value_are_in_the_order_of_their_spend(
    owner: Person, stage: Stage, space_id: int, put_rows: Any
) -> None:
    for source in ("email", "facebook_ads", "google_ads"):
        order(stage, source, "10")
    put_rows(spend_row(3, "meta", 5), spend_row(3, "google", 15))
    rows = [row[0].text for row in Overview(owner, space_id).tables["sources"]]
    assert rows[1:4] == ["Google ads", "Meta ads", "E-mail"]


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
            for title in ("Meta ads", "Facebook ads", "Instagram ads", "Google ads", "All")}  # fmt: skip
    assert rows == {
        "Meta ads": ["4", "0.5"], "Facebook ads": ["3", "0.3333"], "Instagram ads": ["1", "1"],
        "Google ads": ["2", "0.5"], "All": ["6", "0.5"],
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


def test_every_missing_figure_has_a_reason(owner: Person, stage: Stage, space_id: int, put_rows: Any) -> None:
    order(stage, "facebook_ads", "100")
    order(stage, "email", "30.50", days=40)
    order(stage, None, "20")
    put_rows(spend_row(3, "google", 15, campaign_id="1"), spend_row(40, "meta", 5))
    ends = (
        "", "?conversion=lead_generated", "?compare=none", "/channels", "/channels?compare=none", "/models",
        "/paths", "/campaigns?unpaid=1&columns=all", "/campaigns?open=google&unpaid=1",
        "/campaigns?group=campaign", "/cohorts", "/cohorts?group=source", "/ads/comparison", "/spend",
        "/events", "/events?conversion=any", "/self-reported",
    )  # fmt: skip
    dashes = 0
    for end in ends:
        page = owner.browser.get(f"/console/spaces/{space_id}{end}").text.partition("<main")[2]
        for before, after in re.findall(rf"(<[^>]*>)\s*{NO_FIGURE}\s*(<[^>]*>)", page):
            dashes += 1
            assert re.search('title="[^"]+"', before), end
            assert after == '<span class="sr">', end
    assert dashes > 20


def test_figures_lead_to_their_events(owner: Person, stage: Stage, space_id: int) -> None:
    order(stage, "facebook_ads", "100")
    order(stage, "email", "50")
    link = Overview(owner, space_id).row("sources", "Meta ads")[1].link
    assert link
    events = PageTables(owner.browser.get(html.unescape(link)).text)
    assert events.headlines["Their amounts"].value == "100"


def test_stacked_by_channel(owner: Person, stage: Stage, space_id: int) -> None:
    order(stage, "facebook_ads", "100")
    order(stage, "email", "50")
    page = Overview(owner, space_id, "stack=channel")
    assert "Paid ads</li>" in page.html
    assert "Other and unattributed" in page.html


def test_with_a_filter_that_spend_lacks(owner: Person, stage: Stage, space_id: int, put_rows: Any) -> None:
    """Spend has no country, so no tile or column of spend can be right."""
    order(stage, "google_ads", "60")
    put_rows(spend_row(3, "google", 30))
    page = Overview(owner, space_id, "only=customer:new")
    assert page.headlines["Revenue"].value == "60"
    assert "Ad spend" not in page.headlines
    assert page.row("sources", "All")[-1].value is None


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


@pytest.mark.parametrize("query", ["tile=%00", f"open={HOSTILE}", "stack=x", "open=a/b/c", "tile=a&tile=b"])
def test_odd_parameters_show_the_default(owner: Person, stage: Stage, space_id: int, query: str) -> None:
    order(stage, "google_ads", "60")
    page = Overview(owner, space_id, query)
    assert "<script>alert" not in page.html
    assert page.headlines["Revenue"].value == "60"


def test_an_empty_space_is_shown_what_to_connect(owner: Person, space_id: int) -> None:
    assert owner.browser.get(f"/console/spaces/{space_id}").url.path.endswith("/setup")
