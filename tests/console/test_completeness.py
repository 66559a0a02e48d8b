"""The completeness page, and its summary on the first page."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import psycopg

from tests.console.conftest import Person
from tests.support.factories import Stage


def sell(connection: psycopg.Connection, space_id: int) -> None:
    """Store 75 for every day immediately and 25 a day later; yesterday's 25 are still missing."""
    stage = Stage(connection, space_id, "")
    contact_id = stage.contact()
    today = datetime.combine(datetime.now(UTC).date(), time(12), UTC)
    for ago in range(71, 0, -1):
        for amount, lag in ((75, 0), (25, 1)):
            event_time = today - timedelta(days=ago)
            if lag < ago:
                stage.event(contact_id, amount=Decimal(amount), event_time=event_time, sender="api_key",
                            received_at=event_time + timedelta(days=lag))  # fmt: skip


def words(page: str) -> str:
    return html.unescape(" ".join(re.sub("<[^>]*>", " ", page).split()))


def test_it_works(owner: Person, space_id: int, connection: psycopg.Connection) -> None:
    base = f"/console/spaces/{space_id}"
    assert "Not enough data" in owner.browser.get(f"{base}/completeness").text
    assert "received by midnight" not in owner.browser.get(base).text
    sell(connection, space_id)
    yesterday = (datetime.now(UTC) - timedelta(days=1)).date()
    page = owner.browser.get(f"{base}/completeness").text
    assert f"{yesterday:%a %-d %b} 75.00 75.0 % 100.00 100.00 and 100.00" in words(page)
    assert "Based on the last 40 complete days" in words(page)
    table = owner.browser.get(f"{base}/completeness.csv").text.splitlines()
    assert table == ["day,value,share_in,expected,low,high", f"{yesterday},75,0.75,100,100,100"]
    first = owner.browser.get(base).text
    assert f"{yesterday:%-d %b %Y} is incomplete: 75.00 received by midnight" in first
    assert 'class="incomplete"' in first
    assert 'class="incomplete"' not in owner.browser.get(f"{base}?period=last+12+months").text
    refusal = owner.browser.get(f"{base}/completeness.csv?period=nonsense")
    assert refusal.status_code == 422
