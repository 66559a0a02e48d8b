"""Sources with revenue, spend and ROAS. An ad platform has its sources below it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import groupby

from markupsafe import Markup
from msgspec import Struct

from headwater.console.ad_pages.ad_columns import NOT_COMPARABLE
from headwater.console.report_pages import figures
from headwater.console.report_pages.basis import Basis
from headwater.console.report_pages.view import ReportView
from headwater.console.tables import Cell, Row, Table, TableColumn
from headwater.reports.engine.measures import Figure, rounded
from headwater.reports.engine.report import GroupKey, ReportResult, ReportRow
from headwater.reports.query import FigureColumn, Group, Measure
from headwater.reports.questions.cost_figures import CostFigures
from headwater.reports.questions.period_spend import add_up_all
from headwater.reports.questions.spend import CostReport
from headwater.sources.ad_platforms import platform_title
from headwater.sources.titles import format_title

OPEN = "open"
MOST_ROWS = 12
_NO_SPEND = "No spend"
_SEVERAL = "Several sources together"
_UNSEEN = "No visits are counted here"
_NO_COMPARISON = "No comparison with an earlier period"
_Keys = tuple[str | None, ...]


@dataclass
class SourceRow:
    """A source, a platform with the sources below it, or a total."""

    title: str
    key: str = ""
    only: str = ""
    """The filter that selects it; empty for a total."""
    value: Figure = Decimal(0)
    previous: Figure = Decimal(0)
    conversions: Figure = Fraction(0)
    visits: Figure = 0
    rate: Figure = None
    no_rate: str = ""
    """Why there is no rate, unless there are no visits."""
    costs: CostFigures | None = None
    sources: list[SourceRow] = field(default_factory=list["SourceRow"])

    @property
    def spend(self) -> Decimal | None:
        return self.costs.spend if self.costs else None


class SourceReports(Struct, frozen=True):
    """The reports behind the table."""

    current: ReportResult
    """By platform and source."""
    before: ReportResult | None = None
    """The same of the previous period, which also has the sources without credit now; None without one."""
    rates: ReportResult | None = None
    """The conversion rates of platforms; None with filters that visits lack."""
    costs: CostReport | None = None
    """By platform; None with filters that spend lacks."""


class SourceTable:
    def __init__(
        self, view: ReportView, base: str, basis: Basis, conversions_title: str, reports: SourceReports
    ) -> None:
        self._view, self._base, self._basis = view, base, basis
        self._conversions_title, self._reports = conversions_title, reports
        self._has_visits = Measure.VISITS in basis.columns

    def make(self, opened: Collection[str], link: Callable[..., str]) -> Table:
        """Build the table; `link` returns the page's own address."""
        rows = self._list_rows()
        largest = max((float(row.value or 0) for row in rows), default=0.0)
        table_rows: list[Row] = []
        for row in rows[:MOST_ROWS]:
            is_open = row.key in opened
            other_keys = [key for key in opened if key != row.key]
            toggle = (
                link(open=other_keys if is_open else [*other_keys, row.key]) if len(row.sources) > 1 else ""
            )
            table_rows.append(self._row(row, largest, toggle=toggle, is_open=is_open))
            if is_open:
                table_rows += [self._row(source, largest, depth=2) for source in row.sources]
        totals = [self._row(row) for row in self._list_totals(rows[MOST_ROWS:])]
        return Table("Table of sources", tuple(self._list_columns()), tuple(table_rows), tuple(totals))

    def _list_columns(self) -> Iterator[TableColumn]:
        title = "Revenue" if self._view.is_monetary else self._conversions_title
        yield TableColumn("Source", is_number=False)
        yield TableColumn(title, order="descending")
        yield TableColumn("Before", "In the previous period")
        if self._view.is_monetary:
            yield TableColumn(self._conversions_title)
        if self._has_visits:
            yield TableColumn("Visits", "By the visit's own source, without bots")
            yield TableColumn("Rate", "Conversions whose credited touchpoint is a visit, per visit")
        yield TableColumn("Spend")
        yield TableColumn("ROAS", "Revenue credited to platforms with spend, divided by their spend")

    def _list_rows(self) -> list[SourceRow]:
        """Return rows in order of their value; spend and earlier credit without credit have rows too."""
        rows: dict[str, SourceRow] = {}
        rate_by_platform = _read_keys(self._reports.rates, Measure.CONVERSION_RATE)
        by_platform = sorted(self._list_sources(), key=lambda pair: pair[0] or "")
        for platform, pairs in groupby(by_platform, key=lambda pair: pair[0]):
            sources = [source for _, source in pairs]
            if platform is None:
                rows |= {source.key: source for source in sources}
            else:
                rows[platform] = _join_sources(platform, sources)
                rows[platform].rate = rate_by_platform.get((platform,))
        for row in self._reports.costs.rows if self._reports.costs else ():
            if row.key and row.figures.spend:
                rows.setdefault(row.key, _join_sources(row.key, [])).costs = row.figures
        for row in rows.values():
            row.sources.sort(key=_by_value, reverse=True)
        return sorted(rows.values(), key=_by_value, reverse=True)

    def _list_sources(self) -> Iterator[tuple[str | None, SourceRow]]:
        """Yield each source with its platform, also those with credit in the previous period only."""
        current, before = self._reports.current, self._reports.before
        previous = _read_keys(before, self._basis.credited)
        listed_keys: set[_Keys] = set()
        for row in current.rows:
            source = self._read("", row, self._basis.credited, Measure.CREDITED_CONVERSIONS)
            listed_keys.add(_get_keys(row))
            yield self._name_source(source, row, previous)
        for row in before.rows if before else ():
            if _get_keys(row) not in listed_keys:
                yield self._name_source(SourceRow(""), row, previous)

    def _name_source(
        self, source: SourceRow, row: ReportRow, previous: Mapping[_Keys, Figure]
    ) -> tuple[str | None, SourceRow]:
        platform, key = row.keys[0].value, row.keys[1].value or ""
        source.title, source.key, source.only = _title(row.keys[1]), key, f"{Group.SOURCE}:{key}"
        source.previous = previous.get(_get_keys(row), Decimal(0))
        return platform, source

    def _read(self, title: str, row: ReportRow, value: Measure, conversions: Measure) -> SourceRow:
        def read(measure: Measure) -> Figure:
            return row.figures[FigureColumn(measure)]

        read_row = SourceRow(title, value=read(value), conversions=read(conversions))
        if row.compared:
            read_row.previous = row.compared[FigureColumn(value)]
        if self._has_visits:
            read_row.visits, read_row.rate = read(Measure.VISITS), read(Measure.CONVERSION_RATE)
        return read_row

    def _list_totals(self, smaller_rows: list[SourceRow]) -> Iterator[SourceRow]:
        report, costs = self._reports.current, self._reports.costs
        if smaller_rows:
            joined_row = _join("", f"{len(smaller_rows)} more sources", smaller_rows)
            joined_row.no_rate = _SEVERAL
            spent_figures = [row.costs.spent for row in smaller_rows if row.costs]
            joined_row.costs = (
                CostFigures(add_up_all(spent_figures), has_ratios=False) if spent_figures else None
            )
            yield joined_row
        whole_measure, conversions = self._basis.whole, Measure.CONVERSIONS
        if report.unattributed is None or report.overall is None:
            total = self._read("All", report.total, self._basis.credited, Measure.CREDITED_CONVERSIONS)
        else:
            unattributed_row = self._read("Unattributed", report.unattributed.row, whole_measure, conversions)
            unattributed_row.visits = unattributed_row.rate = None
            unattributed_row.no_rate = _UNSEEN
            yield unattributed_row
            total = self._read("All", report.overall, whole_measure, conversions)
        total.costs = costs.total if costs else None
        yield total

    def _row(
        self, row: SourceRow, largest: float = 0.0, *, toggle: str = "", is_open: bool = False, depth: int = 1
    ) -> Row:
        bar = max(0.0, float(row.value or 0)) / largest if largest else None

        def write(form: figures.FigureForm, value: Figure, reason: str = "") -> Markup:
            return figures.figure(form, value, self._reports.current.currency, reason)

        cells = [Cell(write(self._basis.credited, row.value), self._link_events(row), bar=bar)]
        previous = row.previous if self._reports.current.is_comparable else None
        cells.append(Cell(write(self._basis.credited, previous, _NO_COMPARISON)))
        if self._view.is_monetary:
            cells.append(Cell(write(Measure.CREDITED_CONVERSIONS, row.conversions)))
        if self._has_visits:
            cells.append(Cell(write(Measure.VISITS, row.visits)))
            cells.append(Cell(write(Measure.CONVERSION_RATE, row.rate, row.no_rate)))
        cells.append(Cell(write(Measure.REVENUE, row.spend, _NO_SPEND)))
        no_roas = NOT_COMPARABLE if row.spend else _NO_SPEND
        cells.append(Cell(write(figures.RATIO, row.costs.roas if row.costs else None, no_roas)))
        link = self._view.narrow(row.only).link(f"{self._base}/channels") if row.only else ""
        return Row(Cell(row.title, link), tuple(cells), depth, row.key, toggle, is_open)

    def _link_events(self, row: SourceRow) -> str:
        if not row.only:
            return ""
        return self._view.link_events(f"{self._base}/events", "credited", {}, (*self._view.only, row.only))


def _read_keys(report: ReportResult | None, measure: Measure) -> dict[_Keys, Figure]:
    """Return a report's figures by the keys of its rows; empty without a report."""
    rows = report.rows if report else ()
    return {_get_keys(row): row.figures[FigureColumn(measure)] for row in rows}


def _get_keys(row: ReportRow) -> _Keys:
    return tuple(key.value for key in row.keys)


def _join_sources(platform: str, sources: list[SourceRow]) -> SourceRow:
    joined_row = _join(platform, platform_title(platform), sources)
    joined_row.only, joined_row.sources = f"{Group.PLATFORM}:{platform}", sources
    return joined_row


def _join(key: str, title: str, rows: list[SourceRow]) -> SourceRow:
    return SourceRow(
        title,
        key,
        value=_add(row.value for row in rows),
        previous=_add(row.previous for row in rows),
        conversions=_add(row.conversions for row in rows),
        visits=sum(int(row.visits or 0) for row in rows),
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
    return float(row.value or 0), row.spend or Decimal(0)
