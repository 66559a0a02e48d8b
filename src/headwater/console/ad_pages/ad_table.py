"""The table of ads: platforms that open into campaigns, ad sets and ads, sorted by any column. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from markupsafe import Markup

from headwater.console.ad_pages.ad_columns import (
    BY_FIGURE,
    ONLY_SPEND,
    USUAL_COLUMNS,
    CostColumn,
    break_even,
    get_figure,
    write_figure,
)
from headwater.console.report_pages import figures
from headwater.console.report_pages.breakdown import Place, title, toggle_place, write_place
from headwater.console.report_pages.figures import Change
from headwater.console.report_pages.time_steps import end_of_bucket
from headwater.console.report_pages.view import ReportView
from headwater.console.tables import Cell, Row, Table, TableColumn
from headwater.reports.engine.report import GroupKey
from headwater.reports.query import OF_TOUCHES, STEPS, DateTimeSpan, Group
from headwater.reports.questions.cost_figures import CostFigures
from headwater.reports.questions.credit_rows import CreditFilter
from headwater.reports.questions.spend import CostReport, CostRow

LEVEL_BELOW = {
    Group.PLATFORM: Group.CAMPAIGN,
    Group.SOURCE: Group.CAMPAIGN,
    Group.CAMPAIGN: Group.ADSET,
    Group.ADSET: Group.AD,
}
ACCOUNT_LEVEL = "Account level"
"""The row of a platform's spend without a campaign, or a campaign's without an ad set."""
_CHANGES = frozenset({"spend", "credited_revenue", "roas"})
_OF_SPEND = frozenset(
    {"spend", "impressions", "clicks", "platform_conversions", "platform_revenue", "ctr", "cpc"}
)
_NEAR = 0.1
"""The part of break-even within which ROAS is near it."""


@dataclass(frozen=True)
class TableChoices:
    """The page's own choices besides the group."""

    offered: frozenset[str] = frozenset()
    """Figures that the Space's columns can show."""
    columns: tuple[str, ...] = ()
    """Empty for the usual ones."""
    sort: str = ""
    is_ascending: bool = False
    shows_unpaid: bool = False
    opened: tuple[Place, ...] = ()

    @property
    def shown(self) -> tuple[CostColumn, ...]:
        return tuple(BY_FIGURE[name] for name in self.columns or USUAL_COLUMNS if name in self.offered)

    @property
    def pairs(self) -> dict[str, str | list[str]]:
        pairs: dict[str, str | list[str]] = {"columns": [*self.columns]}
        pairs |= {"sort": self.sort, "order": "ascending" if self.is_ascending else ""}
        pairs |= {"unpaid": "1" if self.shows_unpaid else "", "open": [*map(write_place, self.opened)]}
        return {name: value for name, value in pairs.items() if value}


def list_levels(group: Group) -> list[Group]:
    """Return a group and those that open below it."""
    levels = [group]
    while levels[-1] in LEVEL_BELOW:
        levels.append(LEVEL_BELOW[levels[-1]])
    return levels


@dataclass
class AdTable:
    view: ReportView
    base: str
    group: Group
    choices: TableChoices
    conversions: str
    """The plural label of what counts as a conversion."""
    link: Callable[..., str]
    """The page with other choices of its own."""

    def make(self, report: CostReport, inner: Mapping[Place, CostReport]) -> Table:
        """Build the table; `inner` has the reports of open rows."""
        rows = [row for row in report.rows if self._is_shown(row, report)]
        name = (
            "Ads"
            if self.group is Group.PLATFORM
            else self.group.value.replace("adset", "ad set").capitalize()
        )
        columns = [TableColumn(name, is_number=False), *map(self._column(report), self.choices.shown)]
        caption = f"Spend and return by {name.lower()}"
        return Table(
            caption, tuple(columns), tuple(self._rows(rows, report, inner)), tuple(self._totals(report))
        )

    def count_hidden(self, report: CostReport) -> int:
        """Return the number of rows without spend that are not shown."""
        return sum(not self._is_shown(row, report) for row in report.rows)

    def _is_shown(self, row: CostRow, report: CostReport) -> bool:
        if self.choices.shows_unpaid or self.group not in OF_TOUCHES or not any(report.total.spent):
            return True
        return any(row.figures.spent)

    def _column(self, report: CostReport) -> Callable[[CostColumn], TableColumn]:
        break_even_roas = break_even(report.cost_rate)

        def make(column: CostColumn) -> TableColumn:
            name = self.conversions if column.title == "Orders" else column.title
            if column.figure == "roas" and break_even_roas is not None:
                name = f"ROAS (break-even {float(break_even_roas):.2f})"
            is_sorted = column.figure == self.choices.sort
            order: Literal["", "ascending", "descending"] = ""
            if is_sorted:
                order = "ascending" if self.choices.is_ascending else "descending"
            next_order = "ascending" if is_sorted and not self.choices.is_ascending else ""
            return TableColumn(
                name, column.hint, True, self.link(sort=column.figure, order=next_order), order
            )

        return make

    def _rows(
        self,
        rows: Sequence[CostRow],
        report: CostReport,
        inner: Mapping[Place, CostReport],
        place: Place = (),
    ) -> Iterable[Row]:
        group = self._level(place)
        for row in self._sort(rows):
            row_place = (*place, row.key or "")
            inner_report = inner.get(row_place)
            yield self._row(row, report, row_place, is_open=inner_report is not None)
            if inner_report is not None:
                yield from self._rows(inner_report.rows, inner_report, inner, row_place)
                if any(inner_report.without_place.spent):
                    yield self._account_row(inner_report, row_place, LEVEL_BELOW[group])
                if inner_report.left_out:
                    yield self._more_row(inner_report, row_place, LEVEL_BELOW[group])

    def _level(self, place: Place) -> Group:
        return list_levels(self.group)[len(place)]

    def _sort(self, rows: Sequence[CostRow]) -> Sequence[CostRow]:
        column = BY_FIGURE.get(self.choices.sort)
        if column is None:
            return rows
        known_rows = [row for row in rows if get_figure(column, row.figures) is not None]
        known_rows.sort(
            key=lambda row: get_figure(column, row.figures) or 0, reverse=not self.choices.is_ascending
        )
        return [*known_rows, *(row for row in rows if get_figure(column, row.figures) is None)]

    def _row(self, row: CostRow, report: CostReport, place: Place, *, is_open: bool) -> Row:
        group = self._level(place[:-1])
        cell_view = self._narrow(place, report.span)
        toggle = ""
        if group in LEVEL_BELOW and row.key:
            toggle = self.link(open=toggle_place(self.choices.opened, place))
        head = Cell(title(group, GroupKey(row.key, row.label)))
        cells = (
            self._cell(column, row.figures, row.compared, cell_view, report) for column in self.choices.shown
        )
        return Row(head, tuple(cells), len(place), write_place(place), toggle, is_open)

    def _account_row(self, report: CostReport, place: Place, group: Group) -> Row:
        name = ACCOUNT_LEVEL if group is Group.CAMPAIGN else f"No {title_group(group)}"
        return Row(Cell(name), self._spend_cells(report), len(place) + 1)

    def _more_row(self, report: CostReport, place: Place, group: Group) -> Row:
        """Return the number of rows left out, which leads to the rows of the level by themselves."""
        noun = "row" if report.left_out == 1 else "rows"
        own_page = self._narrow(place, report.span).link(f"{self.base}/campaigns", group=str(group))
        head = Cell(f"{report.left_out:,} more {noun} in the totals", own_page)
        return Row(head, (Cell(""),) * len(self.choices.shown), len(place) + 1)

    def _narrow(self, place: Place, span: DateTimeSpan) -> ReportView:
        """Return the view with only this row's credit."""
        if self.group not in STEPS or not place[0]:
            groups = [self._level(place[:depth]) for depth in range(len(place))]
            return self.view.narrow(*(f"{group}:{key}" for group, key in zip(groups, place, strict=True)))
        first = date.fromisoformat(place[0])
        last = min(end_of_bucket(first, self.group), span.end.date())
        first = max(first, span.start.date())
        return self.view.change(period="", start_date=f"{first}", end_date=f"{last}")

    def _cell(
        self,
        column: CostColumn,
        costs: CostFigures,
        compared: CostFigures | None,
        row_view: ReportView | None,
        report: CostReport,
    ) -> Cell:
        below_text: Markup | str = ""
        if column.figure in _CHANGES and compared is not None:
            below_text = _write_change(figures.written_change(costs.change(column.figure, compared)))
        conversions = costs.paid.conversions if costs.paid else costs.credited_conversions
        if column.figure == "platform_says" and conversions and costs.platform_conversions:
            below_text = f"{float(costs.platform_conversions) / float(conversions):.1f} times yours"
        link = "" if row_view is None else self._link(column, costs, row_view)
        content = write_figure(column, costs, report.currency)
        return Cell(content, link, below_text, mark=_mark(column, costs, report))

    def _link(self, column: CostColumn, costs: CostFigures, row_view: ReportView) -> str:
        """Return the events of a figure, or the comparison with the platform's own."""
        if column.figure == "platform_says":
            platforms = [text.partition(":")[2] for text in row_view.only if text.startswith("platform:")]
            if not platforms or not costs.platform_conversions:
                return ""
            return self.view.link(f"{self.base}/ads/comparison", platform=platforms[0])
        if column.made_of is None or not (costs.credited_conversions or costs.new_customers):
            return ""
        return row_view.link_events(f"{self.base}/events", self._credit(column), column.made_of)

    def _credit(self, column: CostColumn) -> str:
        """Return the kind of credit. Rows outside touchpoint groups count the customers of every event."""
        counts_all = self.group not in OF_TOUCHES and column.figure == "new_customers"
        return CreditFilter.ALL if counts_all else CreditFilter.CREDITED

    def _spend_cells(self, report: CostReport) -> tuple[Cell, ...]:
        """Return the cells of spend without a key. It lowers the profit, if every row has a profit."""
        known_figures = _OF_SPEND if report.unsplit else _OF_SPEND | {"contribution"}
        return tuple(
            Cell(
                write_figure(column, report.without_place, report.currency)
                if column.figure in known_figures
                else figures.write_missing(ONLY_SPEND)
            )
            for column in self.choices.shown
        )

    def _totals(self, report: CostReport) -> Iterable[Row]:
        previous_report = report.comparable
        yield Row(
            Cell("Platforms with spend"),
            tuple(
                self._cell(
                    column, report.with_spend, previous_report and previous_report.with_spend, None, report
                )
                for column in self.choices.shown
            ),
        )
        if any(report.without_place.spent):
            name = (
                "Other platforms"
                if self.group in (Group.PLATFORM, Group.CHANNEL)
                else (f"Not broken down by {title_group(self.group)}")
            )
            yield Row(Cell(name), self._spend_cells(report))
        yield Row(
            Cell("All, with and without spend"),
            tuple(
                self._cell(column, report.total, previous_report and previous_report.total, self.view, report)
                for column in self.choices.shown
            ),
        )


def title_group(group: Group) -> str:
    return "ad set" if group is Group.ADSET else str(group)


def _mark(column: CostColumn, costs: CostFigures, report: CostReport) -> Literal["", "good", "near", "bad"]:
    break_even_roas = break_even(report.cost_rate)
    if column.figure != "roas" or costs.roas is None or break_even_roas is None or not costs.spend:
        return ""
    ratio = float(costs.roas) / float(break_even_roas)
    if abs(ratio - 1) <= _NEAR:
        return "near"
    return "good" if ratio > 1 else "bad"


def _write_change(change: Change | None) -> Markup | str:
    if change is None:
        return ""
    sign = {"up": "▲", "down": "▼"}.get(change.direction)
    if sign is None:
        return change.text
    return Markup('<span aria-hidden="true">{}</span><span class="sr">{} </span> {}').format(
        sign, change.direction, change.text
    )
