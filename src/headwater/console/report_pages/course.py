"""Time series by channel and hour, day, week or month, with unattributed events and the comparison period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from headwater.console.report_pages.basis import Basis
from headwater.console.report_pages.charts.charts import WIDTH, Series, StackedChart, sparkline, stacked
from headwater.console.report_pages.figures import difference, share
from headwater.console.report_pages.time_steps import TimeSteps, choose_step
from headwater.console.report_pages.view import ReportView
from headwater.reports.engine.measures import Figure
from headwater.reports.engine.report import ReportResult
from headwater.reports.engine.time_buckets import compared_span
from headwater.reports.query import (
    MOST_ROWS,
    Comparison,
    DateTimeSpan,
    FigureColumn,
    Group,
    Measure,
    ReportQuery,
)
from headwater.sources.catalogue import CHANNELS
from headwater.sources.titles import format_title
from headwater.spaces.models import Space

UNATTRIBUTED = "Unattributed"
MOST_DAYS, MOST_WEEKS = 92, 57
"""The longest daily and weekly chart."""


@dataclass(frozen=True)
class CourseStep:
    """A time bucket, one row of the chart's table."""

    title: str
    view: ReportView
    values: tuple[Figure, ...]
    whole: Figure
    before: Figure
    """The comparison period's value; None without one."""


@dataclass(frozen=True)
class CourseChart:
    chart: StackedChart
    bands: tuple[str, ...]
    steps: tuple[CourseStep, ...]
    group: Group
    keys: tuple[str, ...] = ()

    def find_position(self, day: date) -> float | None:
        """Return None unless buckets are days."""
        if self.group is not Group.DAY or str(day) not in self.keys:
            return None
        return round(WIDTH * self.keys.index(str(day)) / len(self.keys), 1)


class Course:
    def __init__(self, basis: Basis, full_query: ReportQuery, space: Space) -> None:
        self._basis, self._query = basis, full_query
        span = DateTimeSpan(full_query.start, full_query.end)
        self._steps = TimeSteps(span, choose_step(span, MOST_DAYS, MOST_WEEKS), space)
        self.keys = self._steps.keys

    @property
    def group(self) -> Group:
        return self._steps.group

    @property
    def queries(self) -> list[ReportQuery]:
        plain = replace(self._query, compare=Comparison.NONE, order_by=None, limit=MOST_ROWS)
        by_step = replace(plain, group_by=(self.group,))
        by_channel = replace(plain, group_by=(self.group, Group.CHANNEL), measures=(self._basis.credited,))
        if self._query.compare is Comparison.NONE:
            return [by_step, by_channel]
        previous_span = compared_span(replace(plain, compare=self._query.compare))
        before = replace(
            by_step, start=previous_span.start, end=previous_span.end, measures=(self._basis.whole,)
        )
        return [by_step, by_channel, before]

    def sparkline(self, measure: Measure, by_step: ReportResult) -> str:
        values = _by_key(by_step, FigureColumn(measure))
        empty = None if measure in _UNKNOWN_OF_NOTHING else 0.0
        return sparkline([empty if (value := values.get(key)) is None else float(value) for key in self.keys])

    def unattributed_line(self, by_step: ReportResult) -> str:
        wholes = _by_key(by_step, self._basis.whole_column)
        credited = _by_key(by_step, self._basis.column)
        parts = (
            share(difference(wholes.get(key), [credited.get(key)]), wholes.get(key)) for key in self.keys
        )
        return sparkline([None if line is None else float(line) for line in parts])

    def chart(self, view: ReportView, reports: Sequence[ReportResult]) -> CourseChart:
        """Draw the reports of `queries`."""
        by_step, by_channel = reports[:2]
        wholes = _by_key(by_step, self._basis.whole_column)
        bands = _bands(by_channel, self._basis.column)
        if by_step.unattributed is not None:
            bands[UNATTRIBUTED] = {
                key: difference(full_query, (values.get(key) for values in bands.values()))
                for key, full_query in wholes.items()
            }
        before = self._before(reports[2]) if len(reports) > 2 else {}
        chart = stacked(
            [
                Series(name, [float(values.get(key) or 0) for key in self.keys], _colour(name))
                for name, values in bands.items()
            ],
            [float(before.get(key) or 0) for key in self.keys] if before else None,
        )
        steps = tuple(
            CourseStep(
                self._steps.title(key),
                self._steps.narrow(view, key),
                tuple(values.get(key, 0) for values in bands.values()),
                wholes.get(key, 0),
                before.get(key),
            )
            for key in self.keys
        )
        return CourseChart(chart, tuple(bands), steps, self.group, tuple(self.keys))

    def _before(self, report: ReportResult) -> dict[str, Figure]:
        """Return comparison values by current buckets' keys, aligned from the start."""
        values = _by_key(report, self._basis.whole_column)
        keys = self._steps.list_keys(report.span)
        return {key: values.get(previous_key, 0) for key, previous_key in zip(self.keys, keys, strict=False)}


_UNKNOWN_OF_NOTHING = frozenset(
    {Measure.AVERAGE_ORDER_VALUE, Measure.DAYS_TO_CONVERSION, Measure.TOUCHES_TO_CONVERSION}
)


_TITLES = [format_title(channel) for channel in CHANNELS]


def _colour(title: str) -> int:
    return _TITLES.index(title) if title in _TITLES else len(_TITLES)


def _by_key(report: ReportResult, column: FigureColumn) -> dict[str, Figure]:
    return {row.keys[0].value or "": row.figures[column] for row in report.rows}


def _bands(report: ReportResult, column: FigureColumn) -> dict[str, Mapping[str, Figure]]:
    """Return values by channel, in order, and bucket."""
    bands: dict[str, dict[str, Figure]] = {}
    for row in report.rows:
        step, channel = row.keys
        bands.setdefault(channel.value or "", {})[step.value or ""] = row.figures[column]
    return {format_title(name): bands[name] for name in CHANNELS if name in bands}
