"""CSV tables for spreadsheets, whose cells are never run as formulas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

from headwater.http.decimals import number_pattern

FORMULA = "=+\\-@＝＋－＠"  # noqa: RUF001 # the wide forms, which some spreadsheets take for the same
"""Characters that begin a formula, for a regex class."""
BEFORE = r"\s'\"\x00-\x1f\u200b-\u200f\u2060\ufeff"
"""Characters that a spreadsheet may skip before one."""
_RISKY = re.compile(f"[{BEFORE}]*[{FORMULA}]|'*[\t\r\n]")
_NUMBER = re.compile(rf"[+-]?[\d\s().,-]+|{number_pattern()}", re.ASCII)


def safe_cell(text: str) -> str:
    """Return the text, with a leading apostrophe if a spreadsheet would run it as a formula. Names and pages
    come from browsers, so they aren't trusted. Numbers and phone numbers stay unchanged.

    A text with apostrophes before a formula gets one more. To restore texts, remove one apostrophe from each
    cell that starts with one and would run as a formula.
    """
    return f"'{text}" if _RISKY.match(text) and not _NUMBER.fullmatch(text) else text


class CsvTable:
    def __init__(self, columns: Iterable[str]) -> None:
        self._text = io.StringIO()
        self._writer = csv.writer(self._text, lineterminator="\r\n")
        self.add(columns)

    def add(self, cells: Iterable[str | int | None]) -> None:
        """Add a row. A missing value is an empty cell."""
        self._writer.writerow(["" if cell is None else safe_cell(f"{cell}") for cell in cells])

    def content(self, encoding: str = "utf-8") -> bytes:
        """Return the file. A lone surrogate becomes a question mark."""
        return self._text.getvalue().encode(encoding, "replace")
