"""The changes page: a late order and a merge, explained."""

from __future__ import annotations

import html
import re
import time
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from headwater.attribution.history.revisions import Point
from headwater.reports.engine.snapshots import ReportSnapshot
from tests.console.conftest import Person
from tests.support.pipeline import DAY, Stage, event, touch


def words(page: str) -> str:
    text = re.sub("</?(?:data|span)[^>]*>", "", page)
    return html.unescape(" ".join(re.sub("<[^>]*>", " ", text).split()))


def test_it_works(owner: Person, space_id: int, connection: psycopg.Connection) -> None:
    base, shop = f"/console/spaces/{space_id}", Stage(connection, space_id)
    ada, now = {"email": "ada@example.com"}, round(time.time() * 1000)
    shop.run(touch(**ada, occurred_at=now - 12 * DAY), event(**ada, event_time=now - 10 * DAY,
                                                             amount="100"))  # fmt: skip
    shop.run(touch(tracking_id="u1", occurred_at=now - 11 * DAY, source="email"))
    let_pass(shop, timedelta(days=8))
    assert "Nothing has changed" in owner.browser.get(f"{base}/changes/since").text
    shop.run(event(**ada, tracking_id="u1", event_time=now - 9 * DAY, amount="20"))
    choices = "attribution_model=linear"
    page = words(owner.browser.get(f"{base}/changes/since?{choices}").text)
    assert "this was 100.00, now it is 120.00: a difference of +20.00" in page
    assert "Late events Earlier conversions that arrived late. 1 +20.00" in page
    assert "Merges Contacts merged because they are one person. 1 0" in page
    assert "Paid ads 100.00 60.00 -40.00 late events +10.00, merges -50.00" in page
    assert "0.00 unexplained" in page
    table = owner.browser.get(f"{base}/changes/since.csv?{choices}").text.splitlines()
    assert table[0] == "channel,part,credited_revenue"
    assert "paid,merges,-50" in table
    refusal = owner.browser.get(f"{base}/changes/since?since=nonsense")
    assert refusal.status_code == 422
    assert "must have the format YYYY-MM-DD" in refusal.text
    country_page = owner.browser.get(f"{base}/changes/since?only=country:DE")
    assert "their former states are not stored" in country_page.text


@pytest.mark.parametrize("path", ["changes/since", "campaigns/changes"])
def test_another_choice_keeps_the_day_of_a_snapshot(owner: Person, space_id: int, path: str) -> None:
    """A snapshot belongs to one report, so links to others lead to its day."""
    taken_at = datetime.now(UTC) - timedelta(days=3)
    snapshot = ReportSnapshot(
        Point(0, 0), round(taken_at.timestamp() * 1e6), 0, 0, 0, None, b"subject  ", b"euro"
    )
    page = owner.browser.get(f"/console/spaces/{space_id}/{path}?period=yesterday&since={snapshot}")
    assert page.status_code == 200, page.text
    assert dict(page.url.params)["since"] == f"{taken_at:%Y-%m-%d}"
    assert dict(page.url.params)["period"] == "yesterday"


def let_pass(shop: Stage, duration: timedelta) -> None:
    """Backdate everything that has happened so far."""
    for table, column in (("new_rows", "made_at"), ("merges", "merged_at")):
        age = f"extract(epoch FROM {column} - timestamptz 'epoch')"  # immutable, for distributed tables
        shop.connection.execute(
            f"UPDATE {table} SET {column} = to_timestamp({age} - %s) WHERE space_id = %s",
            (duration.total_seconds(), shop.space_id),
        )
