"""The page of spend changes: a platform's restated figures and a late order, explained."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import psycopg

from tests.console.conftest import Person
from tests.console.test_campaigns import put_rows
from tests.console.test_changes_since import let_pass, words
from tests.support.pipeline import DAY, Stage, event, touch

__all__ = ["put_rows"]


def test_it_works(
    owner: Person, space_id: int, connection: psycopg.Connection, put_rows: Callable[..., None]
) -> None:
    base, shop = f"/console/spaces/{space_id}", Stage(connection, space_id)
    connection.execute("UPDATE spaces SET currency = 'EUR' WHERE id = %s", (space_id,))
    day = f"{datetime.now(UTC).date() - timedelta(days=10)}"
    ada, now = {"email": "ada@example.com"}, round(time.time() * 1000)

    row = {"date": day, "platform": "google", "currency": "EUR", "account_id": "1",
           "campaign_id": "4711", "campaign_name": "Spring"}  # fmt: skip
    put_rows({**row, "amount": 25})
    click = touch(**ada, occurred_at=now - 12 * DAY, campaign_id="4711")
    shop.run(click, event(**ada, event_time=now - 10 * DAY, amount="100"))
    let_pass(shop, timedelta(days=8))
    assert "Nothing has changed" in owner.browser.get(f"{base}/campaigns/changes").text
    put_rows({**row, "amount": 40})
    shop.run(event(**ada, event_time=now - 9 * DAY, amount="20"))
    page = words(owner.browser.get(f"{base}/campaigns/changes?group=campaign").text)
    assert "Restated spend Newer reports from platforms" in page
    assert "google 4711 of" in page, page
    assert "+15.00 EUR" in page
    assert "Late events Earlier conversions that arrived late. 0 +1 +20.00 0" in page
    assert "ROAS 4.00 3.00 -1.00 revenue over spend" in page
    assert "Spring 25.00 40.00 100.00 120.00 4.00 3.00 restated spend +15.00" in page
    assert "0 unexplained" in page
    table = owner.browser.get(f"{base}/campaigns/changes.csv?group=campaign").text.splitlines()
    assert table[0].startswith("campaign,campaign_name,part,spend,")
    assert any(line.startswith("4711,Spring,spend_replacements,15,") for line in table)
    refusal = owner.browser.get(f"{base}/campaigns/changes?since=nonsense")
    assert refusal.status_code == 422
    assert "/campaigns/changes" in owner.browser.get(f"{base}/campaigns").text


def test_a_missing_ratio_has_its_reason(
    owner: Person, space_id: int, connection: psycopg.Connection, put_rows: Callable[..., None]
) -> None:
    connection.execute("UPDATE spaces SET currency = 'EUR' WHERE id = %s", (space_id,))
    day = f"{datetime.now(UTC).date()}"
    put_rows({"date": day, "platform": "google", "currency": "EUR", "amount": 25})
    html = owner.browser.get(f"/console/spaces/{space_id}/campaigns/changes").text
    for reason in ("No spend", "No spend, or no orders", "No spend, or no new customers"):
        assert f'title="{reason}"' in html
    assert "No amount" not in html
