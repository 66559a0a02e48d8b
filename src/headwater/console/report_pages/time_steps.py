"""The hours, days, weeks or months of a chart: their keys, titles and views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import cached_property

from headwater.base.dates import format_month, format_short_day, format_weekday
from headwater.console.report_pages.charts.charts import WIDTH
from headwater.console.report_pages.view import ReportView
from headwater.reports.engine.measures import Figure
from headwater.reports.engine.time_buckets import TimeBuckets, compared_span, counterpart, cut
from headwater.reports.query import MOST_ROWS, Comparison, DateTimeSpan, Group, Measure, ReportQuery
from headwater.spaces.models import Space


@dataclass(frozen=True)
class TimeSteps:
    span: DateTimeSpan
    group: Group
    space: Space
    compare: Comparison

    @cached_property
    def keys(self) -> tuple[str, ...]:
        if self.group is Group.HOUR:
            return tuple(f"{hour:02}" for hour in range(24))
        return tuple(map(str, self._cut(self.span).days))

    def _cut(self, span: DateTimeSpan) -> TimeBuckets:
        return cut(span, self.group, self.space.zone)

    def align(self, values: Mapping[str, Figure], span: DateTimeSpan, empty: Figure) -> dict[str, Figure]:
        """Return the compared span's values by the keys of these steps, matched like a report's rows."""
        if self.group is Group.HOUR:
            return {key: values.get(key, empty) for key in self.keys}
        steps, compared_steps = self._cut(self.span), self._cut(span)
        numbers = {
            key: counterpart(index, self.compare, steps, compared_steps)
            for index, key in enumerate(self.keys, start=1)
        }
        return {
            key: values.get(f"{compared_steps.days[number - 1]}", empty)
            for key, number in numbers.items()
            if number is not None
        }

    def find_position(self, day: date) -> float | None:
        """Return where a day begins in a chart; None unless the steps are days."""
        if self.group is not Group.DAY or str(day) not in self.keys:
            return None
        return round(WIDTH * self.keys.index(str(day)) / len(self.keys), 1)

    def narrow(self, view: ReportView, key: str) -> ReportView:
        """Return the view of one step."""
        if self.group is Group.HOUR:
            return view.narrow(f"{Group.HOUR}:{key}")
        first = date.fromisoformat(key)
        start = max(datetime.combine(first, time()), self.span.start)
        end = min(datetime.combine(end_of_bucket(first, self.group), time(23, 59, 59)), self.span.end)
        return view.change(period="", start_date=str(start), end_date=str(end))

    def title(self, key: str) -> str:
        if self.group is Group.HOUR:
            return f"{key}:00"
        day = date.fromisoformat(key)
        if self.group is Group.MONTH:
            return format_month(day)
        return f"week of {format_short_day(day)}" if self.group is Group.WEEK else format_weekday(day)


def list_chart_queries(
    query: ReportQuery,
    group: Group,
    measures: tuple[Measure, ...],
    credited: Measure,
    compared: tuple[Measure, ...],
) -> list[ReportQuery]:
    """Return a report's measures by step, a credited one by step and channel, and with a comparison the
    `compared` ones of the compared period.
    """
    plain_query = replace(query, compare=Comparison.NONE, order_by=None, limit=MOST_ROWS)
    by_step = replace(plain_query, group_by=(group,), measures=measures)
    by_channel = replace(plain_query, group_by=(group, Group.CHANNEL), measures=(credited,))
    if query.compare is Comparison.NONE:
        return [by_step, by_channel]
    span = compared_span(replace(plain_query, compare=query.compare))
    return [by_step, by_channel, replace(by_step, start=span.start, end=span.end, measures=compared)]


def choose_step(span: DateTimeSpan, most_days: int, most_weeks: int) -> Group:
    """Return the step of a chart. A chart by day has at most `most_days`, by week at most `most_weeks`."""
    days = (span.end - span.start).days + 1
    if days == 1:
        return Group.HOUR
    if days <= most_days:
        return Group.DAY
    return Group.WEEK if days <= 7 * most_weeks else Group.MONTH


def end_of_bucket(first: date, group: Group) -> date:
    """Return the last day of the day, week or month that begins with `first`."""
    if group is Group.MONTH:
        return (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    return first + timedelta(days=6 if group is Group.WEEK else 0)
