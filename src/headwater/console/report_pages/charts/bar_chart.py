"""Bars over time, each with the previous period's as an outline behind it. Pure; the page adds the text.

Shapes use a box of WIDTH by HEIGHT units that the page stretches. Values below zero hang from the zero line:

    2k ┤     ┌┐ ██
       │  ██ ││ ██          █ this period
     0 ┼──██─┴┴─██──██──    ┌┐ the previous one
       │            ██      refunds above a day's orders
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from msgspec import Struct

from headwater.console.report_pages.charts.charts import HEIGHT, WIDTH, Series, digits

NO_COLOUR = -1
"""Of the style sheet's `band-none`."""
_BAR, _OUTLINE = 0.62, 0.86
"""Widths as parts of a step."""


class Box(Struct, frozen=True):
    x: str
    y: str
    width: str
    height: str
    colour: int = 0


class BarStep(Struct, frozen=True):
    x: str
    width: str
    bars: tuple[Box, ...]
    outline: Box | None
    """The previous period; None if unknown."""


class BarChart(Struct, frozen=True):
    steps: tuple[BarStep, ...]
    marks: tuple[tuple[float, str], ...]
    """Value and height of each horizontal rule, from the top down."""


def draw_bars(series: Sequence[Series], previous: Sequence[float | None]) -> BarChart:
    """Stack series of equal length, positive values above the zero line and negative ones below it."""
    count = len(series[0].values) if series else 0
    highs = [sum(max(0.0, layer.values[index]) for layer in series) for index in range(count)]
    lows = [sum(min(0.0, layer.values[index]) for layer in series) for index in range(count)]
    outlines = [value or 0.0 for value in previous]
    top, bottom = max([*highs, *outlines, 0.0]), min([*lows, *outlines, 0.0])
    size = _choose_mark_size(top - bottom)
    top, bottom = ceil(top / size) * size, floor(bottom / size) * size
    scale = HEIGHT / ((top - bottom) or 1)
    width = WIDTH / max(1, count)

    def box(at: int, start: float, end: float, part: float, colour: int = 0) -> Box:
        x = (at + (1 - part) / 2) * width
        y = (top - max(start, end)) * scale
        return Box(digits(x), digits(y), digits(part * width), digits(abs(end - start) * scale), colour)

    steps: list[BarStep] = []
    for index in range(count):
        bars: list[Box] = []
        positive_end = negative_end = 0.0
        for layer in series:
            value = layer.values[index]
            start = positive_end if value > 0 else negative_end
            if value:
                bars.append(box(index, start, start + value, _BAR, layer.colour))
            positive_end, negative_end = positive_end + max(0.0, value), negative_end + min(0.0, value)
        before = previous[index] if index < len(previous) else None
        outline = box(index, 0.0, before, _OUTLINE) if before else None
        steps.append(BarStep(digits(index * width), digits(width), tuple(bars), outline))
    rules = round((top - bottom) / size) if top > bottom else 0
    marks = tuple((top - rule * size, digits(rule * size * scale)) for rule in range(rules + 1))
    return BarChart(tuple(steps), marks)


def _choose_mark_size(height: float) -> float:
    """Return the distance of rules: a round number, three or four of them."""
    if height <= 0:
        return 1.0
    power = 10.0 ** floor(log10(height / 4))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power * 4 >= height)
