"""The quick reader for large tables of spend: it returns the same line as the general steps, or leaves the
row to them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from headwater.http.errors import Invalid
from headwater.intake.imports.formats.columns import Columns, typed
from headwater.intake.imports.formats.files import FileRow
from headwater.intake.imports.formats.notation import Notation
from headwater.intake.imports.spend import DAY, FIELDS, NUMBERS, read
from headwater.intake.imports.spend_reader import make_quick_reader
from headwater.spend.copy_lines import SpendLine, format_row

AS_OF = {"as_of": "2026-05-28T20:26:40Z"}
CELLS = {
    "date": ("2026-05-13", "20260513", "13.05.2026", "2026-5-13", "", "--"),
    "platform": ("google", "Google Ads", "fb", "", "!"),
    "currency": ("EUR", "usd", "EURO", ""),
    "campaign_id": ("4711", " 4711 ", "a\\b\tc\nd", "", "ü", "--"),
    "campaign_name": ("Spring", "", "\\N"),
    "adset_id": ("", "8"),
    "amount": ("12.34", "0", "007", "1.234", "1,234.50", "1.234,50", "-1", "1e3", "", "--", "x"),
    "impressions": ("10", "1,000", "10.0", "1.5", "", "9" * 16),
    "platform_revenue": ("99.9", "0.1234567", "", "--", "1000000000000.1"),
}


def read_in_steps(columns: Columns, notation: Notation, row: FileRow) -> SpendLine | None:
    values = columns.pick(dict(row.values))
    try:
        if typed(values, NUMBERS, (), notation):
            return None
        if isinstance(values.get(DAY), str):
            values[DAY] = notation.time(values[DAY])
        return format_row(read({**AS_OF, **values, "place": row.number}, 0.0))
    except Invalid:
        return None


def random_rows(rng: random.Random, columns: list[str], decimals: str) -> Iterator[FileRow]:
    for number in range(1, 200):
        # Most cells use the first value of their kind, so that most rows break no rule or just one.
        cells = {
            name: CELLS[name][0].replace(".", "," if decimals == "comma" else ".")
            if rng.random() < 0.8
            else rng.choice(CELLS[name])
            for name in columns
        }
        yield FileRow(number, number + 1, cells)


def comparable(line: SpendLine) -> list[Any]:
    """Return the cells of a line, its figures as numbers."""
    cells = line.text.split("\t")
    figures = [None if cell == r"\N" else Decimal(cell) for cell in cells[-6:-1]]
    return [*cells[:-6], *figures, cells[-1], line.prefix.platform, line.prefix.names]


@pytest.mark.parametrize("seed", range(12))
def test_rows_are_what_the_steps_of_all_rows_make_of_them(seed: int) -> None:
    rng = random.Random(seed)
    notation = Notation(rng.choice(("plain", "point", "comma")), "iso" if seed % 3 else "dmy")
    optional = [name for name in CELLS if name not in ("date", "amount") and rng.random() < 0.8]
    columns = ["date", "amount", *optional]
    fixed = {"platform": "meta", "currency": "EUR", "timezone": "Europe/Berlin"}
    constants = tuple((name, value) for name, value in fixed.items() if name not in columns)
    file_columns = Columns(FIELDS, tuple((name, name) for name in columns), (), constants)
    quickly = make_quick_reader(file_columns, notation, AS_OF)
    assert quickly is not None
    quick_count = 0
    for row in random_rows(rng, columns, notation.decimals):
        expected, line = read_in_steps(file_columns, notation, row), quickly(row)
        if line is not None:
            assert expected is not None, row
            assert comparable(line) == comparable(expected), row
            quick_count += 1
    assert quick_count > 20


def test_a_row_that_is_too_short_is_left_to_the_other_steps() -> None:
    file_columns = Columns(FIELDS, (("date", "date"), ("amount", "amount")), (), ())
    quickly = make_quick_reader(file_columns, Notation(), AS_OF)
    assert quickly is not None
    assert quickly(FileRow(1, 2, {"date": "2026-05-13"})) is None
