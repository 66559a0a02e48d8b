"""Overview, ads and cohorts, shared and sent by mail: the figures of the page, without personal data."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from headwater.console.scheduled_reports.schedule import Schedule
from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.console.test_campaigns import put_rows, spend_row, stage
from tests.console.test_channels import order
from tests.console.test_share_links import guest, share
from tests.support.campaigns import IS_LONG
from tests.support.factories import Stage
from tests.support.sent_reports import DAILY, MONDAYS, MONTHLY, send

__all__ = ["guest", "put_rows", "stage"]
PAGES = {
    "": ["tile=orders", "stack=channel", "only=channel:paid", "conversion=any", "open=meta&tile=roas"],
    "/campaigns": ["open=meta&columns=all", "group=campaign&sort=roas", "group=day", "unpaid=1"],
    "/cohorts": ["figure=retention", "group=campaign", "only=source:google_ads", "query_mode=company"],
}
VIEWS = [(page, query) for page, queries in PAGES.items() for query in ["", *queries]]
SENT = [
    (*view, schedule)
    for index, view in enumerate(view for view in VIEWS if "open=" not in view[1])
    for turn, schedule in enumerate((DAILY, MONDAYS))
    if IS_LONG or (index + turn) % 2 == 0
]
"""Views with their schedules; an ordinary run alternates between schedules."""
TABLES = {"": "sources", "/campaigns": "rows", "/cohorts": "cohorts"}


@pytest.fixture(autouse=True)
def shop(stage: Stage, put_rows: Any) -> None:
    """Orders of this and the previous period, including an order of a named person, and spend."""
    stage.connection.execute("UPDATE spaces SET cost_rate = 40 WHERE id = %s", (stage.space_id,))
    put_rows(
        spend_row(3, "meta", "100", campaign_id="c1"),
        spend_row(3, "google", "40"),
        spend_row(40, "meta", "70"),
    )
    order(stage, "facebook_ads", "250.50", campaign_id="c1", campaign_name="Spring")
    order(stage, "instagram_ads", "30")
    order(stage, "google_ads", "70", days=1)
    order(stage, "email", "20", days=1)
    order(stage, None, "10", days=1)
    order(stage, "facebook_ads", "90", days=40)
    ada = stage.contact(name="Ada Lovelace", email="ada@example.com")
    stage.event(ada, event_time=datetime.now(UTC), amount="5", order_id="order-of-ada")


def read_figures(html: str) -> list[str]:
    """Return the exact figures of a page, without the list of orders."""
    return re.findall(r'<data value="([^"]+)">', html.partition('id="latest"')[0])


@pytest.mark.parametrize(("page", "query"), VIEWS)
def test_a_guest_sees_the_figures_of_the_page(
    owner: Person, space_id: int, guest: Callable[[str], httpx.Response], page: str, query: str
) -> None:
    own_answer = owner.browser.get(f"/console/spaces/{space_id}{page}?{query}")
    answer = guest(share(owner, space_id, report=f"{page}?{query}"))
    assert (own_answer.status_code, answer.status_code) == (200, 200)
    assert read_figures(answer.text) == read_figures(own_answer.text)
    assert len(read_figures(answer.text)) > 5
    assert re.findall(r'href="([^"]*)"', answer.text)[2:] == ["#content"]
    for text in ("<form", "<script", "Ada", "order-of-ada", "/console/spaces"):
        assert text not in answer.text.replace("For Ada", ""), text


def test_orders_are_on_the_page_of_members_alone(
    owner: Person, space_id: int, guest: Callable[[str], httpx.Response]
) -> None:
    assert "order-of-ada" in owner.browser.get(f"/console/spaces/{space_id}").text
    assert "Latest orders" not in guest(share(owner, space_id, report="")).text


def is_shown(text: str, name: str) -> bool:
    """Return whether a cell begins with a figure, before its change."""
    return re.match(re.escape("".join(text.split())) + r"(?![\d.,])", "".join(name.split())) is not None


@pytest.mark.parametrize(("page", "query", "schedule"), SENT)
def test_a_message_has_the_figures_of_the_page_that_it_links(
    owner: Person, space_id: int, database_url: str, page: str, query: str, schedule: Schedule
) -> None:
    notice = send(database_url, space_id, page, query, schedule)
    answer = owner.browser.get(notice.link)
    assert answer.status_code == 200
    tables = PageTables(answer.text)
    assert notice.table is not None
    rows = {row[0].text.strip(): [cell.text for cell in row[1:]] for row in tables.tables[TABLES[page]]}
    if page == "/cohorts":
        cac = "CAC" if "only=" in query else "Blended CAC"
        totals = [tables.headlines[name].text for name in ("New customers", "Spend", cac, "Revenue so far")]
        rows = {title: [*cells[:3], ""] for title, cells in rows.items()} | {"All": totals}
    for title, *cells in notice.table.rows:
        for text, page_text in zip(cells, rows[title], strict=True):
            assert is_shown(text, page_text) or not page_text, (title, text, page_text)
    for tile in tables.headlines.values() if page != "/cohorts" else ():
        assert tile.text.split()[0] in f"{notice.headline} {' '.join(notice.paragraphs)}"
    assert "Ada" not in str(notice)


@pytest.mark.parametrize("page", ["", "/channels", "/campaigns", "/models"])
def test_the_headline_of_a_message_has_the_filters_of_its_page(
    space_id: int, database_url: str, page: str
) -> None:
    """All revenue of the week is 385.50."""
    notice = send(database_url, space_id, page, "only=channel:paid", MONDAYS)
    assert "350.50" in f"{notice.headline} {' '.join(notice.paragraphs)}"
    assert "385.50" not in f"{notice.headline} {' '.join(notice.paragraphs)}"


@pytest.mark.parametrize(("page", "query"), [("/campaigns", "group=campaign"), ("/models", "group=campaign")])
def test_a_message_counts_the_rows_that_it_does_not_list(
    stage: Stage, put_rows: Any, space_id: int, database_url: str, page: str, query: str
) -> None:
    for number in range(14):
        order(stage, "facebook_ads", "10", days=2, campaign_id=f"n{number}")
    put_rows(*(spend_row(2, "meta", "1", campaign_id=f"n{number}") for number in range(14)))
    table = send(database_url, space_id, page, query, MONDAYS).table
    assert table is not None
    assert [row for row in table.rows if "more row" in row[0]] == [
        [f"{3 if page == '/campaigns' else 4} more rows", *[""] * (len(table.columns) - 1)]
    ]


def test_a_message_of_cohorts_counts_the_earlier_months(
    stage: Stage, space_id: int, database_url: str
) -> None:
    order(stage, "email", "10", days=430)
    now = datetime.now(UTC)
    first_order = now - timedelta(days=430)
    months = 12 * (now.year - first_order.year) + now.month - first_order.month + 1
    table = send(database_url, space_id, "/cohorts", "period=last+1000+days", MONTHLY).table
    assert table is not None
    (first, *_), *_, (last, *_) = table.rows
    assert len(table.rows) == 1 + 12 + 1
    assert first == f"{months - 12} more rows"
    assert last == "All"


def test_a_message_of_the_overview_adds_up(stage: Stage, space_id: int, database_url: str) -> None:
    """Twelve sources have a row, the others share one."""
    for source in (
        "tiktok_ads", "pinterest_ads", "snapchat_ads", "reddit_ads", "quora_ads", "linkedin_ads", "bing_ads",
        "sms", "referral", "direct", "google_organic", "ai_chat_gpt",
    ):  # fmt: skip
        order(stage, source, "10", days=2)
    table = send(database_url, space_id, "", "", MONDAYS).table
    assert table is not None
    *rows, total = [float(row[1].replace(",", "")) for row in table.rows]
    assert len(rows) == 14
    assert sum(rows) == total


@pytest.mark.parametrize(
    ("page", "column", "total"), [("", "credited_revenue", 370.5), ("/campaigns", "spend", 140)]
)
def test_the_file_of_a_message_has_every_row(
    space_id: int, database_url: str, page: str, column: str, total: float
) -> None:
    """The last 7 days: spend by platform, and credit by source, including sources without spend."""
    notice = send(database_url, space_id, page, "", MONDAYS)
    assert notice.file is not None
    lines = list(csv.DictReader(notice.file.splitlines()))
    assert sum(float(line[column] or 0) for line in lines if "unattributed" not in line.values()) == total


def test_the_period_of_cohorts_is_that_of_the_page(owner: Person, space_id: int, database_url: str) -> None:
    notice = send(database_url, space_id, "/cohorts", "period=last+1000+days&group=channel", MONTHLY)
    assert notice.link.endswith("/cohorts?period=last+1000+days&group=channel")
    assert "Every week: " not in owner.browser.get(
        f"/console/spaces/{space_id}/alerts/reports/new?page=%2Fcohorts&query="
    ).text  # fmt: skip
