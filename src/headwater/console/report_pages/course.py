"""Time series by channel and hour, day, week or month, with unattributed events and the comparison period."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct

from headwater.console.report_pages import figures
from headwater.console.report_pages.basis import Basis
from headwater.console.report_pages.charts.bar_chart import NO_COLOUR, BarChart, draw_bars
from headwater.console.report_pages.charts.charts import Series, sparkline
from headwater.console.report_pages.figures import difference, share
from headwater.console.report_pages.time_steps import TimeSteps, choose_step, list_chart_queries
from headwater.console.report_pages.view import ReportView
from headwater.reports.engine.measures import Figure
from headwater.reports.engine.report import ReportResult
from headwater.reports.query import DateTimeSpan, FigureColumn, Measure, ReportQuery
from headwater.sources.catalogue import CHANNELS
from headwater.sources.titles import format_title
from headwater.spaces.models import Space

UNATTRIBUTED = "Unattributed"
MOST_DAYS, MOST_WEEKS = 92, 57
"""The longest daily and weekly chart."""


class CourseStep(Struct, frozen=True):
    """A time bucket, one row of the chart's table."""

    title: str
    text: str
    """The whole, the former one and the largest parts, for a tooltip."""
    link: str
    whole: Figure
    before: Figure
    """The comparison period's value; None without one."""
    values: tuple[Figure, ...] = ()
    """The layers' figures."""


class CourseChart(Struct, frozen=True):
    chart: BarChart
    legend: Sequence[Series]
    """The layers of a stacked chart, also the columns of its table."""
    steps: tuple[CourseStep, ...]
    time: TimeSteps
    has_previous: bool


class Course:
    def __init__(self, basis: Basis, full_query: ReportQuery, space: Space) -> None:
        self._basis, self._query = basis, full_query
        span = DateTimeSpan(full_query.start, full_query.end)
        step = choose_step(span, MOST_DAYS, MOST_WEEKS)
        self._steps = TimeSteps(span, step, space, full_query.compare)
        self.keys = self._steps.keys

    @property
    def queries(self) -> list[ReportQuery]:
        basis = self._basis
        return list_chart_queries(
            self._query, self._steps.group, self._query.measures, basis.credited, (basis.whole,)
        )

    def sparkline(self, measure: Measure, by_step: ReportResult) -> str:
        values = read_steps(by_step, FigureColumn(measure))
        empty = None if measure in _UNKNOWN_OF_NOTHING else 0.0
        return sparkline([empty if (value := values.get(key)) is None else float(value) for key in self.keys])

    def unattributed_line(self, by_step: ReportResult) -> str:
        whole_figures = read_steps(by_step, self._basis.whole_column)
        credited = read_steps(by_step, self._basis.column)
        parts = (
            share(difference(whole_figures.get(key), [credited.get(key)]), whole_figures.get(key))
            for key in self.keys
        )
        return sparkline([None if line is None else float(line) for line in parts])

    def chart(self, view: ReportView, reports: Sequence[ReportResult]) -> CourseChart:
        """Draw the reports of `queries`."""
        by_step, by_channel = reports[:2]
        whole_figures = read_steps(by_step, self._basis.whole_column)
        layers = read_channels(by_channel, self._basis.column)
        if by_step.unattributed is not None:
            layers[UNATTRIBUTED] = {
                key: difference(whole, (values.get(key) for values in layers.values()))
                for key, whole in whole_figures.items()
            }
        before: Mapping[str, Figure] = {}
        if len(reports) > 2:
            previous_figures = read_steps(reports[2], self._basis.whole_column)
            before = self._steps.align(previous_figures, reports[2].span, 0)
        series = [
            Series(name, [float(values.get(key) or 0) for key in self.keys], COLOURS.get(name, NO_COLOUR))
            for name, values in layers.items()
        ]
        chart = draw_bars(series, [float(before.get(key) or 0) for key in self.keys] if before else [])
        write = partial(figures.written, self._basis.whole, currency=by_step.currency)

        def make_step(key: str) -> CourseStep:
            whole, parts = whole_figures.get(key, 0), {name: layers[name].get(key, 0) for name in layers}
            former = before.get(key)
            return CourseStep(
                self._steps.title(key),
                describe_step(f"All {write(whole)}", write(former) if before else "", parts, write),
                self._steps.narrow(view, key).link("/channels"),
                whole,
                former,
                tuple(parts.values()),
            )

        return CourseChart(
            chart, series, tuple(make_step(key) for key in self.keys), self._steps, bool(before)
        )


_UNKNOWN_OF_NOTHING = frozenset(
    {Measure.AVERAGE_ORDER_VALUE, Measure.DAYS_TO_CONVERSION, Measure.TOUCHES_TO_CONVERSION}
)


COLOURS = {format_title(channel): colour for colour, channel in enumerate(CHANNELS)}
"""Indexes of the style sheet's `band-0` to `band-7`; a channel has the same one on every page."""
_MOST_PARTS = 3


def describe_step(
    whole: str, former: str, parts: Mapping[str, Figure], write: Callable[[Figure], str]
) -> str:
    """Describe a step of a chart: its whole, the former one if any, and its largest parts, also negative
    ones.
    """
    largest = sorted(
        ((value, name) for name, value in parts.items() if value), key=lambda pair: -abs(float(pair[0]))
    )
    texts = [whole, *([f"before {former}"] if former else [])]
    return " · ".join([*texts, *(f"{name} {write(value)}" for value, name in largest[:_MOST_PARTS])])


def read_steps(report: ReportResult, column: FigureColumn) -> dict[str, Figure]:
    """Return values by step."""
    return {row.keys[0].value or "": row.figures[column] for row in report.rows}


def read_channels(report: ReportResult, column: FigureColumn) -> dict[str, Mapping[str, Figure]]:
    """Return values by channel title, in order, and step."""
    bands: dict[str, dict[str, Figure]] = {}
    for row in report.rows:
        step, channel = row.keys
        bands.setdefault(channel.value or "", {})[step.value or ""] = row.figures[column]
    return {format_title(name): bands[name] for name in CHANNELS if name in bands}
