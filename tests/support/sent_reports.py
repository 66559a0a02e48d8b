"""The message of a scheduled report, built on request."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, time

import psycopg

from headwater.alerts.notifications.models import Notice
from headwater.console.scheduled_reports.content import make_notice
from headwater.console.scheduled_reports.schedule import Cadence, Schedule
from headwater.console.scheduled_reports.scheduled_reports import ScheduledReport
from headwater.spaces.spaces import fetch_space

EIGHT = time(8)
DAILY, MONTHLY = (Schedule(cadence, (), EIGHT) for cadence in (Cadence.DAILY, Cadence.MONTHLY))
MONDAYS = Schedule(Cadence.WEEKLY, (0,), EIGHT)


def send(database_url: str, space_id: int, page: str, query: str, schedule: Schedule = DAILY) -> Notice:
    """Return the message of a page's report that is sent now, with its CSV file."""
    current_time = datetime.now(UTC)
    report = ScheduledReport(
        id=1, name="Report", page=page, query=query, cadence=schedule.cadence,
        weekdays=[*schedule.weekdays], send_at=schedule.send_at, with_csv=True, channel_ids=[],
        made_by=None, next_at=current_time, last_at=None, error=None,
    )  # fmt: skip

    async def make() -> Notice:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            space = await fetch_space(connection, space_id)
            await connection.rollback()
            return await make_notice(connection, space, report, current_time)

    return asyncio.run(make())
