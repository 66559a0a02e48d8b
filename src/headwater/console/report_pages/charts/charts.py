"""Charts as inline SVG, next to a table. Without styles or scripts, so they look the same on a page, in print
and in mail. Pure.

Shapes use a box of WIDTH by HEIGHT units that the page stretches; the page adds the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

WIDTH, HEIGHT = 1000, 240
SPARK_WIDTH, SPARK_HEIGHT = 120, 28


class Series(Struct, frozen=True):
    """A quantity over time buckets; values may be negative."""

    name: str
    values: Sequence[float]
    colour: int = 0
    """Index of the style sheet's `band-0` to `band-7`."""


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


def digits(value: float) -> str:
    return f"{round(value, 1):g}"
