"""Convert local date-times to instants: the only place where a Space's time becomes UTC.

PostgreSQL and Python disagree about a repeated hour, and their zones may be of different years, so the
database converts only moments to local time, by offsets that it is given. Bounds include their whole second;
results are half-open, for `>=` and `<`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

MOMENT_SCHEMA: dict[str, Any] = {
    "type": "string",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$",
    "example": "2026-05-13 00:00:00",
}

# strptime would also accept missing zeros, extra spaces and other scripts' digits.
_DAY = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_MOMENT = re.compile(_DAY + r" ([0-9]{2}):([0-9]{2}):([0-9]{2})")
_DATE = re.compile(_DAY)

_BEFORE_CHANGES, _LAST_CHANGE = datetime(1840, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
_STEP = timedelta(days=6)
"""Every zone has kept each of its offsets for at least six days."""
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Instants from `start` up to but not including `end`; empty unless `end` is later."""

    start: datetime
    end: datetime


EVER = TimeRange(_EARLIEST, _LATEST)
NEVER = TimeRange(_LATEST, _EARLIEST)
"""An empty range, in place of an invalid one."""


def parse_moment(text: str) -> datetime:
    """Parse `YYYY-MM-DD HH:MM:SS` as a local date-time. Raise ValueError with the broken rule."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError("must have the format YYYY-MM-DD HH:MM:SS.")
    year, month, day, hour, minute, second = map(int, match.groups())
    try:
        return datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - a zone comes later
    except ValueError:
        raise ValueError("must be a date and time that exist.") from None


def parse_day(text: str) -> date:
    """Parse `YYYY-MM-DD`, or the day of a `YYYY-MM-DD HH:MM:SS`. Raise ValueError with the broken rule."""
    if _MOMENT.fullmatch(text):
        return parse_moment(text).date()
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError("must have the format YYYY-MM-DD.")
    try:
        return date(*map(int, match.groups()))
    except ValueError:
        raise ValueError("must be a date that exists.") from None


def first_instant(local: datetime, zone: ZoneInfo) -> datetime:
    """Return the first instant with the local time `local`. A time in a gap is shifted forward."""
    return _instant(local, zone, fold=0)


def last_instant(local: datetime, zone: ZoneInfo) -> datetime:
    """Return the last instant with the local time `local`. A time in a gap is shifted forward.

    In a repeated hour the second reading (`fold=1`) is the later one; in a gap the first is.
    """
    return max(_instant(local, zone, fold=0), _instant(local, zone, fold=1))


def between(start: datetime, end: datetime, zone: ZoneInfo) -> TimeRange:
    """Return the range from a local `start` through the last second, `end`."""
    return TimeRange(first_instant(start, zone), _add_second(last_instant(end, zone)))


def whole_days(first: date, last: date, zone: ZoneInfo) -> TimeRange:
    """Return the range from the midnight that begins `first` to the one that ends `last`."""
    start = first_instant(datetime.combine(first, time()), zone)
    if last == date.max:
        return TimeRange(start, _LATEST)
    next_midnight = datetime.combine(last + timedelta(days=1), time())
    return TimeRange(start, first_instant(next_midnight, zone))


def months_after(day: date, months: int) -> date:
    """Return the first day of the month `months` after a day's month; negative goes back. Raise ValueError
    outside the calendar.
    """
    month_number = day.year * 12 + day.month - 1 + months
    return date(month_number // 12, month_number % 12 + 1, 1)


def months_between(first: date, last: date) -> int:
    return 12 * (last.year - first.year) + last.month - first.month


@cache
def bind_zone(zone: ZoneInfo) -> dict[str, Any]:
    """Return `changes` and `offsets`, which the database's function `local_time` takes: as text, because
    psycopg would write lists anew for each statement.
    """
    changes = _find_changes(zone)
    starts = ",".join(start.isoformat() for start, _ in changes)
    seconds = ",".join(f"{offset.total_seconds():.0f}s" for _, offset in changes)
    return {"changes": f"{{{starts}}}", "offsets": f"{{{seconds}}}"}


def _find_changes(zone: ZoneInfo) -> list[tuple[datetime, timedelta]]:
    """Return each offset until 2100, with the instant when it begins."""
    moment, offset = _BEFORE_CHANGES, _find_offset(_BEFORE_CHANGES, zone)
    changes = [(moment, offset)]
    while moment < _LAST_CHANGE:
        next_offset = _find_offset(moment + _STEP, zone)
        if next_offset != offset:
            offset = next_offset
            changes.append((_find_start(offset, moment, zone), offset))
        moment += _STEP
    return changes


def _find_start(offset: timedelta, moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the second when an offset begins, within a step after a moment."""

    def has_begun(second: int) -> bool:
        return _find_offset(moment + timedelta(seconds=second), zone) == offset

    seconds = range(_STEP // timedelta(seconds=1))
    return moment + timedelta(seconds=bisect_left(seconds, True, key=has_begun))


def _find_offset(moment: datetime, zone: ZoneInfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta()


def _instant(local: datetime, zone: ZoneInfo, *, fold: int) -> datetime:
    """Clamp to the years 1 to 9999 in UTC."""
    offset = local.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta()
    try:
        return local.replace(tzinfo=UTC) - offset
    except OverflowError:
        return _EARLIEST if offset > timedelta() else _LATEST


def _add_second(instant: datetime) -> datetime:
    try:
        return instant + timedelta(seconds=1)
    except OverflowError:
        return _LATEST
