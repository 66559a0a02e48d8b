from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import class_row

from headwater.alerts.notifications.channels import list_channels
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
_OF_PEOPLE = (f"{Group.CONTACT}:", f"{Group.COMPANY}:")


@dataclass(frozen=True)
class ScheduledReport:
    """A saved view with its times and channels."""

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
    next_at: datetime
    last_at: datetime | None
    error: str | None
    attempts: int = 0

    @property
    def end(self) -> str:
        return f"{self.page}?{self.query}" if self.query else self.page

    @property
    def schedule(self) -> Schedule:
        return Schedule(Cadence(self.cadence), self.day, self.hour)


@dataclass(frozen=True)
class NewReport:
    name: str
    page: str
    query: str
    cadence: str
    day: str
    hour: str
    with_csv: bool
    channel_ids: list[str]
    user_id: int


async def list_reports(connection: AsyncConnection, space_id: int) -> list[ScheduledReport]:
    cursor = connection.cursor(row_factory=class_row(ScheduledReport))
    return await fetch_all(cursor, queries["list"], {"space_id": space_id, "most": MOST})


async def schedule_report(
    connection: AsyncConnection, space: Space, new: NewReport, current_time: datetime
) -> int:
    """Return the report's id. Raise Invalid."""
    view = read_view(new.name, new.page, new.query, SHAREABLE)
    only = ReportView.read(Query(view["query"].encode())).only
    if any(text.startswith(_OF_PEOPLE) for text in only):
        raise Invalid.of("query", "cannot be sent: it is about one contact or company.")
    schedule = _read_schedule(new)
    channels = {str(channel.id): channel.id for channel in await list_channels(connection, space.id)}
    if not new.channel_ids or not set(new.channel_ids) <= set(channels):
        raise Invalid.of("channels", "must contain at least one existing channel.")
    values: dict[str, Any] = {
        **view,
        "space_id": space.id,
        "cadence": schedule.cadence,
        "day": schedule.day,
        "hour": schedule.hour,
        "with_csv": new.with_csv,
        "user_id": new.user_id,
        "most": MOST,
        "channel_ids": sorted({channels[text] for text in new.channel_ids}),
        "next_at": schedule.next_after(current_time, space.zone),
    }
    row = await fetch_optional(connection, queries["create"], values)
    if row is None:
        raise Invalid.of("name", f"cannot be scheduled: there are {MOST}, remove one first.")
    return row[0]


async def remove_report(connection: AsyncConnection, space_id: int, report_id: int) -> None:
    """Raise NotFound if missing."""
    values = {"space_id": space_id, "id": report_id}
    if await fetch_optional(connection, queries["remove"], values) is None:
        raise NotFound("Report")


def _read_schedule(new: NewReport) -> Schedule:
    if new.cadence not in frozenset(Cadence):
        raise Invalid.of("cadence", f"must be one of {', '.join(Cadence)}.")
    cadence = Cadence(new.cadence)
    least, greatest = (0, 6) if cadence is Cadence.WEEKLY else (1, 31)
    day = 0 if cadence is Cadence.DAILY else _whole("day", new.day, least, greatest)
    return Schedule(cadence, day, _whole("hour", new.hour, 0, 23))


def _whole(field: str, text: str, least: int, greatest: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 2 and least <= int(text) <= greatest):
        raise Invalid.of(field, f"must be from {least} to {greatest}.")
    return int(text)
