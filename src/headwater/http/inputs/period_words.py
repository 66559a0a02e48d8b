"""Convert periods in words, such as 'last month', to dates in the Space's time zone. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from enum import StrEnum

from msgspec import Struct

from headwater.http.inputs.parameters import Input, Parameter
from headwater.http.inputs.timerange import months_after, months_between

EXAMPLES = "last month, last 30 days, this week, 2026-Q3, 2026-03-01 to 2026-03-14"
ALL_WORDS = (
    "today, yesterday, this week, last week, this month, last month, this quarter, last quarter, "
    "this year, last year, last 30 days, last 12 weeks, last 6 months, 2026, 2026-Q3, 2026-03, "
    "2026-03-14, 2026-03-01 to 2026-03-14"
)
LONGEST_COUNT = 1000
LONGEST_WORDS = 200
UNREADABLE = f"cannot be read; there are: {ALL_WORDS}."

_ONE_DAY, _WEEK = timedelta(days=1), timedelta(days=7)


class CalendarUnit(StrEnum):
    """Calendar units with names in period words."""

    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


_MONTHS = {CalendarUnit.MONTH: 1, CalendarUnit.QUARTER: 3, CalendarUnit.YEAR: 12}


class DateSpan(Struct, frozen=True):
    """Complete days, both ends included."""

    first: date
    last: date
    unit: CalendarUnit | None = None
    """The current calendar unit, if these are its days so far."""

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def before(self) -> DateSpan:
        """Return the comparison days: as far into the previous unit for an unfinished unit, the same number
        of calendar months for complete months, otherwise the same number of days. Raise ValueError or
        OverflowError at the calendar's end.
        """
        if self.unit is not None:
            return self._before_unit(self.unit)
        next_day = self.last + _ONE_DAY
        if self.first.day == next_day.day == 1:
            months = months_between(self.first, next_day)
            return _span_months(months_after(self.first, -months), months)
        return DateSpan(self.first - timedelta(days=self.days), self.first - _ONE_DAY)

    def _before_unit(self, unit: CalendarUnit) -> DateSpan:
        if unit is CalendarUnit.WEEK:
            return DateSpan(self.first - _WEEK, self.last - _WEEK)
        first = _start(self.first - _ONE_DAY, unit)
        last = months_after(self.last.replace(day=1), -_MONTHS[unit])
        days_there = (months_after(last, 1) - last).days
        return DateSpan(first, last.replace(day=min(self.last.day, days_there)))


def read_dates(words: str, today: date) -> DateSpan:
    """Return the days of a period in words. Weeks begin on Monday, and a current period ends today. Raise
    ValueError with the valid words.
    """
    if len(words) > LONGEST_WORDS:
        raise ValueError(UNREADABLE)
    text = re.sub(r"[\s_]+", " ", words.strip().lower())
    text = re.sub(r"^(?:(?:the|in|during|for|of) )+", "", text)
    for pattern, read_words in _FORMS:
        match = re.fullmatch(pattern, text)
        if match is not None:
            try:
                return read_words(match, today)
            except (ValueError, OverflowError):
                break
    raise ValueError(UNREADABLE)


def read_period(
    query: Input, period: Parameter[str], today: date, *, dated: bool, default: str = ""
) -> DateSpan | None:
    """Return the days of a query's period in words, by default `default`. None if the query has dates, if
    `default` is empty, or for invalid words, which are recorded in the query.
    """
    words = None if query.single(period.name) is None else period.read(query)
    if dated:
        if words:
            query.refuse(period.name, "must not be given with start_date and end_date.")
        return None
    try:
        return read_dates(words or default, today) if words or default else None
    except ValueError as error:
        query.refuse(period.name, str(error))
        return None


def _this_or_last(match: re.Match[str], today: date) -> DateSpan:
    word, unit = match[1], match[2]
    first = _start(today, unit)
    if word in ("this", "current"):
        return DateSpan(first, today, CalendarUnit(unit))
    return DateSpan(_start(first - _ONE_DAY, unit), first - _ONE_DAY)


def _last_few(match: re.Match[str], today: date) -> DateSpan:
    count, unit = int(match[1]), match[2]
    if not 1 <= count <= LONGEST_COUNT:
        raise ValueError(count)
    end = today + _ONE_DAY if unit == "day" else _start(today, unit)
    first = end
    for _ in range(count):
        first = first - _ONE_DAY if unit == "day" else _start(first - _ONE_DAY, unit)
    return DateSpan(first, end - _ONE_DAY)


def _start(day: date, unit: str) -> date:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    month = {"month": day.month, "quarter": day.month - (day.month - 1) % 3, "year": 1}[unit]
    return date(day.year, month, 1)


def _span_months(first: date, months: int) -> DateSpan:
    return DateSpan(first, months_after(first, months) - _ONE_DAY)


def _span_days(match: re.Match[str], _: date) -> DateSpan:
    first, last = date.fromisoformat(match[1]), date.fromisoformat(match[2])
    if last < first:
        raise ValueError(last)
    return DateSpan(first, last)


_DAY = "([0-9]{4}-[0-9]{2}-[0-9]{2})"
_FORMS: tuple[tuple[str, Callable[[re.Match[str], date], DateSpan]], ...] = (
    ("today", lambda _, today: DateSpan(today, today)),
    ("yesterday", lambda _, today: DateSpan(today - _ONE_DAY, today - _ONE_DAY)),
    ("(this|current|last|previous) (week|month|quarter|year)", _this_or_last),
    ("(?:last|past|previous) ([0-9]{1,4}) (day|week|month|quarter|year)s?", _last_few),
    ("([0-9]{4})", lambda match, _: _span_months(date(int(match[1]), 1, 1), 12)),
    (
        "([0-9]{4})[- ]?q([1-4])",
        lambda match, _: _span_months(date(int(match[1]), 3 * int(match[2]) - 2, 1), 3),
    ),
    (
        "q([1-4])[- ]?([0-9]{4})",
        lambda match, _: _span_months(date(int(match[2]), 3 * int(match[1]) - 2, 1), 3),
    ),
    ("([0-9]{4})-([0-9]{2})", lambda match, _: _span_months(date(int(match[1]), int(match[2]), 1), 1)),
    (_DAY, lambda match, _: DateSpan(date.fromisoformat(match[1]), date.fromisoformat(match[1]))),
    (f"(?:from )?{_DAY} (?:to|until|through|-) {_DAY}", _span_days),
)
