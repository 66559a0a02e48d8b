"""Flows from first to last sources in inline SVG, with the box and colours of other charts. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from headwater.console.report_pages.charts.charts import HEIGHT, WIDTH, digits

_GAP, _BAR = 4, 12


class Ribbon(Struct, frozen=True):
    """Events from a first to a last source."""

    path: str
    style: str


class FlowBar(Struct, frozen=True):
    """All events with a first, or last, source."""

    x: int
    y: str
    height: str
    style: str


class FlowChart(Struct, frozen=True):
    """First sources on the left, last ones on the right, and the ribbons between them."""

    ribbons: tuple[Ribbon, ...]
    bars: tuple[FlowBar, ...]
    has_others: bool
    """Whether some sources have no colour of their own."""


#     first                last
#     ███▔▔▔▔▔\      /▔▔▔▔▔███        A bar is as high as its events are many, the colours in
#     ███▁▁▁▁\ \____/ /▁▁▁▁███        their order, others last. Ribbons leave a bar in the
#     ███▔▔▔▔▔\_____\/▔▔▔▔▔███        order of the bars that they lead to.


def flow(pairs: Mapping[tuple[str, str], int], colours: Mapping[str, int]) -> FlowChart:
    """Draw event counts per pair of first and last source."""
    rows = len(colours)
    totals: Counter[tuple[int, int]] = Counter()
    for (first, last), events in pairs.items():
        totals[colours.get(first, rows), colours.get(last, rows)] += events
    scale = (HEIGHT - _GAP * rows) / max(1, totals.total())
    sides = [Counter[int](), Counter[int]()]
    for pair, events in totals.items():
        for side, source in zip(sides, pair, strict=True):
            side[source] += events
    starts = [_stacked_starts(side, scale, rows) for side in sides]
    bars = tuple(
        FlowBar(x, digits(side_starts[source]), digits(side[source] * scale), _band(source, rows))
        for side, side_starts, x in zip(sides, starts, (0, WIDTH - _BAR), strict=True)
        for source in sorted(side)
    )
    left_starts, right_starts = ({**side_starts} for side_starts in starts)
    ribbons: list[Ribbon] = []
    for (first, last), events in sorted(totals.items()):
        height = events * scale
        path = _ribbon(left_starts[first], right_starts[last], height)
        ribbons.append(Ribbon(path, _band(first, rows)))
        left_starts[first] += height
        right_starts[last] += height
    return FlowChart(tuple(ribbons), bars, any(rows in pair for pair in totals))


def _stacked_starts(events: Mapping[int, int], scale: float, rows: int) -> dict[int, float]:
    starts: dict[int, float] = {}
    offset = 0.0
    for index in range(rows + 1):
        starts[index] = offset
        offset += events.get(index, 0) * scale + (_GAP if index in events else 0)
    return starts


def _band(index: int, rows: int) -> str:
    return f"band-{index}" if index < rows else "band-none"


def _ribbon(left_y: float, right_y: float, height: float) -> str:
    middle, end = WIDTH // 2, WIDTH - _BAR
    points = [digits(y) for y in (left_y, right_y, right_y + height, left_y + height)]
    return (
        f"M{_BAR},{points[0]}C{middle},{points[0]} {middle},{points[1]} {end},{points[1]}"
        f"L{end},{points[2]}C{middle},{points[2]} {middle},{points[3]} {_BAR},{points[3]}Z"
    )
