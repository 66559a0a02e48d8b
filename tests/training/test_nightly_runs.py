"""Automatic training: when it is due, how many orders it needs, and which model is current afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from zoneinfo import ZoneInfo

import psycopg
import pytest

from headwater.attribution.models import FEWEST_CONVERSIONS
from headwater.attribution.trained_models.models import TrainedModel
from headwater.attribution.trained_models.nightly_runs import (
    NIGHT_HOUR,
    AutomaticTrainer,
    AutomaticTraining,
    count_conversions,
    list_automatic_training,
    next_night,
    night_in,
    start_automatic_training,
    stop_automatic_training,
)
from headwater.attribution.trained_models.store import (
    choose_trained_model,
    list_trained_models,
    remove_trained_model,
)
from headwater.database.pool import Database
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space
from tests.support.factories import Stage, make_stage
from tests.support.trained_models import plant_trained_model

T = TypeVar("T")
STARTED = datetime(2026, 3, 9, 12, tzinfo=UTC)
FIRST_NIGHT = datetime(2026, 3, 10, NIGHT_HOUR, tzinfo=UTC)
SECOND_RUN = FIRST_NIGHT + timedelta(days=30)
MINUTE = timedelta(minutes=1)


class AutomaticSpace:
    """A Space with automatic training, and the clock of its watcher."""

    def __init__(self, stage: Stage, database_url: str) -> None:
        self.stage, self._url = stage, database_url
        self.switch()

    def plant_orders(self, number: int, moment: datetime) -> None:
        for index in range(number):
            contact_id = self.stage.contact()
            source = "email" if index % 3 else "google_ads"
            self.stage.touchpoint(contact_id, source, occurred_at=moment - timedelta(days=1))
            self.stage.event(contact_id, event_time=moment)

    def switch(self, *, is_on: bool = True, moment: datetime = STARTED) -> None:
        async def switch(connection: psycopg.AsyncConnection, space: Space) -> None:
            if is_on:
                await start_automatic_training(connection, space, "purchase", moment)
            else:
                await stop_automatic_training(connection, space.id, "purchase")

        self.ask(switch)

    def run(self, moment: datetime) -> list[str]:
        """Run the watcher's task, and return the names of all models, newest first."""

        async def run() -> None:
            async with Database(self._url, 1) as database:
                await AutomaticTrainer(database).run(self.stage.space_id, moment)

        asyncio.run(run())
        return [model.name for model in self.models()]

    def models(self) -> list[TrainedModel]:
        return self.ask(lambda connection, space: list_trained_models(connection, space.id))

    def training(self) -> AutomaticTraining:
        [training] = self.ask(lambda connection, space: list_automatic_training(connection, space.id))
        return training

    def current(self) -> str:
        [name] = [model.name for model in self.models() if model.is_current]
        return name

    def ask(self, work: Callable[[psycopg.AsyncConnection, Space], Awaitable[T]]) -> T:
        async def ask() -> T:
            async with await psycopg.AsyncConnection.connect(self._url) as connection:
                return await work(connection, await fetch_space(connection, self.stage.space_id))

        return asyncio.run(ask())


@pytest.fixture
def almost_trainable(connection: psycopg.Connection, database_url: str) -> AutomaticSpace:
    """A Space with one order fewer than training needs, all of them in both periods of the tests."""
    space = AutomaticSpace(make_stage(connection), database_url)
    space.plant_orders(FEWEST_CONVERSIONS - 1, STARTED - timedelta(days=5))
    return space


@pytest.fixture
def trainable(almost_trainable: AutomaticSpace) -> AutomaticSpace:
    almost_trainable.plant_orders(1, STARTED - timedelta(days=5))
    assert almost_trainable.run(FIRST_NIGHT) == ["purchase 2026-03-10"]
    return almost_trainable


def test_it_trains_at_night_from_300_orders_on(almost_trainable: AutomaticSpace) -> None:
    assert almost_trainable.run(FIRST_NIGHT) == []
    assert almost_trainable.training().next_at == FIRST_NIGHT + timedelta(days=1)
    almost_trainable.plant_orders(1, FIRST_NIGHT)
    assert almost_trainable.run(FIRST_NIGHT + timedelta(days=1) - MINUTE) == []
    assert almost_trainable.run(FIRST_NIGHT + timedelta(days=1)) == ["purchase 2026-03-11"]
    [model] = almost_trainable.models()
    assert (model.conversions, model.is_current) == (FEWEST_CONVERSIONS, True)
    assert model.start_at == datetime(2025, 12, 11, tzinfo=UTC)
    assert model.end_at == datetime(2026, 3, 11, tzinfo=UTC)


def test_orders_without_a_visit_and_older_ones_do_not_count(almost_trainable: AutomaticSpace) -> None:
    stage = almost_trainable.stage
    stage.event(stage.contact(), event_time=STARTED)
    almost_trainable.plant_orders(1, STARTED - timedelta(days=100))
    late = stage.contact()
    stage.touchpoint(late, "email", occurred_at=STARTED - timedelta(days=40))
    stage.event(late, event_time=STARTED)
    assert almost_trainable.run(FIRST_NIGHT) == []
    contact_id = almost_trainable.stage.contact()
    almost_trainable.stage.touchpoint(contact_id, "email", occurred_at=STARTED - timedelta(days=1))
    for columns in ({"amount": -10}, {"amount": 10, "is_upsell": True}):
        almost_trainable.stage.event(contact_id, event_time=STARTED, **columns)
    count = almost_trainable.ask(
        lambda connection, space: count_conversions(connection, space, "purchase", FIRST_NIGHT)
    )
    assert count == FEWEST_CONVERSIONS - 1


def test_it_trains_again_after_30_days(trainable: AutomaticSpace) -> None:
    first = trainable.training()
    assert (first.next_at, first.conversions) == (SECOND_RUN, FEWEST_CONVERSIONS)
    assert trainable.run(FIRST_NIGHT) == ["purchase 2026-03-10"]
    assert trainable.run(SECOND_RUN - MINUTE) == ["purchase 2026-03-10"]
    assert trainable.run(SECOND_RUN) == ["purchase 2026-04-09", "purchase 2026-03-10"]
    assert trainable.current() == "purchase 2026-04-09"


def test_a_model_chosen_by_hand_stays_current(trainable: AutomaticSpace) -> None:
    space_id = trainable.stage.space_id
    model_id = plant_trained_model(
        trainable.stage.connection, space_id, "mine", "purchase", {"email": 1}, current=False
    )
    trainable.ask(lambda connection, space: choose_trained_model(connection, space.id, model_id))
    trainable.run(SECOND_RUN)
    assert trainable.current() == "mine"
    latest = trainable.training().trained_model_id
    assert latest is not None
    trainable.ask(lambda connection, space: choose_trained_model(connection, space.id, latest))
    trainable.run(SECOND_RUN + timedelta(days=30))
    assert trainable.current() == "purchase 2026-05-09"


def test_a_removed_model_is_replaced(trainable: AutomaticSpace) -> None:
    model_id = trainable.models()[0].id
    trainable.ask(lambda connection, space: remove_trained_model(connection, space.id, model_id))
    assert trainable.training().trained_at is None
    assert trainable.run(SECOND_RUN) == ["purchase 2026-04-09"]
    assert trainable.current() == "purchase 2026-04-09"


def test_a_name_in_use_waits_for_the_next_night(almost_trainable: AutomaticSpace) -> None:
    almost_trainable.plant_orders(1, STARTED)
    connection, space_id = almost_trainable.stage.connection, almost_trainable.stage.space_id
    plant_trained_model(connection, space_id, "purchase 2026-03-10", "refund", {"email": 1}, current=False)
    assert almost_trainable.run(FIRST_NIGHT) == ["purchase 2026-03-10"]
    assert almost_trainable.run(FIRST_NIGHT + timedelta(days=1)) == [
        "purchase 2026-03-11",
        "purchase 2026-03-10",
    ]


def test_it_can_be_turned_off_and_on(trainable: AutomaticSpace) -> None:
    trainable.switch(is_on=False)
    assert not trainable.training().is_on
    assert len(trainable.run(SECOND_RUN)) == 1
    trainable.switch(moment=FIRST_NIGHT + timedelta(days=2))
    assert trainable.training().next_at == SECOND_RUN
    trainable.switch(is_on=False)
    trainable.switch(moment=SECOND_RUN + timedelta(hours=9))
    assert len(trainable.run(SECOND_RUN + timedelta(hours=9))) == 1
    assert len(trainable.run(SECOND_RUN + timedelta(days=1))) == 2


@pytest.mark.parametrize(
    ("zone", "moment", "expected"),
    [
        ("Europe/Berlin", "2026-04-01T00:59:59+00:00", "2026-04-01T01:00:00+00:00"),
        ("Europe/Berlin", "2026-04-01T01:00:00+00:00", "2026-04-02T01:00:00+00:00"),
        ("Europe/Berlin", "2026-10-24T12:00:00+00:00", "2026-10-25T02:00:00+00:00"),
        ("America/Los_Angeles", "2026-12-31T23:00:00+00:00", "2027-01-01T11:00:00+00:00"),
        ("Pacific/Auckland", "2026-06-01T14:59:59+00:00", "2026-06-01T15:00:00+00:00"),
    ],
)
def test_the_next_night(zone: str, moment: str, expected: str) -> None:
    assert next_night(datetime.fromisoformat(moment), ZoneInfo(zone)) == datetime.fromisoformat(expected)


def test_a_later_night_keeps_its_hour_when_the_clocks_change() -> None:
    before = datetime(2026, 10, 10, 1, tzinfo=UTC)
    assert night_in(30, before, ZoneInfo("Europe/Berlin")) == datetime(2026, 11, 9, 2, tzinfo=UTC)


def test_it_is_due_at_the_local_hour(almost_trainable: AutomaticSpace) -> None:
    connection, space_id = almost_trainable.stage.connection, almost_trainable.stage.space_id
    connection.execute("UPDATE spaces SET timezone = 'America/Los_Angeles' WHERE id = %s", (space_id,))
    connection.execute("DELETE FROM automatic_training WHERE space_id = %s", (space_id,))
    almost_trainable.plant_orders(1, STARTED)
    almost_trainable.switch()
    due = datetime(2026, 3, 10, 10, tzinfo=UTC)
    assert almost_trainable.run(due - MINUTE) == []
    assert almost_trainable.run(due) == ["purchase 2026-03-10"]
    [model] = almost_trainable.models()
    assert model.end_at == datetime(2026, 3, 10, 7, tzinfo=UTC)
