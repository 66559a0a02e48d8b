"""The tiles of the first page. A tile shows a total, and the chart shows the chosen tile's figure. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from headwater.console.ad_pages.ad_columns import pick_totals
from headwater.console.report_pages import figures
from headwater.console.report_pages.basis import get_total_row
from headwater.console.report_pages.figures import Change
from headwater.console.report_pages.view import ReportView
from headwater.reports.engine.measures import Figure
from headwater.reports.engine.report import ReportResult, ReportRow
from headwater.reports.query import FigureColumn, Measure
from headwater.reports.questions.spend import CostReport

TILE = "tile"


class TileKind(Enum):
    EVENTS = "events"
    """A measure of events."""
    SPEND = "spend"
    """A figure of spend and its credit."""
    VISITS = "visits"
    UNATTRIBUTED = "unattributed"
    """Conversions without credit."""


@dataclass(frozen=True)
class Tile:
    name: str
    title: str
    kind: TileKind
    measure: Measure
    """Of events; of spend, the one whose format fits."""
    figure: str = ""
    """An attribute of CostFigures."""
    missing: str = ""
    """Why there may be no value."""

    @property
    def form(self) -> figures.FigureForm:
        return figures.RATIO if self.figure == "roas" else self.measure

    @property
    def empty(self) -> int | None:
        """The value of a time without events or spend: none for a ratio."""
        return None if self.missing else 0


_NO_SPEND = "No ad spend in this period."
_SPEND = Tile("spend", "Ad spend", TileKind.SPEND, Measure.REVENUE, "spend")
_VISITS = Tile("visits", "Visits", TileKind.VISITS, Measure.VISITS)
_UNATTRIBUTED = Tile("unattributed", "Unattributed", TileKind.UNATTRIBUTED, Measure.CONVERSIONS)
MONEY_TILES = (
    Tile("revenue", "Revenue", TileKind.EVENTS, Measure.REVENUE),
    Tile("orders", "Orders", TileKind.EVENTS, Measure.ORDERS),
    _SPEND,
    Tile("roas", "ROAS", TileKind.SPEND, Measure.REVENUE, "roas", _NO_SPEND),
    Tile(
        "cac",
        "CAC",
        TileKind.SPEND,
        Measure.REVENUE,
        "cac",
        f"{_NO_SPEND[:-1]}, or no new customer from ads.",
    ),
    _VISITS,
    _UNATTRIBUTED,
)
COUNT_TILES = (
    Tile("conversions", "Conversions", TileKind.EVENTS, Measure.CONVERSIONS),
    Tile("people", "People", TileKind.EVENTS, Measure.CONTACTS),
    _SPEND,
    Tile(
        "cpa", "CPA", TileKind.SPEND, Measure.REVENUE, "cpa", f"{_NO_SPEND[:-1]}, or no conversion from ads."
    ),
    _VISITS,
    _UNATTRIBUTED,
)


@dataclass(frozen=True)
class TileValue:
    tile: Tile
    value: Figure
    previous: Figure
    change: Change | None
    note: str
    """A share, or why there is no value."""


def list_tiles(view: ReportView, *, has_costs: bool, has_visits: bool) -> tuple[Tile, ...]:
    """Return the tiles that a view's filters allow."""
    left_out = {TileKind.SPEND: not has_costs, TileKind.VISITS: not has_visits}
    tiles = MONEY_TILES if view.is_monetary else COUNT_TILES
    return tuple(tile for tile in tiles if not left_out.get(tile.kind))


def compute_tiles(
    tiles: Sequence[Tile], report: ReportResult, costs: CostReport | None
) -> Iterator[TileValue]:
    """Yield the tiles of a report of events by source and a report of spend."""
    total = get_total_row(report)
    for tile in tiles:
        if tile.kind is TileKind.EVENTS:
            yield _events_tile(tile, report, total)
        elif tile.kind is TileKind.VISITS:
            rate = total.figures[FigureColumn(Measure.CONVERSION_RATE)]
            note = "" if rate is None else f"{figures.percent(rate)} convert"
            yield _events_tile(tile, report, total, note)
        elif tile.kind is TileKind.SPEND:
            if costs is not None:
                yield _spend_tile(tile, costs)
        elif report.unattributed is not None:
            row = report.unattributed.row
            yield _events_tile(tile, report, row, _write_share(tile, row, total))


def _events_tile(tile: Tile, report: ReportResult, row: ReportRow, note: str = "") -> TileValue:
    column = FigureColumn(tile.measure)
    previous = row.compared[column] if row.compared and report.is_comparable else None
    change = figures.change(row, column) if report.is_comparable else None
    return TileValue(tile, row.figures[column], previous, change, note)


def _spend_tile(tile: Tile, costs: CostReport) -> TileValue:
    totals = pick_totals(tile.figure, costs)
    value: Figure = getattr(totals, tile.figure)
    note = "" if value is not None else _explain_missing(tile, costs)
    if costs.comparable is None:
        return TileValue(tile, value, None, None, note)
    before = pick_totals(tile.figure, costs.comparable)
    change = figures.written_change(totals.change(tile.figure, before))
    return TileValue(tile, value, getattr(before, tile.figure), change, note)


def _explain_missing(tile: Tile, costs: CostReport) -> str:
    if costs.problem is None:
        return tile.missing
    return f"Spend cannot be filtered by {str(costs.problem).replace('_', ' ')}."


def _write_share(tile: Tile, part: ReportRow, total: ReportRow) -> str:
    column = FigureColumn(tile.measure)
    share = figures.share(part.figures[column], total.figures[column])
    return f"{figures.percent(share)} of all" if share else ""
