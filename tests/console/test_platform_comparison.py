"""The page of a platform comparison: its steps, and the report that counts in the platform's way."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from headwater.spaces.accounts.roles import Role
from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.console.test_campaigns import put_rows, spend_row, stage
from tests.console.test_channels import days_ago, order
from tests.support.factories import Stage

__all__ = ["put_rows", "stage"]
VALUE = re.compile(r'<data value="([^"]*)">')


def rows(page: str) -> dict[str, list[str]]:
    """Return the figures of each line by its title."""
    table = PageTables(page).tables["steps"]
    return {row[0].text: [cell.value or "" for cell in row[2:]] for row in table[1:]}


@pytest.fixture
def space(stage: Stage, put_rows: Any) -> Stage:
    """Orders through Google: one within its window, one credited to an e-mail, one partly refunded."""
    order(stage, "google_ads", "100")
    order(stage, "google_ads", "50")
    contact_id = stage.contact()
    for source, days in (("google_ads", 6), ("email", 5)):
        stage.touchpoint(contact_id, source, occurred_at=days_ago(days))
    stage.event(contact_id, amount="30", event_time=days_ago(4))
    stage.event(contact_id, amount="-10", event_time=days_ago(3))
    put_rows(
        spend_row(3, "google", 25, platform_conversions=5, platform_revenue="250.50"),
        spend_row(3, "meta", 10),
    )
    return stage


@pytest.mark.usefixtures("space")
def test_it_works(owner: Person, space_id: int) -> None:
    path = f"/console/spaces/{space_id}/ads/comparison"
    page = owner.browser.get(path)
    assert page.status_code == 200, page.text
    assert rows(page.text) == {
        "Google ads says": ["5", "250.5"],
        "Views, modelled conversions, orders it was not sent": ["-2", "-70.5"],
        "Counted as Google ads does": ["3", "180"],
        "Same window, 30 days": ["0", "0"],
        "By date of the order": ["0", "0"],
        "Refunds": ["0", "-10"],
        "Credited to other sources by your model": ["-1", "-20"],
        "Credited by last non-direct touch": ["2", "150"],
    }
    link = re.search(r'href="([^"]*)">Count as Google ads does', page.text)
    assert link is not None
    report = owner.browser.get(html.unescape(link[1]))
    assert report.status_code == 200
    assert VALUE.findall(report.text)[:2] == ["180", "3"]
    csv = owner.browser.get(f"{path}.csv?platform=google")
    assert csv.text.splitlines()[-1] == "credited,2,150"


@pytest.mark.usefixtures("space")
def test_another_platform_and_window(owner: Person, space_id: int) -> None:
    path = f"/console/spaces/{space_id}/ads/comparison"
    page = owner.browser.get(f"{path}?platform=meta&click_window=1").text
    assert "Meta ads reported no conversions in this period" in page
    assert rows(page)["Counted as Meta ads does"] == ["0", "0"]
    assert "Window of 30 days instead of 1 day" in rows(page)
    refusal = owner.browser.get(f"{path}?platform=metta")
    assert refusal.status_code == 422
    assert "metta" in refusal.text
    assert owner.browser.get(f"{path}?click_window=8").status_code == 422


def test_without_spend_the_page_says_what_to_import(owner: Person, space_id: int) -> None:
    page = owner.browser.get(f"/console/spaces/{space_id}/ads/comparison").text
    assert "No ad spend in this period" in page
    assert "kind=spend" in page


@pytest.mark.usefixtures("space")
def test_a_viewer_sees_it_without_imports(person: Any, space_id: int) -> None:
    viewer = person(Role.VIEWER)
    page = viewer.browser.get(f"/console/spaces/{space_id}/ads/comparison?platform=meta")
    assert page.status_code == 200
    assert "Import spend</a>" not in page.text


@pytest.mark.usefixtures("space")
def test_deliveries_that_the_platform_did_not_accept(owner: Person, stage: Stage, space_id: int) -> None:
    events = stage.connection.execute(
        "SELECT id FROM events WHERE space_id = %s AND amount > 0 ORDER BY id", (space_id,)
    ).fetchall()
    destination = stage.destination(platform="google")
    for (event_id,), status in zip(events, ("delivered", "failed", "skipped"), strict=True):
        stage.add_delivery(destination, event_id, status=status)
    page = owner.browser.get(f"/console/spaces/{space_id}/ads/comparison").text
    assert "2 are not accepted yet: 1 failed, 1 skipped" in page
