"""CSV that a spreadsheet shows but never executes: one rule for every table that Headwater writes."""

from __future__ import annotations

import csv
import io
from itertools import product
from pathlib import Path

import pytest

import headwater
from headwater.http.csv_table import CsvTable, safe_cell

BEGINNINGS = ("", " ", "\t", "\n", "\r\n", "  \n", '"', "'", "''", "\u00a0", "\u3000", "\ufeff", "\u200b")
FORMULAS = ("=1+1", "+1+cmd|' /C calc'!A0", "-1+1", "@SUM(A1)",
            *(f"{chr(wide)}1+x" for wide in (0xFF1D, 0xFF0B, 0xFF0D, 0xFF20)))  # fmt: skip
HOSTILE = [before + formula for before, formula in product(BEGINNINGS, FORMULAS)]
HOSTILE += ["\tname", "\rname", "\nname"]
NUMBERS = ("0", "-1", "-12.50", "+3", "-1,234.50", "1e-7", "-1.5E+10", "+49 (170) 123-456", " -5")
PLAIN = ("Spring sale", "a=b", "x-1", "1 - 2 = -1", "'quoted'", '"quoted"', "ü", "", "a\n=b", "5 €")


def read(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline="")))


def test_it_works() -> None:
    table = CsvTable(["name", "amount"])
    table.add(["=1+1", "-12.50"])
    table.add([None, 7])
    assert table.content() == b"name,amount\r\n'=1+1,-12.50\r\n,7\r\n"


@pytest.mark.parametrize("text", HOSTILE)
def test_no_formula_begins_a_cell(text: str) -> None:
    table = CsvTable(["name"])
    table.add([text])
    assert read(table.content())[1] == [f"'{text}"]


@pytest.mark.parametrize("text", [*NUMBERS, *PLAIN])
def test_numbers_and_plain_text_stay(text: str) -> None:
    assert safe_cell(text) == text


def test_every_text_can_be_had_back() -> None:
    texts = [*HOSTILE, *NUMBERS, *PLAIN, *(safe_cell(text) for text in HOSTILE)]
    assert len({safe_cell(text) for text in texts}) == len(set(texts))


def test_nothing_else_writes_csv() -> None:
    """Exports write their own rows for speed, with the same escaping."""
    root = Path(headwater.__file__).parent
    writers = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if any(name in path.read_text() for name in ("csv.writer", "DictWriter", '\\r\\n".join'))
    }
    assert writers - {"http/exchange.py", "http/connection.py"} == {
        "http/csv_table.py", "exports/csv_rows.py",
    }  # fmt: skip
