"""The page of the spend ledger: rows as they are stored, their converted amounts, and their deletion."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from headwater.console.ad_pages import ledger
from headwater.console.report_pages.figures import NO_FIGURE
from headwater.spaces.accounts.roles import Role
from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.console.test_campaigns import put_rows
from tests.console.test_changes_since import words
from tests.support.factories import Stage

__all__ = ["put_rows"]

MAY = "start_date=2026-05-01&end_date=2026-05-31"

UNREPORTED = f"{NO_FIGURE} Not in the data of the platform"


@pytest.fixture
def page(space_id: int, connection: psycopg.Connection) -> str:
    connection.execute("UPDATE spaces SET currency = 'EUR' WHERE id = %s", (space_id,))
    return f"/console/spaces/{space_id}/spend"


def spend_row(day: int, amount: Any, **columns: Any) -> dict[str, Any]:
    row = {"date": f"2026-05-{day:02}", "platform": "google", "amount": amount, "currency": "EUR"}
    return {**row, "account_id": "1", **columns}


def rows(html: str) -> list[list[str]]:
    table = PageTables(html).tables.get("ledger", [])[1:]
    return [[" ".join(cell.text.split()) for cell in row] for row in table]


def delete(person: Person, page: str, query: str, confirm: str) -> Any:
    return person.browser.fill(f"{page}?{query}", f"{page}/delete", confirm=confirm)


def test_it_works(owner: Person, page: str, put_rows: Callable[..., None]) -> None:
    put_rows(
        spend_row(13, 100),
        spend_row(13, 60, campaign_id="4711", clicks=31),
        spend_row(12, "0.5", country="DE"),
    )
    text = owner.browser.get(f"{page}?{MAY}").text
    assert [(row[0], row[3], row[7], row[8], row[10]) for row in rows(text)] == [
        ("13 May 2026", "4711", "60.00 EUR", "60.00", "31"),
        ("13 May 2026", "all", "100.00 EUR", "40.00 not broken down", UNREPORTED),
        ("12 May 2026", "all", "0.50 EUR", "0.50", UNREPORTED),
    ]
    assert "Total: 100.50 EUR ." in words(text)
    campaign_text = owner.browser.get(f"{page}?{MAY}&campaign_id=4711&platform=Google+Ads").text
    assert [row[3] for row in rows(campaign_text)] == ["4711"]
    assert "Total: 60.00 EUR ." in words(campaign_text)
    (link,) = re.findall(r'href="([^"]+/spend\.csv[^"]*)"', campaign_text)
    table = list(csv.DictReader(owner.browser.get(link.replace("&amp;", "&")).text.splitlines()))
    assert [(row["campaign_id"], row["amount"], row["clicks"]) for row in table] == [("4711", "60", "31")]


def test_decimals_are_the_currency_s(owner: Person, page: str, put_rows: Callable[..., None]) -> None:
    put_rows(spend_row(13, "12.345", currency="KWD"), spend_row(12, 1980, currency="JPY"))
    text = owner.browser.get(f"{page}?{MAY}").text
    assert [(row[7], row[8]) for row in rows(text)] == [("12.345 KWD", "12.345"), ("1,980 JPY", "1,980")]


def test_the_last_30_days_are_those_of_ads(owner: Person, page: str, put_rows: Callable[..., None]) -> None:
    today = datetime.now(UTC).date()
    put_rows(*({**spend_row(1, 2**ago), "date": f"{today - timedelta(days=ago)}"} for ago in (0, 29, 30)))
    total = 1 + 2**29
    assert f"Total: {total:,}.00 EUR" in words(owner.browser.get(page).text)
    ads = owner.browser.get(page.replace("/spend", "/campaigns")).text
    assert PageTables(ads).headlines["Spend"].value == f"{total}"


def test_the_total_of_campaigns_leads_to_what_comes_to_it(
    owner: Person, space_id: int, page: str, put_rows: Callable[..., None], connection: Any
) -> None:
    """In the currency of reports, each day at its own rate."""
    Stage(connection, space_id, "").connection.execute(
        "INSERT INTO rates (space_id, date, base, currency, rate)"
        " VALUES (%s, '2026-05-13', 'USD', 'EUR', 0.3333)",
        (space_id,),
    )
    put_rows(spend_row(13, "10.01", currency="USD"), spend_row(14, 5), spend_row(14, 7, campaign_id="1"))
    campaigns = owner.browser.get(page.replace("/spend", f"/campaigns?{MAY}")).text
    ((link, total),) = re.findall(r'<a href="([^"]+/spend\?[^"]+)">([\d.,]+) EUR</a>', campaigns)
    text = words(owner.browser.get(link.replace("&amp;", "&")).text)
    assert f"Total: {total} EUR , converted at each day" in text
    assert "7.00 EUR, 10.01 USD" in text


def test_a_missing_rate_is_named(owner: Person, page: str, put_rows: Callable[..., None]) -> None:
    put_rows(spend_row(13, 10, currency="USD"), spend_row(13, 5))
    text = words(owner.browser.get(f"{page}?{MAY}").text)
    assert "Spend of 10.00 USD left out: no exchange rate" in text
    assert "Total: 5.00 EUR , converted at each day" in text
    assert "5.00 EUR, 10.00 USD" in text


def test_pages(
    owner: Person, page: str, put_rows: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "PER_PAGE", 2)
    put_rows(*(spend_row(day, day) for day in range(1, 6)))
    first = owner.browser.get(f"{page}?{MAY}").text
    assert [row[0] for row in rows(first)] == ["5 May 2026", "4 May 2026"]
    (older,) = re.findall(r'href="([^"]+)">Earlier days', first)
    second = owner.browser.get(older.replace("&amp;", "&")).text
    assert [row[0] for row in rows(second)] == ["3 May 2026", "2 May 2026"]
    assert "Total: 15.00 EUR" in words(second)
    assert "Later days" in second


def test_rows_are_deleted_once_their_number_is_typed(
    owner: Person, page: str, put_rows: Callable[..., None]
) -> None:
    put_rows(spend_row(13, 100), spend_row(14, 60), spend_row(14, 5, platform="meta"))
    day_query = "start_date=2026-05-14&end_date=2026-05-14&platform=google"
    refusal = delete(owner, page, day_query, "3")
    assert refusal.status_code == 422
    assert "must be 1, the number of rows to delete." in refusal.text
    assert re.findall(r'id="(\w+)-refusal"', refusal.text) == ["confirm"]
    assert "are deleted" in delete(owner, page, day_query, "1").text
    remaining_rows = rows(owner.browser.get(f"{page}?{MAY}").text)
    assert [(row[0], row[1]) for row in remaining_rows] == [
        ("14 May 2026", "meta"),
        ("13 May 2026", "google"),
    ]


def test_who_only_looks_deletes_and_imports_nothing(
    person: Callable[..., Person], page: str, put_rows: Callable[..., None]
) -> None:
    put_rows(spend_row(13, 100))
    text = person(Role.VIEWER).browser.get(f"{page}?{MAY}").text
    assert len(rows(text)) == 1
    assert "Delete these rows" not in text
    assert "Import spend" not in text


def test_what_is_wrong_stands_at_its_field(owner: Person, page: str) -> None:
    for query, field in (
        ("start_date=2026-05-02&end_date=2026-05-01", "end_date"), ("currency=EURO", "currency"),
        ("start_date=May", "start_date"),
    ):  # fmt: skip
        answer = owner.browser.get(f"{page}?{query}")
        assert answer.status_code == 422
        assert re.findall(r'id="(\w+)-refusal"', answer.text) == [field]


def test_too_many_rows_are_not_added_up(
    owner: Person, page: str, put_rows: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "MOST_SUMMED", 0)
    put_rows(spend_row(13, 100))
    text = owner.browser.get(f"{page}?{MAY}").text
    assert "choose fewer days" in text
    assert rows(text)[0][8].startswith(f"{NO_FIGURE} Too many rows")
