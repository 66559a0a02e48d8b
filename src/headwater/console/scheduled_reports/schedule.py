"""Times of sending in the Space's time zone, and the period that each report covers. Pure.

A time skipped by the clock moves to the end of the gap; of a repeated time the first counts.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

DAY = timedelta(days=1)


class Cadence(StrEnum):
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"


@dataclass(frozen=True)
class Schedule:
    cadence: Cadence
    day: int
    """For weekly reports the weekday, 0 is Monday. Monthly ones are sent on the first."""
    hour: int

    def next_after(self, moment: datetime, zone: ZoneInfo) -> datetime:
        day = moment.astimezone(zone).date() - DAY  # the clock may go back over midnight
        while True:
            if self.is_on(day):
                due = datetime.combine(day, time(self.hour), zone).astimezone(UTC)
                if due > moment:
                    return due
            day += DAY

    def is_on(self, day: date) -> bool:
        match self.cadence:
            case Cadence.DAILY:
                return True
            case Cadence.WEEKLY:
                return day.weekday() == self.day
            case Cadence.MONTHLY:
                return day.day == 1

    def words(self) -> str:
        hour = f"{self.hour:02}:00"
        match self.cadence:
            case Cadence.DAILY:
                return f"every day at {hour}"
            case Cadence.WEEKLY:
                return f"every {calendar.day_name[self.day]} at {hour}"
            case Cadence.MONTHLY:
                return f"on the first of each month at {hour}"

    def period_words(self, today: date) -> str:
        """Return the period in words that a report shows: yesterday, the last 7 full days or last month."""
        yesterday = today - DAY
        match self.cadence:
            case Cadence.DAILY:
                return f"{yesterday}"
            case Cadence.WEEKLY:
                return f"{today - 7 * DAY} to {yesterday}"
            case Cadence.MONTHLY:
                return f"{today.replace(day=1) - DAY:%Y-%m}"
