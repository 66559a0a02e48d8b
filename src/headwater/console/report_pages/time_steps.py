"""The hours, days, weeks or months of a chart: their keys, titles and views."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from headwater.console.report_pages.view import ReportView
from headwater.reports.engine.time_buckets import cut
from headwater.reports.query import DateTimeSpan, Group
from headwater.spaces.models import Space


@dataclass(frozen=True)
class TimeSteps:
    span: DateTimeSpan
    group: Group
    space: Space

    @property
    def keys(self) -> list[str]:
        return self.list_keys(self.span)

    def list_keys(self, span: DateTimeSpan) -> list[str]:
        if self.group is Group.HOUR:
            return [f"{hour:02}" for hour in range(24)]
        return [day.isoformat() for day in cut(span, self.group, self.space.zone).days]

    def narrow(self, view: ReportView, key: str) -> ReportView:
        """Return the view of one step."""
        if self.group is Group.HOUR:
            return view.narrowed(f"{Group.HOUR}:{key}")
        first = date.fromisoformat(key)
        start = max(datetime.combine(first, time()), self.span.start)
        end = min(datetime.combine(_end_of_bucket(first, self.group), time(23, 59, 59)), self.span.end)
        return view.changed(period="", start_date=str(start), end_date=str(end))

    def title(self, key: str) -> str:
        if self.group is Group.HOUR:
            return f"{key}:00"
        day = date.fromisoformat(key)
        if self.group is Group.MONTH:
            return f"{day:%b %Y}"
        return f"week of {day.day} {day:%b}" if self.group is Group.WEEK else f"{day:%a} {day.day} {day:%b}"


def choose_step(span: DateTimeSpan, most_days: int, most_weeks: int) -> Group:
    """Return the step of a chart with at most so many days or weeks."""
    days = (span.end - span.start).days + 1
    if days == 1:
        return Group.HOUR
    if days <= most_days:
        return Group.DAY
    return Group.WEEK if days <= 7 * most_weeks else Group.MONTH


def _end_of_bucket(first: date, group: Group) -> date:
    if group is Group.MONTH:
        return (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    return first + timedelta(days=6 if group is Group.WEEK else 0)
