"""Scheduled exports and their runs, export jobs with a folder. A folder keeps one job row for all its runs:
events have a folder per day, contacts and companies one in total.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from msgspec import Struct
from prometheus_client import Counter
from psycopg import AsyncConnection, Connection
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from headwater.database.queries import Queries, fetch_all, fetch_optional, make_cursor
from headwater.exports.formats import FileForm
from headwater.exports.schedule_days import Cadence, ScheduleDays, each_day, next_run
from headwater.http.errors import Invalid, require_any, require_found
from headwater.http.inputs.timerange import EVER, TimeRange, whole_days
from headwater.spaces.models import Space

queries = Queries(__name__, "schedules.sql")
scheduled_runs = Counter("headwater_scheduled_export_runs", "Runs of export schedules queued")

MAX_SCHEDULES = 20
MOST_RUNS = 400
REMOVED = "The schedule was removed."


class NewSchedule(Struct, frozen=True):
    name: str
    kind: str
    cadence: Cadence
    request: Mapping[str, Any]
    form: FileForm
    rows_per_file: int
    first_day: date
    rewritten_days: int


@dataclass(frozen=True)
class ExportSchedule(ScheduleDays):
    id: int
    name: str
    kind: Literal["events", "contacts", "companies"]
    request: dict[str, Any]
    extension: str
    rows_per_file: int
    next_at: datetime


@dataclass(frozen=True)
class ScheduleStatus(ExportSchedule):
    completed_at: datetime | None
    waiting: int
    """Folders with waiting or running jobs."""
    failed: int
    """Folders whose last run has failed."""
    error: str | None


def build_folder(space_id: int, name: str) -> str:
    return f"space={space_id}/{name}"


async def create_schedule(connection: AsyncConnection, space_id: int, new: NewSchedule) -> ScheduleStatus:
    """Make the first run due immediately. Raises Invalid."""
    values = {
        "space_id": space_id,
        "name": new.name,
        "kind": new.kind,
        "cadence": new.cadence,
        "request": Jsonb(dict(new.request)),
        "extension": new.form.extension,
        "rows_per_file": new.rows_per_file,
        "first_day": new.first_day,
        "rewritten_days": new.rewritten_days,
        "most": MAX_SCHEDULES,
    }
    if await fetch_optional(connection, queries["has_name"], values) is not None:
        raise Invalid.of("name", "is already used by another schedule.")
    row = await fetch_optional(connection, queries["create"], values)
    if row is None:
        raise Invalid.of("table", f"cannot be scheduled: there are {MAX_SCHEDULES}, remove one first.")
    return await fetch_schedule(connection, space_id, row[0])


async def list_schedules(
    connection: AsyncConnection, space_id: int, schedule_id: int | None = None
) -> list[ScheduleStatus]:
    """Return schedules by name, or one of them."""
    values = {"space_id": space_id, "schedule_id": schedule_id, "most": MAX_SCHEDULES}
    return await fetch_all(make_cursor(connection, ScheduleStatus), queries["list"], values)


async def fetch_schedule(connection: AsyncConnection, space_id: int, schedule_id: int) -> ScheduleStatus:
    """Raise NotFound for an unknown schedule."""
    return require_any(await list_schedules(connection, space_id, schedule_id), "Schedule")[0]


async def list_runs(connection: AsyncConnection, space_id: int, schedule_id: int) -> list[dict[str, Any]]:
    cursor = connection.cursor(row_factory=dict_row)
    values = {"space_id": space_id, "schedule_id": schedule_id, "most": MOST_RUNS}
    return await fetch_all(cursor, queries["runs"], values)


async def remove_schedule(connection: AsyncConnection, space_id: int, schedule_id: int) -> None:
    """Keep its files. Raises NotFound."""
    values = {"space_id": space_id, "schedule_id": schedule_id, "error": REMOVED}
    require_found(await fetch_optional(connection, queries["remove"], values), "Schedule")
    await connection.execute(queries["end_runs"], values)


async def rewrite_days(
    connection: AsyncConnection, space: Space, schedule: ExportSchedule, days: tuple[date, date]
) -> int:
    """Queue earlier days, or a table's only folder; returns the number of runs."""
    current_time = datetime.now(UTC)
    first = max(days[0], schedule.first_day)
    last = min(days[1], schedule.last_day(current_time, space.zone))
    values = _runs(space.id, schedule, list(each_day(first, last)), space.zone, current_time)
    await connection.execute(queries["queue"], values)
    return len(values["folders"])


def due_spaces(connection: Connection[Any]) -> list[int]:
    return [row[0] for row in connection.execute(queries["due_spaces"])]


def queue_runs(connection: Connection[Any], space_id: int) -> bool:
    """Queue due runs. Returns whether there were any."""
    current_time, queued = datetime.now(UTC), 0
    with connection.transaction():
        cursor = connection.cursor(row_factory=dict_row)
        rows = cursor.execute(queries["due"], {"space_id": space_id, "now": current_time}).fetchall()
        for row in rows:
            zone = ZoneInfo(row.pop("timezone"))
            schedule = ExportSchedule(**row)
            schedule_values = {"space_id": space_id, "schedule_id": schedule.id}
            days = schedule.to_write(current_time, zone)
            if schedule.kind == "events":
                days = sorted({*days, *_find_shifted_days(connection, schedule_values, zone)})
            connection.execute(queries["try_failed_again"], schedule_values)
            runs = _runs(space_id, schedule, days, zone, current_time)
            connection.execute(queries["queue"], runs)
            queued += len(runs["folders"])
            next_values = {
                "next_at": next_run(schedule.cadence, current_time, zone),
                "next_day": schedule.next_day_after(current_time, zone),
            }
            connection.execute(queries["advance"], schedule_values | next_values)
    scheduled_runs.inc(queued)
    return bool(rows)


def _find_shifted_days(connection: Connection[Any], values: dict[str, Any], zone: ZoneInfo) -> list[date]:
    """Return days that were written from other midnights, because the Space's time zone has changed since."""
    rows = connection.execute(queries["written_days"], values).fetchall()
    return [day for day, start, end in rows if TimeRange(start, end) != whole_days(day, day, zone)]


def _runs(
    space_id: int, schedule: ExportSchedule, days: Sequence[date], zone: ZoneInfo, current_time: datetime
) -> dict[str, Any]:
    folder = build_folder(space_id, schedule.name)
    runs: list[tuple[str, TimeRange]] = [(folder, TimeRange(EVER.start, current_time))]
    if schedule.kind == "events":
        runs = [(f"{folder}/date={day}", whole_days(day, day, zone)) for day in days]
    return {
        "space_id": space_id,
        "schedule_id": schedule.id,
        "kind": schedule.kind,
        "request": Jsonb(schedule.request),
        "extension": schedule.extension,
        "rows_per_file": schedule.rows_per_file,
        "folders": [name for name, _ in runs],
        "starts": [time.start for _, time in runs],
        "ends": [time.end for _, time in runs],
    }
