"""Amounts in the Space's currency: equal in lists, exports, single events and reports."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from headwater.attribution.models import MODELS
from headwater.events import export_lines
from tests.support.exports import Exports
from tests.support.factories import NOON, Stage
from tests.support.reading_fixtures import RANGE, Api
from tests.support.report_model.credit import share_credit
from tests.support.report_model.facts import Event, Touchpoint
from tests.support.trained_models import plant_trained_model

MONEY = ["amount", "currency", "amount_in_space_currency"]
USED = ["google_ads", "facebook_ads", "email", "direct", "referral"]
TRAINED = {"google_ads": 5, "email": 2, "direct": 1}
CURRENCIES = ["EUR", "USD", "JPY", "KWD"]
DAYS = [date(2026, 5, 1) + timedelta(days=number) for number in range(31)]


def put_rates(api: Api, *rates: tuple[str, str, str, str]) -> None:
    names = ("date", "base", "currency", "rate")
    body = {"rates": [dict(zip(names, rate, strict=True)) for rate in rates]}
    assert api.send("PUT", "/rates", json=body).status_code == 200


def decimal_rows(api: Api, **params: Any) -> list[dict[str, Any]]:
    response = api.list(**params)
    assert response.status_code == 200, response.text
    return msgspec.json.Decoder(float_hook=Decimal).decode(response.content)["data"]


def sale(stage: Stage, amount: str | None, currency: str | None, **columns: Any) -> int:
    """Store a sale, and its day like the pipeline."""
    contact_id = columns.pop("contact_id", None) or stage.contact()
    event_id = stage.event(contact_id, amount=amount, currency=currency, **columns)
    day = columns.get("event_time", NOON).astimezone(UTC).date()
    stage.connection.execute(
        "INSERT INTO currency_days (space_id, currency, day) SELECT %s, %s, %s WHERE %s"
        " ON CONFLICT DO NOTHING",
        (stage.space_id, currency, day, currency is not None),
    )
    return event_id


@pytest.fixture
def space(stage: Stage) -> Stage:
    """A Space in euros."""
    stage.connection.execute("UPDATE spaces SET currency = 'EUR' WHERE id = %s", (stage.space_id,))
    return stage


def test_it_works(api: Api, space: Stage) -> None:
    put_rates(api, ("2026-05-13", "EUR", "USD", "1.25"))
    contact_id = space.contact()
    for hours in (1, 2, 3):
        space.touchpoint(contact_id, "email", occurred_at=NOON - timedelta(hours=hours))
    dollars = sale(space, "100", "USD", contact_id=contact_id)
    euros = sale(space, "50.0001", None)
    unknown = sale(space, "7", "XAF")
    event_without_amount = sale(space, None, "USD")
    money_by_event = {row["id"]: tuple(row[name] for name in MONEY) for row in api.rows(fields=MONEY)}
    assert money_by_event == {
        dollars: (100, "USD", 80), euros: (50.0001, "EUR", 50.0001), unknown: (7, "XAF", None),
        event_without_amount: (None, "USD", None),
    }  # fmt: skip
    for event_id, expected in money_by_event.items():
        event = api.get(f"/events/{event_id}").json()
        assert tuple(event[name] for name in MONEY) == expected
    credit_query = {"sources": "email", "attribution_model": "linear", "attribution_window": 30}
    rows = decimal_rows(api, **credit_query, fields=MONEY)
    assert [str(row["amount"]) for row in rows] == ["33.33", "33.33", "33.34"]
    assert [str(row["amount_in_space_currency"]) for row in rows] == ["26.66", "26.67", "26.67"]


def test_rows_have_them_only_where_asked_for(api: Api, exports: Exports, space: Stage) -> None:
    sale(space, "5", "USD")
    credit_query = {"sources": ["email"], "attribution_model": "linear", "attribution_window": 30}
    for query in ({}, {"fields": ["amount"]}, {"fields": ["order_id"]}):
        for row in (*api.rows(**query), *exports.export(date="2026-05-13", **query)):
            assert not row.keys() & {"currency", "amount_in_space_currency"}
    for name in MONEY[1:]:
        (row,) = api.rows(fields=[name])
        assert row.keys() == {"id", "event_time_utc", name}
        assert exports.export(date="2026-05-13", fields=[name]) == [row]
        assert api.rows(**credit_query, fields=[name]) == []


@pytest.mark.parametrize(
    ("amount", "currency", "sender", "expected"),
    [
        ("100000000000", "EUR", "api_key", 1e11),
        ("100000000000.01", "EUR", "api_key", None),
        ("-100000000000.01", "EUR", "webhook", None),
        ("100000000000", "USD", "api_key", 5e10),
        ("200000000000.02", "USD", "import", None),
        ("10000000", "EUR", "browser", 1e7),
        ("10000000.01", "EUR", "browser", None),
        ("10000000.01", "EUR", "signed_browser", None),
        ("20000000.02", "USD", "browser", None),
        ("20000000.02", "USD", None, 10000000.01),
        ("100000000000000", "JPY", "api_key", None),
    ],
)
def test_what_sums_leave_out_has_no_amount_in_the_spaces_currency(
    api: Api, space: Stage, amount: str, currency: str, sender: str | None, expected: float | None
) -> None:
    put_rates(api, ("2026-05-13", "USD", "EUR", "0.5"), ("2026-05-13", "JPY", "EUR", "160"))
    event_id = sale(space, amount, currency, sender=sender)
    (row,) = api.rows(fields=MONEY)
    assert row["amount"] == float(amount)
    assert row["currency"] == currency
    assert row["amount_in_space_currency"] == expected
    assert api.get(f"/events/{event_id}").json()["amount_in_space_currency"] == expected


def test_the_day_is_that_of_the_spaces_clock(api: Api, space: Stage) -> None:
    space.connection.execute("UPDATE spaces SET timezone = 'Asia/Tokyo' WHERE id = %s", (space.space_id,))
    put_rates(api, ("2026-05-13", "USD", "EUR", "2"), ("2026-05-14", "USD", "EUR", "3"))
    sale(space, "10", "USD", event_time=datetime(2026, 5, 13, 20, tzinfo=UTC))
    assert [row["amount_in_space_currency"] for row in api.rows(fields=MONEY)] == [30]


@dataclass
class World:
    """A Space with journeys in several currencies, and their expected amounts."""

    rates: dict[tuple[date, str], Fraction]
    """Units of a currency per euro."""
    touches: dict[int, list[Touchpoint]] = field(default_factory=dict[int, list[Touchpoint]])
    events: list[tuple[Event, str]] = field(default_factory=list[tuple[Event, str]])
    """Events with their currency."""

    def convert(self, event: Event, currency: str) -> Decimal | None:
        if event.amount is None or currency == "EUR":
            return event.amount
        for days_ago in range(8):
            rate = self.rates.get((event.event_time.date() - timedelta(days=days_ago), currency))
            if rate is not None:
                return Decimal(round(Fraction(event.amount) / rate * 100)) / 100
        return None

    def credits(self, model: str, weights: Mapping[str, Fraction]) -> dict[tuple[int, int], Any]:
        """Return, by event and touch, the credit in the original and in the Space's currency."""
        credit_rows: dict[tuple[int, int], Any] = {}
        for event, currency in self.events:
            path = [
                touch for touch in self.touches[event.contact_id]
                if touch.occurred_at <= event.event_time
            ]  # fmt: skip
            sums: list[dict[int, Fraction | None]] = []
            for amount in (event.amount, self.convert(event, currency)):
                of_amount = replace(event, amount=amount)
                sums.append({
                    credit.touch.id: None if amount is None else credit.amount
                    for credit in share_credit(model, of_amount, path, weights)
                })  # fmt: skip
            for touch_id in sums[0]:
                credit_rows[event.id, touch_id] = (sums[0][touch_id], currency, sums[1][touch_id])
        return credit_rows


def make_world(space: Stage, seed: int, *, gaps: bool) -> World:
    """Make a month of journeys. Without `gaps` there is a rate for every amount."""
    dice = random.Random(seed)
    rates = {
        (day, currency): Fraction(dice.randrange(1, 40_000), 10_000)
        for currency in CURRENCIES[1:]
        for day in [DAYS[0] - timedelta(days=3), *DAYS]
        if not gaps or dice.random() < 0.1
    }
    world = World(rates)
    for _ in range(12):
        contact_id = space.contact()
        moments = [NOON + timedelta(minutes=dice.randrange(-20_000, 20_000)) for _ in range(9)]
        world.touches[contact_id] = sorted(
            (
                Touchpoint(
                    space.touchpoint(contact_id, source, occurred_at=moment),
                    contact_id, None, moment, source,
                )
                for moment in moments[: dice.randrange(8)]
                for source in [dice.choice(USED)]
            ),
            key=lambda touch: (touch.occurred_at, touch.id),
        )  # fmt: skip
        for moment in moments[7:]:
            amount = draw_amount(dice)
            currency = dice.choice([None, *CURRENCIES])
            event_id = sale(
                space, None if amount is None else str(amount), currency,
                contact_id=contact_id, event_time=moment,
            )  # fmt: skip
            event = Event(event_id, contact_id, None, moment, amount=amount)
            world.events.append((event, currency or "EUR"))
    return world


def draw_amount(dice: random.Random) -> Decimal | None:
    if dice.random() < 0.1:
        return None
    return Decimal(dice.randrange(-(10**5), 10**7)) / 10 ** dice.randrange(5)


def store_rates(api: Api, world: World) -> None:
    put_rates(api, *(
        (f"{day}", "EUR", currency, f"{float(rate)}")
        for (day, currency), rate in world.rates.items()
    ))  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_lists_and_exports_equal_the_plain_model(
    api: Api, exports: Exports, space: Stage, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_lines, "SLICE_EVENTS", 3)
    world = make_world(space, seed, gaps=True)
    store_rates(api, world)
    plant_trained_model(space.connection, space.space_id, "May", "purchase", TRAINED)
    weights = {source: Fraction(share, sum(TRAINED.values())) for source, share in TRAINED.items()}
    expected = {
        event.id: (event.amount, currency, world.convert(event, currency)) for event, currency in world.events
    }
    everything = {"start_date": RANGE["start_date"], "end_date": RANGE["end_date"]}
    all_rows = decimal_rows(api, fields=MONEY)
    assert {row["id"]: tuple(row[name] for name in MONEY) for row in all_rows} == expected
    jobs = {"": exports.ask(**everything, fields=MONEY)}
    lists = {"": api.rows(fields=MONEY)}
    for model in MODELS:
        query = {
            "sources": USED, "attribution_model": model, "attribution_window": 0, "fields": MONEY,
            **({"event_names": ["purchase"]} if model == "markov" else {}),
        }  # fmt: skip
        rows = decimal_rows(api, **query)
        amounts = {(row["id"], row["touchpoint_id"]): tuple(row[name] for name in MONEY) for row in rows}
        assert amounts == world.credits(model, weights), model
        jobs[model] = exports.ask(**everything, **query)
        lists[model] = api.rows(**query)
    exports.work()
    for model, export_id in jobs.items():
        assert exports.lines(export_id) == lists[model], model


@pytest.mark.parametrize("seed", range(2, 4))
def test_the_sum_over_a_list_is_that_of_the_report(api: Api, space: Stage, seed: int) -> None:
    world = make_world(space, seed, gaps=False)
    store_rates(api, world)
    rows = decimal_rows(api, fields=MONEY)
    revenue = sum(Decimal(row["amount_in_space_currency"] or 0) for row in rows)
    answer = report(api, measures="revenue")
    assert revenue == answer["totals"]["revenue"]
    for model in (name for name, model in MODELS.items() if not model.needs_training):
        credit = {"attribution_model": model, "attribution_window": 30}
        sums: dict[str, Decimal] = defaultdict(Decimal)
        for row in decimal_rows(api, **credit, sources=USED, fields=[*MONEY, "source"]):
            sums[row["source"]] += Decimal(row["amount_in_space_currency"] or 0)
        answer = report(api, **credit, group_by="source", measures="credited_revenue")
        assert {source: total for source, total in sums.items() if total} == {
            source: total for source, total in answer["rows"] if total
        }, model


def report(api: Api, **params: Any) -> dict[str, Any]:
    response = api.get("/reports", params={**RANGE, "limit": 1000, **params})
    assert response.status_code == 200, response.text
    return msgspec.json.Decoder(float_hook=Decimal).decode(response.content)


def test_pages_are_cut_where_they_are_without_these_fields(api: Api, space: Stage) -> None:
    world = make_world(space, 99, gaps=False)
    store_rates(api, world)
    query = {
        "sources": USED, "attribution_model": "shapley_distinct", "attribution_window": 0,
        "fields": MONEY,
    }  # fmt: skip
    all_rows = api.rows(**query)
    rows: list[dict[str, Any]] = []
    page = api.list(**query, per_page=7).json()
    while page["next_cursor"]:
        rows += page["data"]
        page = api.list(**query, per_page=7, cursor=page["next_cursor"]).json()
    rows += page["data"]
    assert rows == all_rows
    by_amount = api.rows(order_by="amount", fields=MONEY)
    assert {row["id"] for row in by_amount} == {
        event.id for event, _ in world.events if event.amount is not None
    }
