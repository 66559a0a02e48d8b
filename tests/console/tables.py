"""Reads the figures of a page: the cells of its tables and headlines, with their exact values and links."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.markup import Markup


@dataclass
class Cell:
    """A table cell, or a headline."""

    text: str = ""
    value: str | None = None
    """The exact value of its first figure."""
    link: str | None = None


class PageTables(Markup):
    """The tables of a page, by the id of their section's heading."""

    def __init__(self, html: str) -> None:
        self.html = html
        self.tables: dict[str, list[list[Cell]]] = {}
        self.headlines: dict[str, Cell] = {}
        self._heading, self._title = "", ""
        self._cell: Cell | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "h2":
            self._heading, self._title = attributes.get("id") or self._heading, ""
        elif tag == "tr":
            self.tables.setdefault(self._heading, []).append([])
        elif tag in {"td", "th"}:
            self._cell = Cell()
            self.tables[self._heading][-1].append(self._cell)
        elif tag == "p" and attributes.get("class") == "value":
            self._cell = self.headlines[self._title.strip()] = Cell()
        elif self._cell is not None:
            if tag == "a" and self._cell.link is None:
                self._cell.link = attributes.get("href")
            elif tag == "data" and self._cell.value is None:
                self._cell.value = attributes.get("value")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th", "p"}:
            self._cell = None

    def handle_data(self, text: str) -> None:
        if self._cell is not None:
            self._cell.text += text
        else:
            self._title += text

    @property
    def event_count(self) -> Cell:
        """Return the number of events on a page of orders or events."""
        return self.headlines.get("Orders and refunds") or self.headlines["Events"]

    def row(self, table: str, title: str) -> list[Cell]:
        """Return the row of a table whose first cell begins with a title."""
        return next(row for row in self.tables[table] if row and row[0].text.strip().startswith(title))
