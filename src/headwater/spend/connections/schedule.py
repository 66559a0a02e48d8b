"""When connections are pulled, and which days. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from headwater.database.jobs.backoff import climb
from headwater.database.jobs.due_tasks import RETRY_SECONDS
from headwater.spend.platforms.platform import (
    Days,
    Fault,
    FaultCause,
    PullLimits,
    ReportRequest,
    SpendAccount,
)

_STEPS = (30, 7, 1)
"""Days of a report, if longer ones are too large."""


def retry_pull(fault: Fault, failures: int, current_time: float) -> float:
    """Return when to pull again after a fault; `failures` are those before it."""
    wait = climb(RETRY_SECONDS, failures + 1)
    if fault.cause is FaultCause.THROTTLED and fault.wait_seconds is not None:
        wait = min(max(wait, fault.wait_seconds), 24 * 3600.0)
    return current_time + wait


def today_of(account: SpendAccount, moment: datetime) -> date:
    """Return the account's day; in UTC if its time zone is unknown."""
    return moment.astimezone(ZoneInfo(account.timezone or "UTC")).date()


def window_of(limits: PullLimits, today: date, last_pull: date | None, *, is_wide: bool) -> Days:
    """Return the days of a pull: those that the platform may still correct, or could since the last pull."""
    days = limits.weekly_window if is_wide and limits.weekly_window else limits.window
    days_missed = 0 if last_pull is None else max((today - last_pull).days - 1, 0)
    return Days(today - timedelta(days=min(days + days_missed - 1, limits.history)), today)


def history_of(limits: PullLimits, window: Days) -> tuple[date, date]:
    """Return the days before the first window: from one until before another."""
    return window.last - timedelta(days=limits.history), window.first


def split_days(days: Days, length: int) -> Iterator[Days]:
    """Yield parts of at most `length` days, the latest first."""
    last = days.last
    while last >= days.first:
        first = max(days.first, last - timedelta(days=length - 1))
        yield Days(first, last)
        last = first - timedelta(days=1)


def make_smaller(report: ReportRequest, limits: PullLimits) -> list[ReportRequest]:
    """Return the report in parts, or with smaller pages; nothing if it is as small as possible."""
    length = (report.days.last - report.days.first).days + 1
    for step in _STEPS:
        if step < length:
            return [report._replace(days=days) for days in split_days(report.days, step)]
    smaller = [size for size in limits.page_sizes if size < report.page_size]
    return [report._replace(page_size=smaller[0])] if smaller else []
