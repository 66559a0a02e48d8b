"""Trained models of every month: when they are due, what they are made of, what becomes of refused ones."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import psycopg
import pytest

from headwater.attribution.trained_models import store
from headwater.attribution.trained_models.models import FEWEST_CONVERSIONS, TrainedModel
from headwater.attribution.trained_models.monthly_runs import (
    HOUR,
    MonthlyTrainer,
    MonthlyTraining,
    list_monthly,
    months_before,
    next_after,
    start_monthly,
    stop_monthly,
)
from headwater.attribution.trained_models.store import list_trained_models
from headwater.database.pool import Database
from headwater.spaces.spaces import fetch_space
from tests.support.factories import Stage, make_stage

BERLIN = ZoneInfo("Europe/Berlin")
MARCH = datetime(2026, 3, 10, tzinfo=UTC)
DUE = datetime(2026, 4, 1, HOUR, tzinfo=UTC)
BUYERS = 5


def test_it_works(connection: psycopg.Connection, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "FEWEST_CONVERSIONS", BUYERS)
    stage = make_stage(connection)
    for number in range(BUYERS):
        contact_id, moment = stage.contact(), MARCH - timedelta(days=9 * number)
        stage.touchpoint(contact_id, "email", occurred_at=moment - timedelta(days=1))
        stage.event(contact_id, event_time=moment)
    turned_on(database_url, stage)
    assert run(database_url, stage, DUE - timedelta(seconds=1)) == 0
    assert run(database_url, stage, DUE) == 1
    [trained_model], [monthly] = trained_models(database_url, stage)
    assert (trained_model.name, trained_model.conversions, trained_model.is_current) == (
        "purchase to 2026-03",
        BUYERS,
        True,
    )
    assert trained_model.start_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert monthly == MonthlyTraining("purchase", datetime(2026, 5, 1, HOUR, tzinfo=UTC), None)
    assert run(database_url, stage, DUE) == 0


def test_a_refused_one_is_tried_next_month(connection: psycopg.Connection, database_url: str) -> None:
    stage = make_stage(connection)
    turned_on(database_url, stage)
    assert run(database_url, stage, DUE) == 1
    made, [monthly] = trained_models(database_url, stage)
    assert made == []
    assert monthly.next_at == datetime(2026, 5, 1, HOUR, tzinfo=UTC)
    assert monthly.error is not None
    assert f"training needs {FEWEST_CONVERSIONS}" in monthly.error
    turned_on(database_url, stage, off=True)
    assert trained_models(database_url, stage) == ([], [])


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2026-04-01T03:59:59+00:00", "2026-04-01T04:00:00+00:00"),
        ("2026-04-01T04:00:00+00:00", "2026-05-01T04:00:00+00:00"),
        ("2026-12-31T23:00:00+00:00", "2027-01-01T05:00:00+00:00"),
        ("2026-12-15T12:00:00+00:00", "2027-01-01T05:00:00+00:00"),
    ],
)
def test_when_one_is_due(moment: str, expected: str) -> None:
    due = next_after(datetime.fromisoformat(moment), BERLIN)
    assert due == datetime.fromisoformat(expected)


def test_the_months_it_is_made_of() -> None:
    def of(moment: str) -> tuple[date, date]:
        return months_before(datetime.fromisoformat(moment), BERLIN)

    assert of("2026-04-30T21:59:59+00:00") == (date(2026, 1, 1), date(2026, 3, 31))
    assert of("2026-04-30T22:00:00+00:00") == (date(2026, 2, 1), date(2026, 4, 30))
    assert of("2026-02-01T12:00:00+00:00") == (date(2025, 11, 1), date(2026, 1, 31))


def turned_on(database_url: str, stage: Stage, *, off: bool = False) -> None:
    async def turn() -> None:
        async with await psycopg.AsyncConnection.connect(database_url) as reader:
            space = await fetch_space(reader, stage.space_id)
            if off:
                await stop_monthly(reader, space.id, "purchase")
            else:
                await start_monthly(reader, space, "purchase", MARCH)

    asyncio.run(turn())


def run(database_url: str, stage: Stage, now: datetime) -> int:
    async def make() -> int:
        database = Database(database_url, 1)
        await database.open()
        try:
            return await MonthlyTrainer(database).run(stage.space_id, now)
        finally:
            await database.close()

    return asyncio.run(make())


def trained_models(database_url: str, stage: Stage) -> tuple[list[TrainedModel], list[MonthlyTraining]]:
    async def read() -> tuple[list[TrainedModel], list[MonthlyTraining]]:
        async with await psycopg.AsyncConnection.connect(database_url) as reader:
            made = await list_trained_models(reader, stage.space_id)
            return made, await list_monthly(reader, stage.space_id)

    return asyncio.run(read())
