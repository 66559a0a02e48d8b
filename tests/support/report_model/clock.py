"""Periods in a Space's time zone: the moments they contain, the periods they are compared with, and the days,
weeks and months they include.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

SECOND = timedelta(seconds=1)
STEPS = ("day", "week", "month")


@dataclass(frozen=True)
class Period:
    """A period from one second to another, both included, in local time."""

    start: datetime
    end: datetime

    def bounds(self, zone: ZoneInfo) -> tuple[datetime, datetime]:
        """Return its first instant, and the first instant after it.

        A second that occurs twice starts a period at its first occurrence and ends one at its second. A
        second that is skipped counts from the start of the skipped hour.
        """
        ends = [_instant(self.end, zone, fold) for fold in (0, 1)]
        return _instant(self.start, zone, 0), max(ends) + SECOND

    def holds(self, moment: datetime, zone: ZoneInfo) -> bool:
        start, end = self.bounds(zone)
        return start <= moment < end

    def begins_before(self, moment: datetime, zone: ZoneInfo) -> bool:
        """Return whether the period starts before the second of a moment."""
        return self.bounds(zone)[0] < moment.replace(microsecond=0)

    def ends_after(self, moment: datetime, zone: ZoneInfo) -> bool:
        """Return whether the period ends after the second of a moment."""
        return self.bounds(zone)[1] - SECOND > moment.replace(microsecond=0)

    def steps(self, group: str) -> list[str]:
        """Return the days, weeks or months with any date of the period, in order."""
        count = (self.end.date() - self.start.date()).days + 1
        dates = [self.start.date() + timedelta(days=number) for number in range(count)]
        return list(dict.fromkeys(bucket_key(group, day) for day in dates))


def _instant(local_time: datetime, zone: ZoneInfo, fold: int) -> datetime:
    return local_time.replace(tzinfo=zone, fold=fold).astimezone(UTC)


def bucket_key(group: str, day: date) -> str:
    """Return the key of the day, week or month that contains a date."""
    if group == "week":
        return (day - timedelta(days=day.weekday())).isoformat()
    return day.isoformat()[: 7 if group == "month" else 10]


def time_key(group: str, moment: datetime, zone: ZoneInfo) -> str:
    """Return the key of a moment: a day, week or month, the weekday from 1 (Monday) to 7, or the hour from 00
    to 23.
    """
    local = moment.astimezone(zone)
    if group == "weekday":
        return str(local.isoweekday())
    if group == "hour":
        return f"{local.hour:02}"
    return bucket_key(group, local.date())


def comparison_period(period: Period, compare: str, now: datetime | None = None) -> Period | None:
    """Return the comparison period. For a period in progress, it is as long as the elapsed part."""
    full_period = _whole_comparison(period, compare)
    if full_period is None or now is None or not period.start <= now <= period.end:
        return full_period
    return Period(full_period.start, min(full_period.end, _move_back(now, period, compare)))


def _move_back(now: datetime, period: Period, compare: str) -> datetime:
    if compare == "previous_year":
        return _subtract_year(now)
    if months := whole_months(period):
        first = _months_before(now.date().replace(day=1), months)
        days = monthrange(first.year, first.month)[1]
        if now.day > days:
            return datetime.combine(first.replace(day=days), time(23, 59, 59))
        return datetime.combine(first.replace(day=now.day), now.time())
    return now - (period.end - period.start + SECOND)


def _whole_comparison(period: Period, compare: str) -> Period | None:
    if compare == "previous_period":
        months = whole_months(period)
        if months:
            first = _months_before(period.start.date(), months)
            last = period.start.date() - timedelta(days=1)
            return Period(datetime.combine(first, time()), datetime.combine(last, time(23, 59, 59)))
        length = period.end - period.start + SECOND
        return Period(period.start - length, period.start - SECOND)
    if compare == "previous_year":
        if whole_months(period):
            next_month = period.end + SECOND
            return Period(_subtract_year(period.start), _subtract_year(next_month) - SECOND)
        return Period(_subtract_year(period.start), _subtract_year(period.end))
    return None


def whole_months(period: Period) -> int:
    """Return the number of calendar months in a period, or 0 if it isn't a whole number of months."""
    start, end = period.start, period.end
    last_day = monthrange(end.year, end.month)[1]
    begins = start.day == 1 and start.time() == time()
    if begins and end.day == last_day and end.time() == time(23, 59, 59) and end > start:
        return 12 * (end.year - start.year) + end.month - start.month + 1
    return 0


def counterpart(group: str, key: str, period: Period, other_period: Period, compare: str) -> str | None:
    """Return the matching day, week or month in the other period, or None."""
    other_steps = other_period.steps(group)
    if compare == "previous_period":
        position = period.steps(group).index(key)
        return other_steps[position] if position < len(other_steps) else None
    try:
        if group == "week":
            year, week, _ = date.fromisoformat(key).isocalendar()
            earlier_key = date.fromisocalendar(year - 1, week, 1).isoformat()
        elif group == "month":
            earlier_key = f"{int(key[:4]) - 1:04}{key[4:]}"
        else:
            day = date.fromisoformat(key)
            earlier_key = day.replace(year=day.year - 1).isoformat()
    except ValueError:  # a leap day, or a fifty-third week
        return None
    return earlier_key if earlier_key in other_steps else None


def _months_before(first_day: date, months: int) -> date:
    month_number = 12 * first_day.year + first_day.month - 1 - months
    return date(month_number // 12, month_number % 12 + 1, 1)


def _subtract_year(moment: datetime) -> datetime:
    if (moment.month, moment.day) == (2, 29):
        moment = moment.replace(day=28)
    return moment.replace(year=moment.year - 1)
