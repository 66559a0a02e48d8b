"""The parts of a sent report that every page has. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from markupsafe import Markup
from msgspec import Struct

from headwater.alerts.notifications.models import ReportTable
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import model_title
from headwater.console.report_pages.figures import Change
from headwater.console.report_pages.view import ReportView
from headwater.console.tables import NO_FIGURE, Row, Table
from headwater.http.inputs.parameters import Query
from headwater.reports.engine.conversion import LeftOutMoney, LeftOutSpend
from headwater.reports.query import DateTimeSpan, ReportQuery
from headwater.spaces.models import Space

MOST_LISTED = 12
"""Rows in a message: all of the overview."""
LONGEST_KEY = 60
View = TypeVar("View", bound=ReportView)


class SentPage(Struct, frozen=True):
    """The choices of a page when it is sent."""

    space: Space
    query: Query
    period: str
    """In words; empty if the page keeps its own."""
    current_time: datetime

    def read_view(self, kind: type[View]) -> View:
        view = kind.read(self.query)
        return view.change(period=self.period, start_date="", end_date="") if self.period else view


class ReportContent(Struct, frozen=True):
    totals: Sequence[str]
    """The first one is the headline."""
    terms: str
    """How the figures were made, in words."""
    span: DateTimeSpan
    table: ReportTable
    left_out: Sequence[LeftOutMoney | LeftOutSpend]
    write_csv: Callable[[], bytes]


def write_total(title: str, value: str, change: Change | None) -> str:
    name = title if title.isupper() else title.lower()
    if change is None:
        return f"{name} {value}"
    sign = {"up": "+", "down": "-"}.get(change.direction, "") if change.is_ratio else ""
    return f"{name} {value} ({sign}{change.text})"


def describe_terms(query: ReportQuery, timezone: str, currency: str, compared: DateTimeSpan | None) -> str:
    comparison_text = f", compared with {figures.dates(compared)}" if compared else ""
    return f"{describe_model(query.models, query.window_days)}, {timezone}, {currency}{comparison_text}"


def describe_model(models: Sequence[str], window_days: int) -> str:
    names = " and ".join(model_title(name).lower() for name in models)
    window = f"{window_days}-day window" if window_days else "any window"
    return f"{names}, {window}" if names else window


def shorten_key(text: str) -> str:
    return text if len(text) <= LONGEST_KEY else f"{text[:LONGEST_KEY]}…"


def list_table(table: Table, left_out: int = 0) -> ReportTable:
    """Return a page's first rows, the number of other rows, and the totals. `left_out` counts the rows that
    the page itself leaves out.
    """
    columns = [column.title for column in table.columns]
    more = count_more(len(table.rows) + left_out, len(columns))
    rows = [*map(_list_cells, table.rows[:MOST_LISTED]), *more, *map(_list_cells, table.totals)]
    return ReportTable(columns=columns, rows=rows)


def count_more(rows: int, columns: int) -> list[list[str]]:
    """Return the line with the number of rows that a message doesn't list; none if it lists all."""
    number = rows - MOST_LISTED
    text = f"{number:,} more row{'' if number == 1 else 's'}"
    return [[text, *[""] * (columns - 1)]] if number > 0 else []


def _list_cells(row: Row) -> list[str]:
    head, *cells = (
        cell.content.striptags() if isinstance(cell.content, Markup) else cell.content
        for cell in (row.head, *row.cells)
    )
    return [shorten_key(head), *(NO_FIGURE if text.startswith(NO_FIGURE) else text for text in cells)]
