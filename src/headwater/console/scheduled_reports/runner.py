"""Build scheduled reports once and write them to the outbox in the same transaction."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.alerts.notifications.channels import fetch_target
from headwater.alerts.notifications.messages import add_message
from headwater.alerts.notifications.models import Notice
from headwater.alerts.notifications.watcher import WatcherDuty
from headwater.console.scheduled_reports.content import make_notice
from headwater.console.scheduled_reports.scheduled_reports import ScheduledReport, due_spaces, queries
from headwater.database.pool import Database
from headwater.database.queries import fetch_optional, make_cursor
from headwater.http.errors import Invalid, join_rules
from headwater.reports.engine.report_reader import CONNECTION_SECONDS
from headwater.reports.query import ReportRefused
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space

MOST_ATTEMPTS = 3
RETRY = timedelta(minutes=10)


class ReportRunner:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self, space_id: int, current_time: datetime) -> int:
        """Return the number of due reports built."""
        number = 0
        while await self._run_next(space_id, current_time):
            number += 1
        return number

    async def _run_next(self, space_id: int, current_time: datetime) -> bool:
        lease = uuid4()
        async with self._database.transaction() as connection:
            space = await fetch_space(connection, space_id)
            scheduled_report = await _claim(connection, space_id, current_time, lease)
        if scheduled_report is None:
            return False
        notice, error, is_final = None, None, True
        try:
            async with self._database.transaction(CONNECTION_SECONDS) as connection:
                notice = await make_notice(connection, space, scheduled_report, current_time)
        except Invalid as refusal:
            error = join_rules(refusal.errors)
        except ReportRefused as refusal:
            error, is_final = refusal.message, False
        async with self._database.transaction() as connection:
            may_try = not is_final and scheduled_report.attempts < MOST_ATTEMPTS
            outcome = _Outcome(current_time, error, current_time + RETRY if may_try else None)
            space = await fetch_space(connection, space_id)  # its time zone may have changed meanwhile
            if await _finish(connection, space, scheduled_report, lease, outcome):
                await _announce(connection, space_id, scheduled_report, notice)
        return True


async def _claim(
    connection: AsyncConnection, space_id: int, current_time: datetime, lease: UUID
) -> ScheduledReport | None:
    values = {"space_id": space_id, "now": current_time, "lease": lease}
    return await fetch_optional(make_cursor(connection, ScheduledReport), queries["claim"], values)


class _Outcome(Struct, frozen=True):
    at: datetime
    error: str | None
    retry_at: datetime | None
    """The time of the next attempt; None when done."""


async def _finish(
    connection: AsyncConnection, space: Space, scheduled: ScheduledReport, lease: UUID, outcome: _Outcome
) -> bool:
    retry_at = outcome.retry_at
    values: dict[str, Any] = {
        "space_id": space.id,
        "id": scheduled.id,
        "lease": lease,
        "now": outcome.at,
        "error": outcome.error,
        "attempts": scheduled.attempts if retry_at else 0,
        "due_at": scheduled.next_at,
        "next_at": retry_at or scheduled.schedule.next_after(outcome.at, space.zone),
    }
    return await fetch_optional(connection, queries["finish"], values) is not None


async def _announce(
    connection: AsyncConnection, space_id: int, scheduled: ScheduledReport, notice: Notice | None
) -> None:
    if notice is None:
        return
    for channel_id in scheduled.channel_ids:
        target = await fetch_target(connection, space_id, channel_id)
        if target is not None and target.confirmed_at is not None:
            await add_message(connection, space_id, channel_id, notice)


def report_duty(database: Database) -> WatcherDuty:
    return WatcherDuty("reports", due_spaces.find, ReportRunner(database).run)
