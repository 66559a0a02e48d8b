from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode
from zoneinfo import ZoneInfo

from psycopg import AsyncConnection
from psycopg.rows import class_row

from headwater.console.report_pages.bar import SHAREABLE
from headwater.console.report_pages.saved_views import read_view
from headwater.console.report_pages.view import ReportView
from headwater.console.scheduled_reports.schedule import Cadence, Schedule
from headwater.database.jobs.due_spaces import DueSpaces
from headwater.database.queries import Queries, fetch_all, fetch_optional
from headwater.http.errors import Invalid, NotFound
from headwater.http.inputs.parameters import Query
from headwater.reports.query import Group
from headwater.spaces.models import Space

queries = Queries(__name__, "scheduled_reports.sql")
due_spaces = DueSpaces(queries["due"])

MOST = 50
WEEKDAYS = {str(number): name for number, name in enumerate(calendar.day_name)}
_TIME = re.compile("([01][0-9]|2[0-3]):00")
_OF_PEOPLE = (f"{Group.CONTACT}:", f"{Group.COMPANY}:")


@dataclass(frozen=True)
class ScheduledReport:
    """A view of a report page with its times and channels. The period follows the cadence."""

    id: int
    name: str
    page: str
    query: str
    cadence: str
    day: int
    hour: int
    with_csv: bool
    channel_ids: list[int]
    made_by: int | None
    next_at: datetime | None
    """None if paused."""
    last_at: datetime | None
    error: str | None
    attempts: int = 0

    @property
    def schedule(self) -> Schedule:
        return Schedule(Cadence(self.cadence), self.day, self.hour)

    def find_page(self, moment: datetime, zone: ZoneInfo) -> str:
        """Return the path of the page with the period of a report sent at `moment`."""
        period = self.schedule.period_words(moment.astimezone(zone).date())
        return f"{self.page}?{urlencode([*parse_qsl(self.query), ('period', period)])}"


@dataclass(frozen=True)
class NewReport:
    name: str
    page: str
    query: str
    cadence: str
    weekdays: list[str]
    time: str
    with_csv: bool
    channel_ids: list[int]
    user_id: int


async def list_reports(connection: AsyncConnection, space_id: int) -> list[ScheduledReport]:
    cursor = connection.cursor(row_factory=class_row(ScheduledReport))
    return await fetch_all(cursor, queries["list"], {"space_id": space_id, "most": MOST})


async def fetch_report(connection: AsyncConnection, space_id: int, report_id: int) -> ScheduledReport:
    """Raise NotFound if missing."""
    for report in await list_reports(connection, space_id):
        if report.id == report_id:
            return report
    raise NotFound("Report")


async def schedule_report(
    connection: AsyncConnection, space: Space, new: NewReport, current_time: datetime
) -> None:
    """Store a report for each chosen weekday, or one. Raise Invalid."""
    schedules = _read_schedules(new)
    for schedule in schedules:
        values = {**_list_values(space, new, schedule, current_time), "most": MOST}
        if await fetch_optional(connection, queries["create"], values) is None:
            raise Invalid.of("name", f"cannot be scheduled: there are {MOST}, delete one first.")


async def change_report(
    connection: AsyncConnection, space: Space, report_id: int, new: NewReport, current_time: datetime
) -> None:
    """Replace a report's name, times and channels, and resume it. Raise Invalid and NotFound."""
    schedule, *others = _read_schedules(new)
    if others:
        raise Invalid.of("weekdays", "must be one day: schedule another report for each other day.")
    values = {**_list_values(space, new, schedule, current_time), "id": report_id}
    if await fetch_optional(connection, queries["change"], values) is None:
        raise NotFound("Report")


async def pause_report(connection: AsyncConnection, space_id: int, report_id: int) -> None:
    """Raise NotFound if missing."""
    values = {"space_id": space_id, "id": report_id}
    if await fetch_optional(connection, queries["pause"], values) is None:
        raise NotFound("Report")


async def resume_report(
    connection: AsyncConnection, space: Space, report: ScheduledReport, current_time: datetime
) -> None:
    next_at = report.schedule.next_after(current_time, space.zone)
    await connection.execute(queries["set_next"], {"space_id": space.id, "id": report.id, "next_at": next_at})


async def send_report_now(
    connection: AsyncConnection, space_id: int, report_id: int, current_time: datetime
) -> None:
    """Make a report due. The schedule continues afterwards."""
    values = {"space_id": space_id, "id": report_id, "next_at": current_time}
    await connection.execute(queries["set_next"], values)


async def remove_report(connection: AsyncConnection, space_id: int, report_id: int) -> None:
    """Raise NotFound if missing."""
    values = {"space_id": space_id, "id": report_id}
    if await fetch_optional(connection, queries["remove"], values) is None:
        raise NotFound("Report")


def drop_period(query: str) -> str:
    """Return a page's choices without its dates, because the period follows the cadence."""
    pairs = parse_qsl(query)
    return urlencode([pair for pair in pairs if pair[0] not in ("period", "start_date", "end_date")])


def _list_values(space: Space, new: NewReport, schedule: Schedule, current_time: datetime) -> dict[str, Any]:
    view = read_view(new.name, new.page, new.query, SHAREABLE)
    query = drop_period(view["query"])
    only = ReportView.read(Query(query.encode())).only
    if any(text.startswith(_OF_PEOPLE) for text in only):
        raise Invalid.of("query", "cannot be sent: it is about one contact or company.")
    if not new.channel_ids:
        raise Invalid.of("channels", "must contain at least one recipient.")
    return {
        **view,
        "query": query,
        "space_id": space.id,
        "cadence": schedule.cadence,
        "day": schedule.day,
        "hour": schedule.hour,
        "with_csv": new.with_csv,
        "user_id": new.user_id,
        "channel_ids": sorted(set(new.channel_ids)),
        "next_at": schedule.next_after(current_time, space.zone),
    }


def _read_schedules(new: NewReport) -> list[Schedule]:
    if new.cadence not in frozenset(Cadence):
        raise Invalid.of("cadence", f"must be one of {', '.join(Cadence)}.")
    time = _TIME.fullmatch(new.time)
    if time is None:
        raise Invalid.of("time", "must be a full hour, from 00:00 to 23:00.")
    cadence, hour = Cadence(new.cadence), int(time[1])
    if cadence is not Cadence.WEEKLY:
        return [Schedule(cadence, 0 if cadence is Cadence.DAILY else 1, hour)]
    if not new.weekdays or not set(new.weekdays) <= set(WEEKDAYS):
        raise Invalid.of("weekdays", "must contain at least one day of the week.")
    return [Schedule(cadence, int(day), hour) for day in sorted(set(new.weekdays))]
