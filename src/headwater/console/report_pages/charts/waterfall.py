"""Waterfalls from one total to another, one bar per table row, in inline SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from headwater.console.report_pages.charts.charts import WIDTH, digits
from headwater.reports.questions.platform_comparison import Count


class WaterfallBar(Struct, frozen=True):
    x: str
    width: str
    style: str
    """`total`, `up` or `down`."""


class WaterfallRow(Struct, frozen=True):
    title: str
    count: Count
    """A total, or a change."""
    is_total: bool
    bar: WaterfallBar

    @property
    def conversions(self) -> Fraction:
        """As reports have parts of events."""
        return Fraction(self.count.conversions)


class WaterfallSteps:
    """Rows of a comparison, from the first total to the last."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, Count, Count, bool]] = []
        self._level = Count()

    def add_total(self, title: str, count: Count) -> None:
        self._level = count
        self._lines.append((title, count, count, True))

    def add_change(self, title: str, change: Count) -> None:
        self._level = self._level.plus(change)
        self._lines.append((title, change, self._level, False))

    def draw(self, measure: str) -> tuple[WaterfallRow, ...]:
        """Draw the bars of `revenue` or `conversions`."""
        levels = [(float(getattr(level, measure)), is_total) for _, _, level, is_total in self._lines]
        return tuple(
            WaterfallRow(title, count, is_total, bar)
            for (title, count, _, is_total), bar in zip(self._lines, draw_waterfall(levels), strict=True)
        )


#     platform says   ██████████████████
#     remainder                  ▒▒▒▒▒▒▒
#     as the platform ███████████
#     window                     ░░░
#     ours            ██████████████
def draw_waterfall(levels: Sequence[tuple[float, bool]]) -> tuple[WaterfallBar, ...]:
    """Draw a bar per level: a total from 0, or the change from the level before."""
    values = [value for value, _ in levels]
    low, high = min([0.0, *values]), max([0.0, *values])
    scale = WIDTH / (high - low) if high > low else 0.0
    bars: list[WaterfallBar] = []
    for index, (value, is_total) in enumerate(levels):
        start = 0.0 if is_total else values[index - 1]
        style = "total" if is_total else "up" if value >= start else "down"
        bar_start, width = min(start, value) - low, abs(value - start)
        bars.append(WaterfallBar(digits(bar_start * scale), digits(width * scale), style))
    return tuple(bars)
