"""The chart of the first page: a tile's figure by day, week or month, with the previous period. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct

from headwater.console.overview_page.tiles import Tile, TileKind
from headwater.console.report_pages import figures
from headwater.console.report_pages.charts.bar_chart import NO_COLOUR, draw_bars
from headwater.console.report_pages.charts.charts import Series
from headwater.console.report_pages.course import (
    COLOURS,
    CourseChart,
    CourseStep,
    describe_step,
    read_channels,
    read_steps,
)
from headwater.console.report_pages.time_steps import TimeSteps
from headwater.console.report_pages.view import ReportView
from headwater.reports.engine.measures import Figure
from headwater.reports.engine.report import ReportResult
from headwater.reports.query import FigureColumn
from headwater.reports.questions.spend import CostReport

MOST_COLOURS = 5
ACCENT = 8
"""Index of the style sheet's `band-8`."""

_Values = Mapping[str, Figure]


class _Numbers(Struct, frozen=True):
    currency: str
    values: _Values
    previous: _Values
    channels: Mapping[str, _Values]


def draw_overview(
    view: ReportView,
    tile: Tile,
    steps: TimeSteps,
    reports: Sequence[ReportResult],
    costs: CostReport | None,
    *,
    stacks: bool,
) -> CourseChart:
    """Draw a tile's figure from its reports by step, or from the report of spend by step."""
    numbers = _read_costs(tile, steps, costs) if costs else _read_reports(tile, steps, reports)
    keys = steps.keys
    series = _stack(numbers, keys) if stacks and numbers.channels else _single(tile, numbers, keys)
    previous = [_plot(numbers.previous.get(key)) for key in keys] if numbers.previous else []
    chart = draw_bars(series, previous)
    chart_steps = tuple(
        CourseStep(
            steps.title(key),
            _describe(tile, numbers, key),
            steps.narrow(view, key).link("/events"),
            numbers.values.get(key, tile.empty),
            numbers.previous.get(key),
        )
        for key in keys
    )
    legend = series if len(series) > 1 else ()
    return CourseChart(chart, legend, chart_steps, steps, bool(numbers.previous))


def _read_reports(tile: Tile, steps: TimeSteps, reports: Sequence[ReportResult]) -> _Numbers:
    by_step, by_channel, *before = reports
    values = _read_tile(tile, by_step)
    channels: Mapping[str, _Values] = {}
    if tile.kind is not TileKind.UNATTRIBUTED:
        channels = read_channels(by_channel, by_channel.columns[0])
    previous: _Values = {}
    if before and before[0].began:
        previous = steps.align(_read_tile(tile, before[0]), before[0].span, 0)
    return _Numbers(by_step.currency, values, previous, channels)


def _read_tile(tile: Tile, report: ReportResult) -> dict[str, Figure]:
    whole_column, credited_column = FigureColumn(tile.measure), report.columns[-1]
    if tile.kind is TileKind.UNATTRIBUTED:
        return {
            row.keys[0].value or "": figures.difference(
                row.figures[whole_column], [row.figures[credited_column]]
            )
            for row in report.rows
        }
    return read_steps(report, whole_column)


def _read_costs(tile: Tile, steps: TimeSteps, costs: CostReport) -> _Numbers:
    def by_step(report: CostReport) -> dict[str, Figure]:
        return {row.key or "": getattr(row.figures, tile.figure) for row in report.rows}

    compared_values: _Values = {}
    if costs.comparable is not None:
        compared_values = steps.align(by_step(costs.comparable), costs.comparable.span, tile.empty)
    return _Numbers(costs.currency, by_step(costs), compared_values, {})


def _single(tile: Tile, numbers: _Numbers, keys: Sequence[str]) -> list[Series]:
    return [Series(tile.title, [_plot(numbers.values.get(key)) for key in keys], ACCENT)]


def _stack(numbers: _Numbers, keys: Sequence[str]) -> list[Series]:
    """Return the five largest channels, the others together, and what has no credit."""
    sizes = {
        name: sum(_plot(value) for value in values.values()) for name, values in numbers.channels.items()
    }
    largest = sorted(sizes, key=lambda name: -sizes[name])[:MOST_COLOURS]
    series = [
        Series(name, [_plot(numbers.channels[name].get(key)) for key in keys], COLOURS[name])
        for name in largest
    ]
    other_values = [
        _plot(numbers.values.get(key)) - sum(layer.values[index] for layer in series)
        for index, key in enumerate(keys)
    ]
    return [*series, Series("Other and unattributed", [round(value, 6) for value in other_values], NO_COLOUR)]


def _plot(value: Figure) -> float:
    return float(value or 0)


def _describe(tile: Tile, numbers: _Numbers, key: str) -> str:
    write = partial(figures.written, tile.form, currency=numbers.currency)
    return describe_step(
        f"{tile.title} {write(numbers.values.get(key, tile.empty))}",
        write(numbers.previous.get(key)) if numbers.previous else "",
        {name: values.get(key) for name, values in numbers.channels.items()},
        write,
    )
