"""Waterfalls from one total to another, one bar per table row, in inline SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from headwater.console.report_pages.charts.charts import WIDTH, digits


class WaterfallBar(Struct, frozen=True):
    x: str
    width: str
    style: str
    """`total`, `up` or `down`."""


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
        left, width = min(start, value) - low, abs(value - start)
        bars.append(WaterfallBar(digits(left * scale), digits(width * scale), style))
    return tuple(bars)
