"""Turn table rows into links or errors. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from headwater.http.csv_table import CsvTable
from headwater.http.inputs.suggestions import Names
from headwater.sources.catalogue import SOURCES
from headwater.sources.exclusions import Exclusions
from headwater.sources.explanation import VisitExplanation, explain_visit
from headwater.sources.links.link_checks import check_link
from headwater.sources.links.links import LINKED, MAX_VALUE, BadAddress, LinkParts, build_link
from headwater.sources.source_names import SourceNames
from headwater.sources.titles import format_title

MOST_ROWS = 1_000
LONGEST_ADDRESS = 2_048
COLUMNS = ("address", "source", "campaign", "adset", "ad", "keyword")
_COLUMN_SYNONYMS = {
    "url": "address",
    "link": "address",
    "page": "address",
    "landing page": "address",
    "ad set": "adset",
    "ad_set": "adset",
    "ad group": "adset",
    "utm_campaign": "campaign",
    "utm_content": "ad",
    "utm_term": "keyword",
    "term": "keyword",
    "content": "ad",
}
_BY_WORD = {format_title(source).lower(): source for source in SOURCES} | {s: s for s in SOURCES}
_NAMES = Names(LINKED)
LONGEST_CELL = 32 * 1024
"""Maximum characters of a cell, twice the longest address."""


class SheetRow(Struct, frozen=True):
    """A table row, starting at `line` of the text."""

    line: int
    address: str
    parts: LinkParts | None = None
    link: str = ""
    visit: VisitExplanation | None = None
    notes: tuple[str, ...] = ()
    problem: str = ""


class LinkSheet(Struct, frozen=True):
    rows: Sequence[SheetRow] = ()
    problem: str = ""

    @property
    def links(self) -> int:
        return sum(not row.problem for row in self.rows)


class _Unreadable(ValueError):
    """The table can't be read; the text is the reason."""


def read_sheet(text: str, usual: LinkParts, exclusions: Exclusions, names: SourceNames) -> LinkSheet:
    """Fill empty cells from `usual`."""
    try:
        lines = list(islice(_read_lines(text), MOST_ROWS + 2))
        columns, lines = _read_head(lines)
    except _Unreadable as error:
        return LinkSheet(problem=str(error))
    if not lines:
        return LinkSheet(problem="The table has no rows. Paste one address per line.")
    if len(lines) > MOST_ROWS:
        return LinkSheet(problem=f"There are more than {MOST_ROWS:,} rows. Split the table.")
    return LinkSheet([_read_row(line, cells, columns, usual, (exclusions, names)) for line, cells in lines])


def write_sheet(sheet: LinkSheet) -> bytes:
    table = CsvTable(["line", *COLUMNS, "link", "counts_as", "rule", "problem"])
    for row in sheet.rows:
        parts = row.parts or LinkParts("")
        cells = [
            row.address,
            parts.source,
            parts.campaign,
            parts.adset,
            parts.ad,
            parts.keyword,
            row.link,
            (row.visit and row.visit.source) or "",
            row.visit.reason.rule if row.visit else "",
            row.problem,
        ]
        table.add([row.line, *cells])
    return table.content()


def _check_length(cells: Sequence[str]) -> None:
    """Raise csv.Error. The csv module's own limit would apply to the process."""
    if any(len(cell) > LONGEST_CELL for cell in cells):
        raise csv.Error


def _read_lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield non-empty lines with their numbers."""
    text = text.removeprefix("\ufeff")
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max("\t;,", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    before = 0
    try:
        for cells in reader:
            line, before = before + 1, reader.line_num
            _check_length(cells)
            if any(cell.strip() for cell in cells):
                yield line, [cell.strip() for cell in cells]
    except csv.Error:
        raise _Unreadable(
            f"Line {reader.line_num} can't be read: a cell is too long, or a quotation mark is not closed."
        ) from None


def _read_head(lines: list[tuple[int, list[str]]]) -> tuple[Sequence[str], list[tuple[int, list[str]]]]:
    """Return columns and the lines below the header, the line that names the address column."""
    if not lines:
        return COLUMNS, lines
    line, cells = lines[0]
    names = [_COLUMN_SYNONYMS.get(cell.lower(), cell.lower()) for cell in cells]
    if "address" not in names:
        return COLUMNS, lines
    for cell, name in zip(cells, names, strict=True):
        if name and name not in COLUMNS:
            raise _Unreadable(
                f"Line {line} has an unknown column “{cell[:80]}”. The columns are {', '.join(COLUMNS)}."
            )
        if name and names.count(name) > 1:
            raise _Unreadable(f"Line {line} names the column {name} more than once.")
    return names, lines[1:]


def _read_row(
    line: int,
    cells: Sequence[str],
    columns: Sequence[str],
    usual: LinkParts,
    rules: tuple[Exclusions, SourceNames],
) -> SheetRow:
    values = dict(zip(columns, cells, strict=False))
    address = values.get("address", "")
    if len(cells) > len(columns):
        return SheetRow(line, address[:200], problem=_too_many(columns))
    try:
        parts = _read_parts(values, usual)
        if len(address) > LONGEST_ADDRESS:
            raise BadAddress(f"The address has more than {LONGEST_ADDRESS:,} characters.")
        link = build_link(address, parts)
    except ValueError as error:
        return SheetRow(line, address[:200], problem=str(error))
    visit = explain_visit(link, None, *rules)
    notes = check_link(address, parts, visit, rules[1])
    return SheetRow(line, address, parts, link, visit, tuple(notes))


def _too_many(columns: Sequence[str]) -> str:
    return f"The row has more cells than there are columns: {', '.join(filter(None, columns))}."


def _read_parts(values: dict[str, str], usual: LinkParts) -> LinkParts:
    """Raise ValueError with a message for the user."""
    for name, value in values.items():
        if name != "address" and len(value) > MAX_VALUE:
            raise ValueError(f"The {name} has more than {MAX_VALUE} characters.")
    word = values.get("source") or usual.source
    if not word:
        raise ValueError("The row has no source, and no default is selected.")
    source = _BY_WORD.get(word.lower().replace("  ", " "))
    if source is None:
        near_names = _NAMES.near(word)
        suggestion = f" Is it {' or '.join(near_names)}?" if near_names else " Sources lists all."
        raise ValueError(f"There is no source “{word[:80]}”.{suggestion}")
    if source not in LINKED:
        raise ValueError(f"Links can't have the source {source}.")
    return LinkParts(
        source,
        values.get("campaign") or usual.campaign,
        values.get("adset") or usual.adset,
        values.get("ad") or usual.ad,
        values.get("keyword") or usual.keyword,
    )
