"""Pages show an amount in its own currency, and converted to the Space's."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

import psycopg
import pytest

from tests.console.conftest import Person
from tests.console.test_event import page_text
from tests.support.factories import NOON, Stage


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    """A Space in dollars, with a krone worth 0.15 dollars."""
    connection.execute(
        "INSERT INTO rates (space_id, date, base, currency, rate)"
        " VALUES (%s, '2026-05-13', 'NOK', 'USD', 0.15)",
        (space_id,),
    )
    return Stage(connection, space_id, "")


def sell(stage: Stage, amount: str, currency: str | None) -> tuple[int, int, int]:
    """Store a sale, and return the ids of the event, its contact and its company."""
    company_id = stage.company()
    contact_id = stage.contact(company_id=company_id)
    event_id = stage.event(contact_id, company_id=company_id, amount=Decimal(amount), currency=currency)
    if currency is not None:
        note_currency(stage, currency, NOON)
    return event_id, contact_id, company_id


def note_currency(stage: Stage, currency: str, moment: datetime) -> None:
    """Record that a day has amounts in a currency, as the pipeline does."""
    stage.connection.execute(
        "INSERT INTO currency_days (space_id, currency, day) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        (stage.space_id, currency, moment.date()),
    )


@pytest.mark.parametrize(
    ("amount", "currency", "expected_texts"),
    [
        ("1000", "NOK", ("1,000.00 NOK", "150.00 USD in reports", "(150.00 USD)")),
        ("-0.1", "NOK", ("-0.10 NOK", "-0.02 USD in reports", "(-0.02 USD)")),
        ("5", "XAF", ("5 XAF", "not counted in reports", "(not counted in reports)")),
        ("100000000000000", "USD", ("100,000,000,000,000.00 USD", "too large", "(not counted in reports)")),
        ("12.345", "KWD", ("12.345 KWD", "not counted in reports", "(not counted in reports)")),
        ("1980", "JPY", ("1,980 JPY", "not counted in reports", "(not counted in reports)")),
        ("7", "USD", ("7.00 USD", "", "")),
        ("7", None, ("7.00 USD", "(the Space's currency)", "")),
    ],
)
def test_it_works(
    stage: Stage, owner: Person, amount: str, currency: str | None, expected_texts: tuple[str, str, str]
) -> None:
    own_amount, in_reports, in_timelines = expected_texts
    event_id, contact_id, company_id = sell(stage, amount, currency)
    base = f"/console/spaces/{stage.space_id}"

    def page(path: str) -> str:
        answer = owner.browser.get(f"{base}/{path}")
        assert answer.status_code == 200
        return page_text(answer.text)

    text = page(f"events/{event_id}")
    assert f"Purchase {own_amount}" in text
    assert in_reports in text
    for path in (f"contacts/{contact_id}", f"companies/{company_id}"):
        text = page(path)
        assert f"{own_amount} {in_timelines}".strip() in text


@pytest.mark.parametrize(
    ("currency", "amount", "shares"),
    [("KWD", "10.001", {"3.334", "3.333"}), ("JPY", "100", {"33.34", "33.33"}), ("JPY", "300", {"100"})],
)
def test_credit_adds_up_in_the_space_s_currency(
    stage: Stage, owner: Person, currency: str, amount: str, shares: set[str]
) -> None:
    stage.connection.execute("UPDATE spaces SET currency = %s WHERE id = %s", (currency, stage.space_id))
    contact_id = stage.contact()
    for hours in (1, 2, 3):
        stage.touchpoint(contact_id, "google_ads", occurred_at=NOON - timedelta(hours=hours))
    event_id = stage.event(contact_id, amount=Decimal(amount))
    text = page_text(owner.browser.get(f"/console/spaces/{stage.space_id}/events/{event_id}").text)
    assert f"Purchase {amount} {currency}" in text
    assert f"Each column adds up to {amount}." in text
    assert all(f" {share} " in text for share in shares)


def test_the_list_of_events_shows_both(stage: Stage, owner: Person) -> None:
    sell(stage, "1000", "NOK")
    period = "start_date=2026-05-01+00:00:00&end_date=2026-05-31+23:59:59&credit=all"
    answer = owner.browser.get(f"/console/spaces/{stage.space_id}/events?{period}")
    text = page_text(answer.text)
    assert "150.00 1,000.00 NOK" in text
