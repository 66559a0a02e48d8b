"""The figures of the first page of a Space add up, belong together, or say why they are missing."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from headwater.base.dates import format_day
from headwater.console.tables import NO_FIGURE
from headwater.sources.catalogue import SOURCES
from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.console.test_campaigns import put_rows, spend_row, stage
from tests.console.test_channels import days_ago, order
from tests.console.test_foreign_amounts import note_currency
from tests.console.test_overview import Overview
from tests.support.factories import Stage

__all__ = ["put_rows", "stage"]


def test_it_works(owner: Person, stage: Stage, space_id: int, put_rows: Any) -> None:
    """The column Before has all of the previous period. Sources without credit now have rows, and count in
    their platforms.
    """
    order(stage, "facebook_ads", "100")
    order(stage, "facebook_ads", "20", days=40)
    order(stage, "instagram_ads", "30", days=40)
    order(stage, "tiktok_ads", "11", days=40)
    order(stage, "email", "7", days=40)
    order(stage, None, "3", days=40)
    put_rows(spend_row(3, "tiktok", 5))
    page = Overview(owner, space_id, "open=meta")
    before = {row[0].text: row[2].value for row in page.tables["sources"][1:]}
    assert before == {
        "Meta ads": "50", "Facebook ads": "20", "Instagram ads": "30", "TikTok ads": "11", "E-mail": "7",
        "Unattributed": "3", "All": "71",
    }  # fmt: skip
    page = Overview(owner, space_id, "open=meta&compare=none")
    assert {row[2].value for row in page.tables["sources"][1:]} == {None}


def test_the_return_on_spend_is_that_of_the_revenue_shown(
    owner: Person, stage: Stage, space_id: int, put_rows: Any
) -> None:
    """A colleague's click counts for the whole company, in every column and tile."""
    company = stage.company()
    visitor, buyer = (stage.contact(company_id=company) for _ in range(2))
    stage.touchpoint(visitor, "google_ads", occurred_at=days_ago(4), company_id=company)
    stage.event(buyer, event_time=days_ago(3), amount="100", company_id=company)
    put_rows(spend_row(3, "google", 50))
    for mode, revenue, roas in (("profile", "0", "0"), ("company", "100", "2")):
        page = Overview(owner, space_id, f"query_mode={mode}")
        google = page.row("sources", "Google ads")
        assert [google[1].value, google[-1].value, page.headlines["ROAS"].value] == [revenue, roas, roas]


def test_the_file_has_every_source(owner: Person, stage: Stage, space_id: int) -> None:
    for source in SOURCES:
        order(stage, source, "10")
    link = re.search(r'href="([^"]*report\.csv[^"]*)"', Overview(owner, space_id).html)
    assert link is not None
    assert len(owner.browser.get(html.unescape(link[1])).text.splitlines()) == 1 + len(SOURCES)


def test_money_left_out_of_either_period_is_listed(owner: Person, stage: Stage, space_id: int) -> None:
    for days, amount in ((3, "5"), (40, "6")):
        stage.event(stage.contact(), event_time=days_ago(days), amount=amount, currency="XAF")
        note_currency(stage, "XAF", days_ago(days))
    stage.event(stage.contact(), event_time=days_ago(50), amount="1")
    for page in ("", "/channels", "/campaigns", "/changes"):
        html = owner.browser.get(f"/console/spaces/{space_id}{page}").text
        assert ">1 event, 5 XAF, left out: no exchange rate." in html, page
        assert "In the compared period: 1 event, 6 XAF, left out: no exchange rate." in html, page


def test_a_comparison_with_a_period_that_events_begin_in_names_the_day(
    owner: Person, stage: Stage, space_id: int, put_rows: Any
) -> None:
    put_rows(spend_row(3, "google", "9"))
    for days in (40, 3):
        stage.event(stage.contact(), event_time=days_ago(days), amount="5")
    for page in ("", "/channels", "/campaigns", "/changes"):
        html = owner.browser.get(f"/console/spaces/{space_id}{page}").text
        assert f"events begin on {format_day(days_ago(40).date())}" in html, page


def test_with_a_filter_that_does_not_narrow_spend(
    owner: Person, stage: Stage, space_id: int, put_rows: Any
) -> None:
    """The page says so, instead of a missing spend."""
    order(stage, "google_ads", "60", keyword="tent")
    put_rows(spend_row(3, "google", 30))
    page = Overview(owner, space_id, "only=keyword:tent")
    reason = "Spend cannot be filtered by keyword"
    assert f"{reason}, so there are no ratios." in page.html
    assert f"{NO_FIGURE} {reason}." in page.headlines["ROAS"].text
    assert "No ad spend" not in page.html
    assert "don't belong together" in page.row("sources", "Google ads")[-1].text


def test_an_order_without_a_rate_has_an_amount(owner: Person, stage: Stage, space_id: int) -> None:
    stage.event(stage.contact(), event_time=days_ago(3), amount="5", currency="XAF")
    note_currency(stage, "XAF", days_ago(3))
    stage.event(stage.contact(), event_time=days_ago(4), amount=None)
    latest = Overview(owner, space_id).html.partition("Latest orders")[2]
    listed = owner.browser.get(f"/console/spaces/{space_id}/events").text
    for page in (latest, listed):
        reasons = re.findall(f'title="([^"]*)">{NO_FIGURE}', page)
        assert reasons == ["No exchange rate, or too large", "No amount"]


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


@pytest.mark.parametrize(("tile", "total"), [("spend", 75), ("roas", 0.8)])
def test_the_spend_of_one_day(
    owner: Person, stage: Stage, space_id: int, put_rows: Any, tile: str, total: float
) -> None:
    """Spend has no hours, so the chart has the day."""
    order(stage, "google_ads", "60")
    put_rows(spend_row(3, "google", 75))
    day = days_ago(3).date()
    page = Overview(owner, space_id, f"start_date={day}&end_date={day}&tile={tile}")
    assert [float(value) for value in page.chart] == [total]


def test_a_day_without_spend_has_no_ratio(owner: Person, stage: Stage, space_id: int, put_rows: Any) -> None:
    order(stage, "google_ads", "60")
    put_rows(spend_row(3, "google", 30))
    html = Overview(owner, space_id, "tile=roas").html
    assert "ROAS 2.00" in html
    assert f"ROAS {NO_FIGURE}" in html
    assert "ROAS 0.00" not in html
