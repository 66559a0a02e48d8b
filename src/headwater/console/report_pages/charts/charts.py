"""Charts as inline SVG, next to a table. Without styles or scripts, so they look the same on a page, in print
and in mail. Pure.

Shapes use a box of WIDTH by HEIGHT units that the page stretches; the page adds the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

from msgspec import Struct

WIDTH, HEIGHT = 1000, 240
SPARK_WIDTH, SPARK_HEIGHT = 120, 28


class Series(Struct, frozen=True):
    """A quantity over time buckets; values may be negative."""

    name: str
    values: Sequence[float]
    colour: int = 0
    """Index of the style sheet's `band-0` to `band-7`."""


class Band(Struct, frozen=True):
    """A series drawn as an area on top of the earlier ones."""

    name: str
    colour: int
    path: str


class StackedChart(Struct, frozen=True):
    bands: tuple[Band, ...]
    line: str | None
    marks: tuple[float, ...]
    """Values of the horizontal rules, from the top down to 0."""
    steps: int


def stacked(series: Sequence[Series], compared: Sequence[float] | None = None) -> StackedChart:
    """Stack series of equal length. Negative values appear only in the table."""
    steps = len(series[0].values) if series else 0
    floors = [0.0] * steps
    tops: list[list[float]] = []
    for values in series:
        floors = [low + max(0.0, value) for low, value in zip(floors, values.values, strict=True)]
        tops.append(floors)
    highest = max([*floors, *(compared or ())], default=0.0)
    marks = _marks(highest)
    scale = HEIGHT / marks[0] if marks[0] else 0.0
    bands: list[Band] = []
    bottom = [0.0] * steps
    for index, top in enumerate(tops):
        bands.append(Band(series[index].name, series[index].colour, _area(top, bottom, scale)))
        bottom = top
    line = _line(compared, scale) if compared and any(compared) else None
    return StackedChart(tuple(bands), line, marks, steps)


def sparkline(values: Sequence[float | None]) -> str:
    """Return a small line's points, without unknown values."""
    known_values = [value for value in values if value is not None]
    low, high = min([0.0, *known_values]), max([0.0, *known_values])
    scale = (SPARK_HEIGHT - 4) / (high - low) if high > low else 0.0
    width = SPARK_WIDTH / max(1, len(values) - 1)
    return " ".join(
        f"{digits(index * width)},{digits(SPARK_HEIGHT - 2 - (value - low) * scale)}"
        for index, value in enumerate(values)
        if value is not None
    )


# All steps have the same width, and a value is in the middle of its step; the first and the last
# reach to the edges, so that a single step is a full band.
#
#     │    ╭──╮            x:  0   ½   1½   2½   3
#     │───╯    ╲───
#     └────┴────┴───


def _area(top: Sequence[float], bottom: Sequence[float], scale: float) -> str:
    points = _points(top, scale)
    bottom_points = _points(bottom, scale)[::-1]
    return "M" + "L".join(f"{x},{y}" for x, y in [*points, *bottom_points]) + "Z"


def _line(values: Sequence[float], scale: float) -> str:
    points = _points([max(0.0, value) for value in values], scale)
    return "M" + "L".join(f"{x},{y}" for x, y in points)


def _points(values: Sequence[float], scale: float) -> list[tuple[str, str]]:
    step = WIDTH / max(1, len(values))
    heights = [digits(HEIGHT - value * scale) for value in values]
    middles = [(digits((index + 0.5) * step), y) for index, y in enumerate(heights)]
    return [("0", heights[0]), *middles, (digits(WIDTH), heights[-1])] if heights else []


def _marks(highest: float) -> tuple[float, ...]:
    """Return round values for rules, the top one at or above the highest value."""
    if highest <= 0:
        return (0.0,)
    least_step = highest / 4
    power = 10.0 ** floor(log10(least_step))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= least_step)
    count = -(-highest // step)
    return tuple(step * index for index in range(int(count), -1, -1))


def digits(value: float) -> str:
    return f"{round(value, 1):g}"
