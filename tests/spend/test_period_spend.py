"""The spend of a period: summed by the database where that is exact, and read in batches."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

import psycopg
import pytest

from headwater.reports.query import OF_TOUCHES, Group
from headwater.reports.questions import period_spend
from headwater.reports.questions.cost_figures import GROUPS
from headwater.reports.questions.period_spend import (
    PeriodSpend,
    add_up_all,
    list_currency_days,
    load_exchange,
    load_period_spend,
)
from headwater.spend import breakdown, ledger
from headwater.spend.breakdown import Figures, SpendPart
from headwater.spend.ledger import read_parts
from tests.support.campaigns import campaign_size
from tests.support.factories import Stage

LEDGERS = campaign_size("HEADWATER_LEDGERS", 40, 2000)
FIRST, LAST = date(2026, 4, 28), date(2026, 5, 4)


def store(stage: Stage, rows: Iterable[dict[str, Any]]) -> None:
    with stage.connection.cursor() as cursor:
        cursor.executemany(
            """INSERT INTO spend (space_id, date, key, platform, account_id, campaign_id, adset_id, ad_id,
                                  country, currency, amount, impressions, as_of, place)
               VALUES (%(space_id)s, %(date)s, decode(md5(%(key)s), 'hex'), %(platform)s, %(account_id)s,
                       %(campaign_id)s, %(adset_id)s, %(ad_id)s, %(country)s, %(currency)s, %(amount)s,
                       %(impressions)s, now(), 0)""",
            [{"space_id": stage.space_id, "key": f"{list(row.values())[:8]}", **row} for row in rows],
        )


def make_row(day: date, *path: str, currency: str = "EUR", **columns: Any) -> dict[str, Any]:
    names = ("account_id", "campaign_id", "adset_id", "ad_id")
    places = {**dict.fromkeys(names, ""), **dict(zip(names, path, strict=False))}
    row = {"date": day, "platform": "meta", **places, "country": "", "currency": currency}
    return {**row, "amount": 1, "impressions": 1, **columns}


def random_ledger(rng: random.Random) -> list[dict[str, Any]]:
    """Days of one level next to days of several, in three currencies, one of them without a rate."""
    rows: dict[Any, dict[str, Any]] = {}
    day = FIRST
    while day <= LAST:
        currency, is_disjoint = rng.choice(["EUR", "EUR", "USD", "XAF"]), rng.random() < 0.7
        depth, countries = rng.choice([1, 2, 4]), rng.choice([[""], ["DE", "FR"], ["", "DE"]])
        for _ in range(rng.randrange(6)):
            path = [rng.choice("12") for _ in range(depth if is_disjoint else rng.randrange(5))]
            if path and rng.random() < 0.1:
                path[rng.randrange(len(path))] = ""
            row = make_row(
                day, *path, currency=currency, country=rng.choice(countries),
                platform=rng.choice(["meta", "google"]), amount=rng.randrange(1, 10**4) / 1000,
                impressions=rng.randrange(9),
            )  # fmt: skip
            rows[tuple(row.values())[:8]] = row
        day += timedelta(days=rng.randrange(2))
    return list(rows.values())


def sum_parts(spend: PeriodSpend, group: Group | None) -> dict[str | None, Figures]:
    if group is None:
        return {None: add_up_all(spend_part.row.figures for spend_part in spend.pieces)}
    return {key: figures for key, figures in spend.by_key(group, ()).items() if any(figures)}


async def load_by_day(connection: psycopg.AsyncConnection, space_id: int) -> PeriodSpend:
    """Break each day down, convert the parts, and only then sum them."""
    parts = await read_parts(connection, space_id, FIRST, LAST)
    exchange = await load_exchange(connection, space_id, "EUR", list_currency_days(parts))
    return PeriodSpend([exchange.convert(part) for part in parts], {}, exchange.left_out(parts))


def test_it_works(stage: Stage, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums are those of the days' parts, for any group, and for batches of any length."""
    stage.connection.execute(
        "INSERT INTO rates (space_id, date, base, currency, rate) VALUES (%s, %s, 'USD', 'EUR', 0.9131)",
        (stage.space_id, FIRST - timedelta(days=1)),
    )

    async def compare() -> None:
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
            for seed in range(LEDGERS):
                rng = random.Random(seed)
                stage.connection.execute("DELETE FROM spend WHERE space_id = %s", (stage.space_id,))
                store(stage, random_ledger(rng))
                monkeypatch.setattr(period_spend, "BATCH_ROWS", rng.randrange(1, 20))
                expected = await load_by_day(connection, stage.space_id)
                for group in (None, *GROUPS):
                    groups: tuple[Group, ...] = () if group is None else (group,)
                    if group in OF_TOUCHES:
                        groups = (Group.MONTH, *groups)
                    spend = await load_period_spend(
                        connection, stage.space_id, (FIRST, LAST), "EUR", (), groups
                    )
                    assert sum_parts(spend, group) == sum_parts(expected, group), (seed, group)
                    assert spend.left_out == expected.left_out, (seed, group)
                    assert spend.platforms == expected.platforms, (seed, group)
                    if Group.MONTH in groups:
                        months, expected_months = spend.by_month(), expected.by_month()
                        assert months.keys() == expected_months.keys(), (seed, group)
                        for month in months:
                            assert sum_parts(months[month], group) == sum_parts(
                                expected_months[month], group
                            ), (seed, group, month)

    asyncio.run(compare())


@pytest.mark.parametrize(("group", "parts"), [(Group.PLATFORM, 1), (Group.AD, 50), (Group.DAY, 30)])
def test_the_database_sums_what_is_not_listed(
    stage: Stage, database_url: str, monkeypatch: pytest.MonkeyPatch, group: Group, parts: int
) -> None:
    """Of a month of fifty ads, as many parts are read as are listed."""
    days = [date(2026, 5, 1) + timedelta(days=number) for number in range(30)]
    store(stage, (make_row(day, "a", "1", "s", f"ad {number}") for day in days for number in range(50)))
    lengths: list[int] = []
    read = period_spend.read_summed_parts

    async def count(*values: Any) -> list[SpendPart]:
        batch = await read(*values)
        lengths.append(len(batch))
        return batch

    monkeypatch.setattr(period_spend, "read_summed_parts", count)

    async def load() -> PeriodSpend:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            period = (days[0], days[-1])
            return await load_period_spend(connection, stage.space_id, period, "EUR", (), (group,))

    assert len(asyncio.run(load()).by_key(group, ())) == parts
    assert lengths == [parts]
    monkeypatch.setattr(period_spend, "BATCH_ROWS", 500)
    spend = asyncio.run(load())
    assert len(spend.pieces) == parts
    assert sum(part.row.figures[0] for part in spend.pieces) == 1_500_000_000
    assert len(lengths) == 1 + 3


def test_the_event_loop_does_not_wait_for_a_breakdown(
    stage: Stage, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other requests of the process are answered meanwhile."""
    store(stage, (make_row(FIRST, *path) for path in ((), ("a",), ("a", "1"))))
    threads: list[threading.Thread] = []

    def break_down(rows: Any) -> Any:
        threads.append(threading.current_thread())
        return breakdown.break_down(rows)

    monkeypatch.setattr(ledger, "break_down", break_down)

    async def load() -> None:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            await load_period_spend(connection, stage.space_id, (FIRST, LAST), "EUR")

    asyncio.run(load())
    assert threads
    assert threading.current_thread() not in threads
