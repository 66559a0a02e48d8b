"""Sources by name, those of an ad platform below it, with revenue, spend and ROAS."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import groupby

from markupsafe import Markup

from headwater.console.report_pages import figures
from headwater.console.report_pages.view import ReportView
from headwater.console.tables import Cell, Row, Table, TableColumn
from headwater.reports.engine.measures import Figure, Figures, rounded
from headwater.reports.engine.report import GroupKey, ReportResult, ReportRow
from headwater.reports.query import FigureColumn, Group, Measure
from headwater.reports.questions.cost_figures import CostFigures
from headwater.reports.questions.spend import CostReport
from headwater.sources.ad_platforms import platform_title
from headwater.sources.titles import format_title

OPEN = "open"
MOST_ROWS = 12


@dataclass
class SourceRow:
    """A source, or a platform with the sources below it."""

    key: str
    title: str
    only: str
    """The filter that selects it."""
    value: Figure = Decimal(0)
    previous: Figure = None
    conversions: Figure = Fraction(0)
    costs: CostFigures | None = None
    sources: list[SourceRow] = field(default_factory=list["SourceRow"])

    @property
    def spend(self) -> Decimal:
        return self.costs.spend if self.costs else Decimal(0)


class SourceTable:
    def __init__(self, view: ReportView, base: str, credited: Measure, conversions_title: str) -> None:
        self._view, self._base = view, base
        self._column = FigureColumn(credited)
        self._titles = ("Revenue" if view.is_monetary else conversions_title, conversions_title)

    def make(
        self,
        report: ReportResult,
        costs: CostReport | None,
        opened: Collection[str],
        link: Callable[..., str],
    ) -> Table:
        """Build the table of a report by platform and source; `link` returns the page's own address."""
        rows = self.list_rows(report, costs)
        largest = max((float(row.value or 0) for row in rows), default=0.0)
        table_rows: list[Row] = []
        for row in rows[:MOST_ROWS]:
            is_open = row.key in opened
            rest = [key for key in opened if key != row.key]
            toggle = link(open=rest if is_open else [*rest, row.key]) if len(row.sources) > 1 else ""
            table_rows.append(self._row(row, largest, toggle=toggle, is_open=is_open))
            if is_open:
                table_rows += [self._row(source, largest, depth=2) for source in row.sources]
        columns = [
            TableColumn("Source", is_number=False),
            TableColumn(self._titles[0], order="descending"),
            TableColumn("Before"),
        ]
        if self._view.is_monetary:
            columns.append(TableColumn(self._titles[1]))
        columns += [TableColumn("Spend"), TableColumn("ROAS", "Revenue credited to it divided by its spend")]
        return Table("Sources", tuple(columns), tuple(table_rows), tuple(self._totals(report, costs, rows)))

    def list_rows(self, report: ReportResult, costs: CostReport | None) -> list[SourceRow]:
        """Return rows in order of their value; spend without credit has rows too."""
        rows: dict[str, SourceRow] = {}
        spent = {
            row.key: row.figures for row in (costs.rows if costs else ()) if row.key and row.figures.spend
        }
        by_platform = sorted(report.rows, key=lambda row: row.keys[0].value or "")
        for platform, of_platform in groupby(by_platform, key=lambda row: row.keys[0].value):
            sources = [self._source(row) for row in of_platform]
            if platform is None:
                rows |= {source.key: source for source in sources}
            else:
                rows[platform] = _platform(platform, sources)
        for platform, figure in spent.items():
            row = rows.setdefault(platform, _platform(platform, []))
            row.costs = figure
        for row in rows.values():
            row.sources.sort(key=_by_value, reverse=True)
        return sorted(rows.values(), key=_by_value, reverse=True)

    def _source(self, row: ReportRow) -> SourceRow:
        key = row.keys[1].value or ""
        compared = row.compared
        return SourceRow(
            key,
            _title(row.keys[1]),
            f"{Group.SOURCE}:{key}",
            row.figures[self._column],
            compared[self._column] if compared else Decimal(0),
            row.figures[FigureColumn(Measure.CREDITED_CONVERSIONS)],
        )

    def _row(
        self, row: SourceRow, largest: float, *, toggle: str = "", is_open: bool = False, depth: int = 1
    ) -> Row:
        events = self._view.behind(f"{self._base}/events", "credited", {}, (*self._view.only, row.only))
        bar = max(0.0, float(row.value or 0)) / largest if largest else None
        cells = [Cell(self._figure(row.value), events, bar=bar), Cell(self._figure(row.previous))]
        if self._view.is_monetary:
            cells.append(Cell(figures.figure(Measure.CREDITED_CONVERSIONS, row.conversions)))
        has_costs = row.costs is not None and depth == 1
        spend = (
            figures.figure(Measure.REVENUE, row.spend) if has_costs else figures.figure(Measure.REVENUE, None)
        )
        roas = row.costs.roas if row.costs and depth == 1 else None
        cells += [Cell(spend), Cell(figures.figure(Measure.REVENUE, roas))]
        link = self._view.narrowed(row.only).link(f"{self._base}/channels")
        return Row(Cell(row.title, link), tuple(cells), depth, row.key, toggle, is_open)

    def _totals(self, report: ReportResult, costs: CostReport | None, rows: list[SourceRow]) -> Iterable[Row]:
        rest = rows[MOST_ROWS:]
        if rest:
            yield self._total(
                f"{len(rest)} more sources",
                _add(row.value for row in rest),
                _add(row.previous for row in rest),
                _add(row.conversions for row in rest),
                _add(row.spend for row in rest),
            )
        if report.unattributed is not None and report.overall is not None:
            yield self._total_row("No visit seen", report.unattributed.row, whole=True)
            yield self._total_row("All", report.overall, whole=True, costs=costs)
        else:
            yield self._total_row("All", report.total, costs=costs)

    def _total_row(
        self, title: str, row: ReportRow, *, whole: bool = False, costs: CostReport | None = None
    ) -> Row:
        value, conversions = self._column, FigureColumn(Measure.CREDITED_CONVERSIONS)
        if whole:
            money = self._view.is_monetary
            value = FigureColumn(Measure.REVENUE if money else _WHOLE[self._column.measure])
            conversions = FigureColumn(Measure.CONVERSIONS)
        compared: Figures | None = row.compared
        total = self._total(
            title,
            row.figures[value],
            compared[value] if compared else None,
            row.figures[conversions],
            costs.total.spend if costs else None,
        )
        if costs is None:
            return total
        roas = Cell(figures.figure(Measure.REVENUE, costs.with_spend.roas), hint="Of platforms with spend")
        return Row(total.head, (*total.cells[:-1], roas), total.depth)

    def _total(self, title: str, value: Figure, previous: Figure, conversions: Figure, spend: Figure) -> Row:
        cells = [Cell(self._figure(value)), Cell(self._figure(previous))]
        if self._view.is_monetary:
            cells.append(Cell(figures.figure(Measure.CREDITED_CONVERSIONS, conversions)))
        cells += [Cell(figures.figure(Measure.REVENUE, spend)), Cell(figures.figure(Measure.REVENUE, None))]
        return Row(Cell(title), tuple(cells))

    def _figure(self, value: Figure) -> Markup:
        return figures.figure(self._column.measure, value)


_WHOLE = {Measure.CREDITED_CONVERSIONS: Measure.CONVERSIONS, Measure.CREDITED_EVENTS: Measure.EVENTS}


def _platform(platform: str, sources: list[SourceRow]) -> SourceRow:
    return SourceRow(
        platform,
        platform_title(platform),
        f"{Group.PLATFORM}:{platform}",
        _add(source.value for source in sources),
        _add(source.previous for source in sources),
        _add(source.conversions for source in sources),
        None,
        sources,
    )


def _add(values: Iterable[Figure]) -> Figure:
    """Add money or parts of events exactly."""
    numbers = [value for value in values if value is not None]
    total = Fraction(0)
    for number in numbers:
        total += Fraction(number)
    return rounded(total) if any(isinstance(number, Decimal) for number in numbers) else total


def _title(source: GroupKey) -> str:
    key = source.value or ""
    return format_title(key) if source.label in (None, key) else source.label


def _by_value(row: SourceRow) -> tuple[float, Decimal]:
    return float(row.value or 0), row.spend
