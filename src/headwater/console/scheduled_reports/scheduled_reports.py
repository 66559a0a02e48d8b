from __future__ import annotations

import calendar
import re
from datetime import datetime, time
from typing import Any
from urllib.parse import parse_qsl, urlencode
from zoneinfo import ZoneInfo

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.console.report_pages.saved_views import find_broken_sharing_rules, read_shareable_view
from headwater.console.scheduled_reports.schedule import Cadence, Schedule
from headwater.database.jobs.due_spaces import DueSpaces
from headwater.database.queries import Queries, fetch_all, fetch_optional, make_cursor
from headwater.http.errors import Invalid, NotFound, require_found
from headwater.spaces.models import Space

queries = Queries(__name__, "scheduled_reports.sql")
due_spaces = DueSpaces(queries["due"])

MOST_REPORTS = 50
WEEKDAYS = {str(number): name for number, name in enumerate(calendar.day_name)}
_TIME = re.compile("(?:[01][0-9]|2[0-3]):[0-5][0-9]")
KEEPS_PERIOD = "/cohorts"
"""The page whose period selects first orders instead of figures."""


class ScheduledReport(Struct, frozen=True):
    """A view of a report page with its times and channels."""

    id: int
    name: str
    page: str
    query: str
    cadence: str
    weekdays: list[int]
    send_at: time
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
        return Schedule(Cadence(self.cadence), tuple(self.weekdays), self.send_at)

    def find_due(self, current_time: datetime, zone: ZoneInfo) -> datetime:
        """Return the time that sets the period: the schedule's latest, or its own if sent between them."""
        # `next_at` of a retry is neither. Late reports skip no day and send none twice.
        due_at = self.schedule.last_until(current_time, zone)
        return max(due_at, self.next_at) if self.next_at and self.attempts <= 1 else due_at

    def find_page(self, moment: datetime, zone: ZoneInfo) -> str:
        """Return the path of the page with the period of a report sent at `moment`."""
        period = self.find_period(moment, zone)
        pairs = [*parse_qsl(self.query), *([("period", period)] if period else [])]
        return f"{self.page}?{urlencode(pairs)}" if pairs else self.page

    def find_period(self, moment: datetime, zone: ZoneInfo) -> str:
        """Return the period of a report sent at `moment` in words; empty if the page keeps its own."""
        if self.page == KEEPS_PERIOD:
            return ""
        return self.schedule.period_words(moment.astimezone(zone).date())


class NewReport(Struct, frozen=True):
    name: str
    page: str
    query: str
    cadence: str
    weekdays: list[str]
    time: str
    with_csv: bool
    channel_ids: list[int] | None
    """None if a recipient does not exist."""
    user_id: int


async def list_reports(connection: AsyncConnection, space_id: int) -> list[ScheduledReport]:
    return await fetch_all(
        make_cursor(connection, ScheduledReport),
        queries["list"],
        {"space_id": space_id, "most": MOST_REPORTS},
    )


async def fetch_report(connection: AsyncConnection, space_id: int, report_id: int) -> ScheduledReport:
    """Raise NotFound if missing."""
    for report in await list_reports(connection, space_id):
        if report.id == report_id:
            return report
    raise NotFound("Report")


async def schedule_report(
    connection: AsyncConnection, space: Space, new: NewReport, current_time: datetime
) -> None:
    """Raise Invalid."""
    values = {**_list_values(space, new, current_time), "most": MOST_REPORTS}
    if await fetch_optional(connection, queries["create"], values) is None:
        raise Invalid.of("name", f"cannot be scheduled: there are {MOST_REPORTS}, delete one first.")


async def change_report(
    connection: AsyncConnection, space: Space, report_id: int, new: NewReport, current_time: datetime
) -> None:
    """Replace a report's name, times and channels, and resume it. Raise Invalid and NotFound."""
    values = {**_list_values(space, new, current_time), "id": report_id}
    require_found(await fetch_optional(connection, queries["change"], values), "Report")


async def resume_report(
    connection: AsyncConnection, space: Space, report: ScheduledReport, current_time: datetime
) -> None:
    next_at = report.schedule.next_after(current_time, space.zone)
    await set_next_time(connection, space.id, report.id, next_at)


async def reschedule_reports(connection: AsyncConnection, space: Space, current_time: datetime) -> None:
    """After a change of the Space's time zone: a monthly report would otherwise be sent on the last evening
    of a month, about the month before it. Reports already due are sent.
    """
    for report in await list_reports(connection, space.id):
        if report.next_at is not None and report.next_at > current_time:
            await resume_report(connection, space, report, current_time)


async def set_next_time(
    connection: AsyncConnection, space_id: int, report_id: int, next_at: datetime | None
) -> None:
    """Set when a report is sent next; then the schedule continues. None pauses it."""
    values = {"space_id": space_id, "id": report_id, "next_at": next_at}
    await connection.execute(queries["set_next"], values)


async def remove_report(connection: AsyncConnection, space_id: int, report_id: int) -> None:
    """Raise NotFound if missing."""
    values = {"space_id": space_id, "id": report_id}
    require_found(await fetch_optional(connection, queries["remove"], values), "Report")


def choose_query(page: str, query: str) -> str:
    """Return a page's choices without its dates, unless its period doesn't follow the cadence."""
    if page == KEEPS_PERIOD:
        return query
    pairs = parse_qsl(query)
    return urlencode([pair for pair in pairs if pair[0] not in ("period", "start_date", "end_date")])


def _list_values(space: Space, new: NewReport, current_time: datetime) -> dict[str, Any]:
    rules = find_broken_sharing_rules(new.name, new.page, new.query) | _find_broken_rules(new)
    if rules:
        raise Invalid.of_rules(rules)
    schedule = _make_schedule(new)
    return {
        **read_shareable_view(new.name, new.page, new.query),
        "query": choose_query(new.page, new.query),
        "space_id": space.id,
        "cadence": schedule.cadence,
        "weekdays": [*schedule.weekdays],
        "send_at": schedule.send_at,
        "with_csv": new.with_csv,
        "user_id": new.user_id,
        "channel_ids": sorted(set(new.channel_ids or ())),
        "next_at": schedule.next_after(current_time, space.zone),
    }


def _find_broken_rules(new: NewReport) -> dict[str, str]:
    rules: dict[str, str] = {}
    if new.cadence not in frozenset(Cadence):
        rules["cadence"] = f"must be one of {', '.join(Cadence)}."
    if new.cadence == Cadence.WEEKLY and not (new.weekdays and set(new.weekdays) <= set(WEEKDAYS)):
        rules["weekdays"] = "must contain at least one day of the week."
    if _TIME.fullmatch(new.time) is None:
        rules["time"] = "must be a time of day, from 00:00 to 23:59."
    if new.channel_ids is None:
        rules["channels"] = "must be existing recipients."
    elif not new.channel_ids:
        rules["channels"] = "must contain at least one recipient."
    return rules


def _make_schedule(new: NewReport) -> Schedule:
    cadence = Cadence(new.cadence)
    weekdays = sorted({int(day) for day in new.weekdays}) if cadence is Cadence.WEEKLY else ()
    return Schedule(cadence, tuple(weekdays), time.fromisoformat(new.time))
