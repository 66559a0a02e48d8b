"""Train models at night from the latest journeys, and make them current unless a person chose another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.attribution.models import FEWEST_CONVERSIONS
from headwater.attribution.trained_models.models import TrainedModel, TrainingRequest
from headwater.attribution.trained_models.store import IS_CONVERSION, MAKING_SECONDS, train_model
from headwater.base.telemetry.counters import make_counter
from headwater.database.jobs.due_spaces import DueSpaces
from headwater.database.pool import Database
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor
from headwater.http.errors import Invalid
from headwater.http.inputs.timerange import whole_days
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space

queries = Queries(__name__, "nightly_runs.sql")
_COUNT = queries["count"].format(is_conversion=IS_CONVERSION)
training_runs = make_counter(
    "headwater_automatic_training", "Automatic training runs", outcome=("trained", "too_few", "refused")
)
due_spaces = DueSpaces(queries["due"])

PURCHASE = "purchase"
NIGHT_HOUR = 3
"""In the Space's time zone."""
TRAINING_DAYS = 90
"""Full days before the training: recent, with enough conversions for most Spaces."""
WINDOW_DAYS = 30
VALID_DAYS = 30
"""An automatic model is replaced after this time."""


@dataclass(frozen=True)
class AutomaticTraining:
    event_name: str
    is_on: bool
    next_at: datetime
    trained_model_id: int | None = None
    """The latest automatic model; None before the first and after its removal."""
    trained_at: datetime | None = None
    conversions: int | None = None


def next_night(moment: datetime, zone: ZoneInfo) -> datetime:
    return night_in(0 if moment.astimezone(zone).hour < NIGHT_HOUR else 1, moment, zone)


def night_in(days: int, moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the nightly hour on a later local day."""
    day = moment.astimezone(zone).date() + timedelta(days=days)
    return datetime.combine(day, time(NIGHT_HOUR), zone).astimezone(UTC)


class MissingModel(Struct, frozen=True):
    orders: int
    """With a touchpoint; at most the number that training needs."""
    is_on: bool

    @property
    def has_enough_orders(self) -> bool:
        return self.orders >= FEWEST_CONVERSIONS

    @property
    def reason(self) -> str:
        if not self.has_enough_orders:
            return f"Needs {FEWEST_CONVERSIONS} orders with a visit (you have {self.orders})."
        if self.is_on:
            return "There are enough orders: training starts next night."
        return "There are enough orders, but automatic training is off."


async def start_automatic_training(
    connection: AsyncConnection, space: Space, event_name: str, current_time: datetime
) -> None:
    """Begin next night, or when the latest automatic model is too old."""
    values = {"event_name": event_name, "next_at": next_night(current_time, space.zone)}
    await connection.execute(queries["start"], {"space_id": space.id, **values})


async def stop_automatic_training(connection: AsyncConnection, space_id: int, event_name: str) -> None:
    """Keep the models trained so far."""
    await connection.execute(queries["stop"], {"space_id": space_id, "event_name": event_name})


async def list_automatic_training(connection: AsyncConnection, space_id: int) -> list[AutomaticTraining]:
    return await fetch_all(
        make_cursor(connection, AutomaticTraining), queries["list"], {"space_id": space_id}
    )


async def count_conversions(
    connection: AsyncConnection, space: Space, event_name: str, current_time: datetime
) -> int:
    """Return the conversions that training would use now, at most the number that it needs."""
    request = _make_request(space, event_name, current_time)
    values = {
        "space_id": space.id,
        "event_name": event_name,
        "start": request.time.start,
        "end": request.time.end,
        "lookback": request.window_days * 86_400,
        "most": FEWEST_CONVERSIONS,
    }
    (number,) = await fetch_one(connection, _COUNT, values)
    return number


async def explain_missing_model(
    connection: AsyncConnection, space: Space, current_time: datetime
) -> MissingModel:
    """Explain why purchases have no trained model."""
    orders = await count_conversions(connection, space, PURCHASE, current_time)
    training = await list_automatic_training(connection, space.id)
    return MissingModel(orders, any(row.event_name == PURCHASE and row.is_on for row in training))


async def train_automatic_model(
    database: Database, space: Space, event_name: str, current_time: datetime
) -> TrainedModel:
    """Raise Invalid for too few conversions, or if the day's name is taken."""
    name = f"{event_name} {current_time.astimezone(space.zone).date()}"
    request = _make_request(space, event_name, current_time)
    async with database.transaction(MAKING_SECONDS) as connection:
        trained_model = await train_model(connection, space.id, name, request)
        values = {
            "space_id": space.id,
            "event_name": event_name,
            "trained_model_id": trained_model.id,
            "next_at": night_in(VALID_DAYS, current_time, space.zone),
        }
        await connection.execute(queries["replace_current"], values)
        await connection.execute(queries["finish"], values)
    return trained_model


def _make_request(space: Space, event_name: str, current_time: datetime) -> TrainingRequest:
    today = current_time.astimezone(space.zone).date()
    first, last = today - timedelta(days=TRAINING_DAYS), today - timedelta(days=1)
    return TrainingRequest(event_name, whole_days(first, last, space.zone), WINDOW_DAYS)


class AutomaticTrainer:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self, space_id: int, current_time: datetime) -> int:
        """Return the number of event names processed."""
        number = 0
        while await self._run_next(space_id, current_time):
            number += 1
        return number

    async def _run_next(self, space_id: int, current_time: datetime) -> bool:
        async with self._database.transaction() as connection:
            space = await fetch_space(connection, space_id)
            values = {"now": current_time, "next_at": next_night(current_time, space.zone)}
            row = await fetch_optional(connection, queries["claim"], {"space_id": space_id, **values})
            if row is None:
                return False
            (event_name,) = row
            conversions = await count_conversions(connection, space, event_name, current_time)
        outcome = "too_few"
        if conversions >= FEWEST_CONVERSIONS:
            outcome = await self._train(space, event_name, current_time)
        training_runs.labels(outcome).inc()
        return True

    async def _train(self, space: Space, event_name: str, current_time: datetime) -> str:
        """Return the outcome. A refused training is repeated next night, with another name."""
        try:
            await train_automatic_model(self._database, space, event_name, current_time)
        except Invalid:
            return "refused"
        return "trained"
