"""The times of scheduled exports, and the days of a run, in the Space's time zone. Pure.

    daily, two days rewritten, in the first hour of 14 May:   [11] [12] [13]       until yesterday
    hourly, one day rewritten, at any hour of 14 May:                   [13] [14]  until now

Days without a complete file are always included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from headwater.http.inputs.timerange import first_instant

DAY = timedelta(days=1)
AFTER_HOUR = timedelta(minutes=5)
"""Time for the events of an hour to be processed."""
AFTER_DAY = timedelta(minutes=15)


Cadence = Literal["hourly", "daily"]


@dataclass(frozen=True)
class ScheduleDays:
    cadence: Cadence
    first_day: date
    next_day: date
    """The first day without a complete file."""
    rewritten_days: int

    def last_day(self, current_time: datetime, zone: ZoneInfo) -> date:
        today = current_time.astimezone(zone).date()
        return today if self.cadence == "hourly" else today - DAY

    def to_write(self, current_time: datetime, zone: ZoneInfo) -> list[date]:
        last = self.last_day(current_time, zone)
        first = min(self.next_day, last - DAY * self.rewritten_days)
        return list(each_day(max(first, self.first_day), last))

    def next_day_after(self, current_time: datetime, zone: ZoneInfo) -> date:
        """Return the first day incomplete after a run."""
        last = self.last_day(current_time, zone)
        unfinished = last if self.cadence == "hourly" else last + DAY
        return max(self.next_day, unfinished)


def next_run(cadence: Cadence, current_time: datetime, zone: ZoneInfo) -> datetime:
    """Return the first run after a moment."""
    if cadence == "hourly":
        hour = current_time.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        return next(
            run_at
            for run_at in (hour + AFTER_HOUR, hour + timedelta(hours=1) + AFTER_HOUR)
            if run_at > current_time
        )
    day = current_time.astimezone(zone).date() - DAY  # a clock may go back over midnight
    while True:
        due_at = first_instant(datetime.combine(day, time()), zone) + AFTER_DAY
        if due_at > current_time:
            return due_at
        day += DAY


def each_day(first: date, last: date) -> Iterator[date]:
    day = first
    while day <= last:
        yield day
        day += DAY
