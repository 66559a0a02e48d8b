"""Local days, weeks and months of a range, and compared ranges. Pure: the database only sees instants."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from headwater.http.errors import Invalid
from headwater.http.inputs.period_words import CalendarUnit
from headwater.http.inputs.timerange import between, first_instant, months_between
from headwater.reports.query import Comparison, DateTimeSpan, Group, ReportQuery

MOST_STEPS = 4_000
"""Eleven years of days."""
SHORTEST = {Group.DAY: 1, Group.WEEK: 7, Group.MONTH: 28}
"""Least days by group."""
_SECOND = timedelta(seconds=1)
_MONTHS = {CalendarUnit.MONTH: 1, CalendarUnit.QUARTER: 3, CalendarUnit.YEAR: 12}


@dataclass(frozen=True)
class TimeBuckets:
    """Oldest first."""

    group: Group
    days: list[date]
    """The first day of each bucket."""
    starts: list[datetime]


def cut(span: DateTimeSpan, group: Group, zone: ZoneInfo, field: str = "group_by") -> TimeBuckets:
    """Cut a range, without days that the zone skipped. Raises Invalid for too many buckets in `field`."""
    if (span.end - span.start).days / SHORTEST[group] > MOST_STEPS:
        rule = f"cannot have {group}: the range has more than {MOST_STEPS} of them."
        raise Invalid.of(field, rule)
    instants = between(span.start, span.end, zone)
    first, last = find_first_day(span.start.date(), group), span.end.date()
    days: list[date] = []
    starts: list[datetime] = []
    while first <= last:
        start = max(first_instant(datetime.combine(first, time()), zone), instants.start)
        if starts and start <= starts[-1]:  # the previous bucket is empty
            days.pop()
            starts.pop()
        days.append(first)
        starts.append(start)
        next_day = _find_next_day(first, group)
        if next_day is None:
            break
        first = next_day
    return TimeBuckets(group, days, starts)


def compared_span(query: ReportQuery) -> DateTimeSpan:
    """Return the compared range, up to the same time if the range is in progress. Raises Invalid before the
    calendar begins.
    """
    try:
        move = _move_back(query)
        start = move(query.start)
        end = query.start - _SECOND if _is_previous(query) else _end_year_before(query.span)
        if query.now is not None and query.start <= query.now <= query.end:
            end = min(end, move(query.now))
        return DateTimeSpan(start, end)
    except (OverflowError, ValueError):
        rule = f"cannot be {query.compare}: the calendar does not reach that far back."
        raise Invalid.of("compare", rule) from None


# This month, on 26 November at 14:05, and the last 3 days:
#
#     1 Oct ├────────────▶ 26 Oct 14:05      1 Nov ├────────────▶ 26 Nov 14:05
#                            21 Nov ├───▶ 23 Nov 14:05 │ 24 Nov ├───▶ 26 Nov 14:05


def _move_back(query: ReportQuery) -> Callable[[datetime], datetime]:
    """Return a function that moves a moment to the earlier range."""
    if not _is_previous(query):
        return _year_before
    months = _MONTHS.get(query.unit, 0) if query.unit else _whole_months(query.span)
    if months:
        return lambda moment: _months_before(moment, months)
    length = timedelta(days=7) if query.unit else query.end - query.start + _SECOND
    return lambda moment: moment - length


def _is_previous(query: ReportQuery) -> bool:
    return query.compare is Comparison.PREVIOUS_PERIOD


def counterpart(
    bucket: int, compare: Comparison, steps: TimeBuckets, other_buckets: TimeBuckets
) -> int | None:
    """Return the number, from 1, of the compared bucket.

    In the previous period it is the same number. In the previous year it is the same date, month or ISO week;
    None for some leap days and 53rd weeks.
    """
    if compare is Comparison.PREVIOUS_PERIOD:
        return bucket if bucket <= len(other_buckets.days) else None
    day = steps.days[bucket - 1]
    try:
        if steps.group is Group.WEEK:
            year, week, _ = day.isocalendar()
            target_day = date.fromisocalendar(year - 1, week, 1)
        else:
            target_day = day.replace(year=day.year - 1)
        return other_buckets.days.index(target_day) + 1
    except ValueError:
        return None


def name_bucket(bucket: int, steps: TimeBuckets) -> tuple[str, str]:
    """Return the first day and the name."""
    day = steps.days[bucket - 1]
    return day.isoformat(), name_day(day, steps.group)


def name_day(day: date, group: Group) -> str:
    """Name a day, or the week or month that begins with it: `2026-05-13`, `2026-W20` or `2026-05`."""
    if group is Group.WEEK:
        year, week, _ = day.isocalendar()
        return f"{year:04}-W{week:02}"
    return day.isoformat()[: 7 if group is Group.MONTH else 10]


def name_key(bucket: int, steps: TimeBuckets) -> str:
    """Return `2026-05-13` (for a week, its Monday) or `2026-05`."""
    day, name = name_bucket(bucket, steps)
    return name if steps.group is Group.MONTH else day


def find_first_day(day: date, group: Group | None) -> date:
    """Return the first day of a week or month; the day itself for another group."""
    if group is Group.WEEK:
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if group is Group.MONTH else day


def _find_next_day(day: date, group: Group) -> date | None:
    """Return None at the end of the calendar."""
    try:
        if group is Group.MONTH:
            return (day + timedelta(days=31)).replace(day=1)
        return day + timedelta(days=SHORTEST[group])
    except OverflowError:
        return None


def _whole_months(span: DateTimeSpan) -> int:
    """Return 0 if the months aren't whole."""
    last = span.end.replace(day=monthrange(span.end.year, span.end.month)[1], hour=23, minute=59, second=59)
    if span.end != last or span.start != datetime.combine(span.start.replace(day=1), time()):
        return 0
    return months_between(span.start, span.end) + 1


def _months_before(moment: datetime, months: int) -> datetime:
    """Go back some months; to the month's last second if it lacks the day."""
    years, month = divmod(moment.year * 12 + moment.month - 1 - months, 12)
    last = monthrange(years, month + 1)[1]
    if moment.day > last:
        return moment.replace(year=years, month=month + 1, day=last, hour=23, minute=59, second=59)
    return moment.replace(year=years, month=month + 1)


def _year_before(moment: datetime) -> datetime:
    if (moment.month, moment.day) == (2, 29):
        moment = moment.replace(day=28)
    return moment.replace(year=moment.year - 1)


def _end_year_before(span: DateTimeSpan) -> datetime:
    """Return the same date; for whole months the month's last day, also if that is 29 February."""
    end = _year_before(span.end)
    return end.replace(day=monthrange(end.year, end.month)[1]) if _whole_months(span) else end


@dataclass(frozen=True)
class ReportPeriod:
    span: DateTimeSpan
    steps: Mapping[int, TimeBuckets]
    """By position of the dimension."""
