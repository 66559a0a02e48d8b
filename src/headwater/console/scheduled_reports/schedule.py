"""Times of sending in the Space's time zone, and the period that each report covers. Pure.

A time skipped by the clock is shifted forward; of a repeated time the first counts.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from msgspec import Struct

from headwater.http.inputs.timerange import first_instant

DAY = timedelta(days=1)


class Cadence(StrEnum):
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"


class Schedule(Struct, frozen=True):
    cadence: Cadence
    weekdays: tuple[int, ...]
    """Of weekly reports, 0 is Monday. Monthly ones are sent on the first."""
    send_at: time

    def next_after(self, moment: datetime, zone: ZoneInfo) -> datetime:
        day = moment.astimezone(zone).date() - DAY  # the clock may go back over midnight
        return next(due_at for due_at in self._list_times(day, DAY, zone) if due_at > moment)

    def last_until(self, moment: datetime, zone: ZoneInfo) -> datetime:
        day = moment.astimezone(zone).date() + DAY
        return next(due_at for due_at in self._list_times(day, -DAY, zone) if due_at <= moment)

    def _list_times(self, day: date, step: timedelta, zone: ZoneInfo) -> Iterator[datetime]:
        """Yield the times of sending from a day on, or back from it, without end."""
        while True:
            if self.is_on(day):
                yield first_instant(datetime.combine(day, self.send_at), zone)
            day += step

    def is_on(self, day: date) -> bool:
        match self.cadence:
            case Cadence.DAILY:
                return True
            case Cadence.WEEKLY:
                return day.weekday() in self.weekdays
            case Cadence.MONTHLY:
                return day.day == 1

    def words(self) -> str:
        clock = f"{self.send_at:%H:%M}"
        match self.cadence:
            case Cadence.DAILY:
                return f"every day at {clock}"
            case Cadence.WEEKLY:
                return f"every {_join_names(self.weekdays)} at {clock}"
            case Cadence.MONTHLY:
                return f"on the first of each month at {clock}"

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


def _join_names(weekdays: Sequence[int]) -> str:
    *earlier_names, last_name = (calendar.day_name[weekday] for weekday in weekdays)
    return f"{', '.join(earlier_names)} and {last_name}" if earlier_names else last_name
