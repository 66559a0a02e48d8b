"""Monthly training for event names that a Space has chosen, from the last full months. Each new
model becomes the current one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from prometheus_client import Counter
from psycopg import AsyncConnection
from psycopg.rows import class_row

from headwater.attribution.trained_models.models import TrainingRequest
from headwater.attribution.trained_models.store import MAKING_SECONDS, choose_trained_model, train_model
from headwater.database.jobs.due_spaces import DueSpaces
from headwater.database.pool import Database
from headwater.database.queries import Queries, fetch_all, fetch_optional
from headwater.http.errors import Invalid
from headwater.http.inputs.timerange import months_after, whole_days
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space

queries = Queries(__name__, "monthly_runs.sql")
training_runs = Counter("headwater_monthly_training", "Monthly training runs", ["outcome"])
due_spaces = DueSpaces(queries["due"])

MONTHS = 3
"""Full months: recent, with enough conversions for most Spaces."""
WINDOW_DAYS = 30
HOUR = 6
"""Local, on the first day of a month: late events of the month before have arrived."""
AGAIN = timedelta(hours=1)


@dataclass(frozen=True)
class MonthlyTraining:
    event_name: str
    next_at: datetime
    error: str | None
    """The last attempt's failure."""


async def start_monthly(
    connection: AsyncConnection, space: Space, event_name: str, current_time: datetime
) -> None:
    """Begin with next month."""
    values = {"event_name": event_name, "next_at": next_after(current_time, space.zone)}
    await connection.execute(queries["start"], {"space_id": space.id, **values})


async def stop_monthly(connection: AsyncConnection, space_id: int, event_name: str) -> None:
    """Keep the models trained so far."""
    await connection.execute(queries["stop"], {"space_id": space_id, "event_name": event_name})


async def list_monthly(connection: AsyncConnection, space_id: int) -> list[MonthlyTraining]:
    cursor = connection.cursor(row_factory=class_row(MonthlyTraining))
    return await fetch_all(cursor, queries["list"], {"space_id": space_id})


def next_after(moment: datetime, zone: ZoneInfo) -> datetime:
    day = moment.astimezone(zone).date().replace(day=1)
    while True:
        due = datetime.combine(day, time(HOUR), zone).astimezone(UTC)
        if due > moment:
            return due
        day = months_after(day, 1)


def months_before(moment: datetime, zone: ZoneInfo) -> tuple[date, date]:
    """Return the first and last day of full months."""
    this_month = moment.astimezone(zone).date().replace(day=1)
    return months_after(this_month, -MONTHS), this_month - timedelta(days=1)


class MonthlyTrainer:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self, space_id: int, current_time: datetime) -> int:
        """Return the number of models trained."""
        number = 0
        while await self._run_next(space_id, current_time):
            number += 1
        return number

    async def _run_next(self, space_id: int, current_time: datetime) -> bool:
        async with self._database.transaction() as connection:
            space = await fetch_space(connection, space_id)
            values = {"space_id": space_id, "now": current_time, "again": current_time + AGAIN}
            row = await fetch_optional(connection, queries["claim"], values)
        if row is None:
            return False
        (event_name,) = row
        error = await self._make(space, event_name, current_time)
        async with self._database.transaction() as connection:
            await connection.execute(
                queries["finish"],
                {
                    "space_id": space_id,
                    "event_name": event_name,
                    "error": error,
                    "next_at": next_after(current_time, space.zone),
                },
            )
        training_runs.labels("made" if error is None else "refused").inc()
        return True

    async def _make(self, space: Space, event_name: str, current_time: datetime) -> str | None:
        """Return the reason if it could not be made."""
        first, last = months_before(current_time, space.zone)
        request = TrainingRequest(event_name, whole_days(first, last, space.zone), WINDOW_DAYS)
        name = f"{event_name} to {last:%Y-%m}"
        try:
            async with self._database.transaction(MAKING_SECONDS) as connection:
                trained_model = await train_model(connection, space.id, name, request)
                await choose_trained_model(connection, space.id, trained_model.id)
        except Invalid as refusal:
            return refusal.message
        return None
