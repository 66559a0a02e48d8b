"""Reports over events in several currencies: each amount is converted at its own day's rate, or left out."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import httpx
import msgspec
import pytest

from tests.support.campaigns import campaign_size
from tests.support.factories import Stage
from tests.support.pipeline import Stage as Pipeline
from tests.support.reading_fixtures import Api

MAY = {"start_date": "2026-05-01 00:00:00", "end_date": "2026-05-31 23:59:59"}
FIRST = date(2026, 4, 30).toordinal()
HISTORIES = campaign_size("HEADWATER_HISTORIES", 2, 1000)


def rate(day: str, base: str, currency: str, value: float | str) -> dict[str, Any]:
    return {"date": day, "base": base, "currency": currency, "rate": value}


def put_rates(api: Api, *rates: Any) -> httpx.Response:
    return api.send("PUT", "/rates", json={"rates": rates})


def sale(stage: Stage, day: str, amount: str | float, currency: str | None, **columns: Any) -> int:
    """Store a sale as the pipeline does."""
    event_id = stage.event(
        columns.pop("contact_id", None) or stage.contact(), event_name="purchase",
        event_time=f"{day} 12:00:00+00", amount=amount, currency=currency, **columns,
    )  # fmt: skip
    if currency:
        stage.connection.execute(
            "INSERT INTO currency_days (space_id, currency, day) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            (stage.space_id, currency, day),
        )
    return event_id


def report(api: Api, status: int = 200, **params: Any) -> dict[str, Any]:
    query_parameters = {"measures": ["events", "revenue"], "group_by": "none", **MAY, **params}
    response = api.get("/reports", params=query_parameters)
    assert response.status_code == status, response.text
    return msgspec.json.decode(response.content)


@pytest.fixture
def space(stage: Stage) -> Stage:
    """A Space in euros."""
    stage.connection.execute(
        "UPDATE spaces SET currency = 'EUR', timezone = 'UTC' WHERE id = %s", (stage.space_id,)
    )
    return stage


def test_it_works(api: Api, space: Stage) -> None:
    sale(space, "2026-05-13", 100, None)
    sale(space, "2026-05-13", 50, "EUR")
    sale(space, "2026-05-13", 10, "USD")
    answer = report(api)
    assert answer["totals"] == {"events": 3, "revenue": 150}
    day = {"first_day": "2026-05-13", "last_day": "2026-05-13"}
    assert answer["left_out_money"] == [
        {"currency": "USD", "events": 1, "amount": 10, "reason": "no_rate", **day}
    ]
    put_rates(api, rate("2026-05-13", "EUR", "USD", 1.25), rate("2026-05-12", "EUR", "USD", 2))
    answer = report(api)
    assert (answer["currency"], answer["totals"]["revenue"]) == ("EUR", 158)
    assert answer["left_out_money"] == []
    answer = report(api, currency="usd")
    assert (answer["currency"], answer["totals"]["revenue"]) == ("USD", 197.5)


def test_an_order_without_a_rate_is_still_an_order(api: Api, space: Stage) -> None:
    """An event's type doesn't depend on whether its money counts."""
    sale(space, "2026-05-13", 10, "USD")
    sale(space, "2026-05-13", -4, "USD")
    counts = {"orders": 1, "refund_count": 1, "new_customers": 1, "contacts": 1}
    assert report(api, measures=[*counts])["totals"] == counts
    money = {"revenue": 0, "average_order_value": 0, "credited_revenue": 0}
    assert report(api, measures=[*counts, *money])["totals"] == counts | money
    assert report(api, amount_min=5)["totals"]["events"] == 0
    rows = report(api, measures=["events", "revenue"], group_by="customer")["rows"]
    assert sorted(rows, key=str) == [["new", 1, 0], [None, 1, 0]]


def test_an_amount_that_rounds_to_nothing_makes_an_order_all_the_same(api: Api, space: Stage) -> None:
    put_rates(api, rate("2026-05-13", "EUR", "JPY", 160))
    sale(space, "2026-05-13", "0.1", "JPY")
    answer = report(api, measures=["orders", "revenue", "new_customers"])
    assert answer["totals"] == {"orders": 1, "revenue": 0, "new_customers": 1}
    assert answer["left_out_money"] == []
    assert report(api, amount_max=0)["totals"]["events"] == 1


def test_each_sale_has_the_rate_of_its_own_day_and_a_day_without_the_latest_before(
    api: Api, space: Stage
) -> None:
    put_rates(api, rate("2026-05-08", "USD", "EUR", "0.5"), rate("2026-05-11", "USD", "EUR", "1"))
    for day in ("2026-05-08", "2026-05-10", "2026-05-11", "2026-05-18"):
        sale(space, day, 10, "USD")
    days = report(api, group_by="day")
    assert [(row[0], row[-1]) for row in days["rows"]] == [
        ("2026-05-08", 5), ("2026-05-10", 5), ("2026-05-11", 10), ("2026-05-18", 10),
    ]  # fmt: skip
    sale(space, "2026-05-19", 10, "USD")
    assert report(api, group_by="day")["left_out_money"][0]["first_day"] == "2026-05-19"


def test_the_day_is_that_of_the_spaces_clock(api: Api, space: Stage) -> None:
    space.connection.execute("UPDATE spaces SET timezone = 'Asia/Tokyo' WHERE id = %s", (space.space_id,))
    put_rates(api, rate("2026-05-13", "USD", "EUR", 2), rate("2026-05-14", "USD", "EUR", 3))
    event_id = sale(space, "2026-05-13", 10, "USD")
    space.connection.execute(
        "UPDATE events SET event_time = '2026-05-13 20:00:00+00' WHERE space_id = %s AND id = %s",
        (space.space_id, event_id),
    )
    assert report(api)["totals"]["revenue"] == 30


def test_only_money_that_could_count_is_named(api: Api, space: Stage) -> None:
    """No money after the period is listed, nor after the window of its touches."""
    contact_id = space.contact()
    space.touchpoint(contact_id, "google_ads", occurred_at="2026-05-12 12:00:00+00")
    sale(space, "2026-05-13", 100, None, contact_id=contact_id)
    sale(space, "2026-05-14", 10, "USD", contact_id=contact_id)
    day = {"start_date": "2026-05-12 00:00:00", "end_date": "2026-05-13 23:59:59"}
    answer = report(api, **day)
    assert (answer["totals"]["revenue"], answer["left_out_money"]) == (100, [])
    by_touch = {"date_basis": "touch", "measures": "credited_revenue", **day}
    narrow_answer = report(api, attribution_window=1, end_date="2026-05-12 23:59:59", **{
        name: by_touch[name] for name in ("date_basis", "measures", "start_date")
    })  # fmt: skip
    assert (narrow_answer["totals"]["credited_revenue"], narrow_answer["left_out_money"]) == (100, [])
    assert report(api, attribution_window=7, **by_touch)["left_out_money"][0]["events"] == 1


def test_a_rate_may_lead_by_way_of_another_currency(api: Api, space: Stage) -> None:
    put_rates(api, rate("2026-05-13", "USD", "GBP", "0.8"), rate("2026-05-13", "USD", "EUR", "0.4"))
    sale(space, "2026-05-13", 8, "GBP")
    assert report(api)["totals"]["revenue"] == 4


def test_the_list_behind_a_figure_is_in_its_currency(api: Api, space: Stage) -> None:
    put_rates(api, rate("2026-05-13", "USD", "EUR", "0.5"))
    contact_id = space.contact()
    space.touchpoint(contact_id, "google_ads", occurred_at="2026-05-12 12:00:00+00")
    sale(space, "2026-05-13", 10, "USD", contact_id=contact_id)
    answer = report(api, measures=["credited_revenue"], group_by="source")
    assert answer["rows"] == [["google_ads", 5]]
    credit_list = api.get("/reports/credits", params={**MAY, "only": "source:google_ads"}).json()
    assert credit_list["totals"]["credited_revenue"] == 5
    assert [row["amount"] for row in credit_list["data"]] == [5]


def test_random_histories_equal_the_plain_model(api: Api, space: Stage) -> None:
    """Revenue and credit in two currencies, to the last decimal."""
    for seed in range(HISTORIES):
        rng = random.Random(seed)
        for table in ("events", "contacts", "currency_days", "rates"):
            space.connection.execute(f"DELETE FROM {table} WHERE space_id = %s", (space.space_id,))
        rates = {
            (day, currency): Decimal(rng.randrange(1, 40_000)) / 10_000
            for day in range(1, 32)
            for currency in ("USD", "JPY")
            if day % 7 == 1 or rng.random() < 0.6
        }  # fmt: skip
        put_rates(api, *(
            rate(f"2026-05-{day:02}", "EUR", currency, str(worth))
            for (day, currency), worth in rates.items()
        ))  # fmt: skip
        sales = [
            (rng.randrange(1, 32), Decimal(rng.randrange(-10**6, 10**7)) / 10 ** rng.randrange(5),
             rng.choice([None, "EUR", "USD", "JPY"]))
            for _ in range(25)
        ]  # fmt: skip
        for day, amount, currency in sales:
            sale(space, f"2026-05-{day:02}", str(amount), currency)
        for target in ("EUR", "USD"):
            expected = sum(convert(*sale_row, target, rates) for sale_row in sales)
            answer = report(api, currency=target)
            assert Decimal(str(answer["totals"]["revenue"])) == expected, (seed, target)


def convert(
    day: int, amount: Decimal, currency: str | None, target: str,
    rates: dict[tuple[int, str], Decimal],
) -> Decimal:  # fmt: skip
    """Return the amount in another currency: at the last rate within a week, rounded half to even to
    hundredths.
    """
    source = currency or "EUR"
    if source == target:
        return amount
    for rate_day in (date(2026, 5, day) - timedelta(days=back) for back in range(8)):
        worths = [
            Fraction(1) if code == "EUR" else rates.get((rate_day.toordinal() - FIRST, code))
            for code in (source, target)
        ]
        if None not in worths:
            exact = Fraction(amount) * Fraction(worths[1] or 0) / Fraction(worths[0] or 0)
            return Decimal(round(exact * 100)) / 100
    raise AssertionError("no rate")


def test_an_event_notes_its_currency(api: Api, space: Stage) -> None:
    """A report finds the currency that the pipeline stores."""
    today = datetime.now(UTC)
    body = {"event_name": "purchase", "email": "ada@example.com", "amount": 5, "currency": "CHF"}
    assert api.send("POST", "/events/track", json=body).status_code == 202
    Pipeline(space.connection, space.space_id).process()
    days = space.connection.execute(
        "SELECT currency, day FROM currency_days WHERE space_id = %s", (space.space_id,)
    ).fetchall()
    assert days == [("CHF", today.date())]


def test_the_rate_of_the_local_day(api: Api, space: Stage) -> None:
    """PostgreSQL reads CET as an offset without summer time."""
    space.connection.execute("UPDATE spaces SET timezone = 'CET' WHERE id = %s", (space.space_id,))
    put_rates(api, rate("2026-05-12", "EUR", "USD", 2), rate("2026-05-13", "EUR", "USD", 4))
    event_id = space.event(
        space.contact(),
        event_name="purchase",
        event_time="2026-05-12 22:30:00+00",
        amount=100,
        currency="USD",
    )
    space.connection.execute("INSERT INTO currency_days VALUES (%s, 'USD', '2026-05-12')", (space.space_id,))
    assert report(api, group_by="day")["rows"] == [["2026-05-13", 1, 25.0]]
    assert msgspec.json.decode(api.get(f"/events/{event_id}").content)["amount_in_space_currency"] == 25.0
