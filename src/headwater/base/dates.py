"""Dates and times as people read them, the same on pages, in reports and in messages."""

from __future__ import annotations

from datetime import date, datetime


def format_day(day: date) -> str:
    """Return `5 Nov 2026`."""
    return f"{day.day} {day:%b %Y}"


def format_short_day(day: date) -> str:
    """Return `5 Nov`, where the year is clear."""
    return f"{day.day} {day:%b}"


def format_weekday(day: date) -> str:
    """Return `Thu 5 Nov`."""
    return f"{day:%a} {format_short_day(day)}"


def format_month(day: date) -> str:
    """Return `Nov 2026`."""
    return f"{day:%b %Y}"


def format_day_and_time(moment: datetime) -> str:
    """Return `5 Nov 2026, 14:05`."""
    return f"{format_day(moment)}, {moment:%H:%M}"


def format_days(first: date, last: date) -> str:
    """Return common parts once: `3-9 May 2026`."""
    if first == last:
        return format_day(last)
    if first.year != last.year:
        return f"{format_day(first)} \u2013 {format_day(last)}"
    if first.month != last.month:
        return f"{format_short_day(first)} \u2013 {format_day(last)}"
    return f"{first.day}\u2013{format_day(last)}"
