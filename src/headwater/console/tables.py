"""Tables of figures: columns, rows and cells, which `tables.html` prints. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup
from msgspec import Struct

NO_FIGURE = "\u2013"


def write_missing(reason: str) -> Markup:
    """Return a dash with the reason for a missing figure, shown on hover and read aloud."""
    return Markup('<span title="{0}">{1}<span class="sr"> {0}</span></span>').format(reason, NO_FIGURE)


class TableColumn(Struct, frozen=True):
    title: str
    hint: str = ""
    is_number: bool = True
    link: str = ""
    """Sorts by this column."""
    order: Literal["", "ascending", "descending"] = ""


@dataclass(frozen=True)
class Cell:
    content: Markup | str
    link: str = ""
    below: Markup | str = ""
    """A second, smaller line."""
    bar: float | None = None
    """Drawn inside the cell, from 0 to 1."""
    mark: Literal["", "good", "near", "bad"] = ""
    hint: str = ""


@dataclass(frozen=True)
class Row:
    head: Cell
    cells: tuple[Cell, ...]
    depth: int = 0
    name: str = ""
    """Identifies a row that opens, to find it again on the next page."""
    toggle: str = ""
    """Opens or closes the row."""
    is_open: bool = False


class Table(Struct, frozen=True):
    caption: str
    columns: tuple[TableColumn, ...]
    """The first is the rows' heading."""
    rows: tuple[Row, ...]
    totals: tuple[Row, ...] = ()
