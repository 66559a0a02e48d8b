"""Rows of large tables of spend, read quickly: a day, or a place in an ad account, stands in many
rows, and is checked once; figures that are plain digits are checked by one pattern for the row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from operator import itemgetter
from typing import Any

from headwater.http.errors import Invalid
from headwater.http.inputs.instants import parse_instant
from headwater.intake.imports.formats.amounts import parse_amount
from headwater.intake.imports.formats.columns import Columns, typed
from headwater.intake.imports.formats.files import FileRow
from headwater.intake.imports.formats.notation import Notation
from headwater.intake.imports.spend import COUNTS, DAY, LAST_DAY, MONEY, NUMBERS, clean
from headwater.spend.copy_lines import NULL, SpendLine, SpendPrefix, format_line, format_prefix, join_figures
from headwater.spend.inputs import FIELDS, build_row

_COUNT = "[0-9]{1,15}"
_AMOUNT = r"[0-9]{1,12}(?:\.[0-9]{1,6})?"
"""Figures that need no more than this to be right, as text for the database, too."""
_REMEMBERED = 50_000
"""Different texts of a column that are remembered."""

Cells = Mapping[str, str]


def quick_reader(
    columns: Columns, notation: Notation, defaults: Mapping[str, Any]
) -> Callable[[FileRow], SpendLine | None] | None:
    """Return the reader of a table of these columns; None for one whose rows have a moment of their
    own. It returns None for a row that breaks a rule.
    """
    named = {name: column for column, name in columns.mapped}
    fixed = {**defaults, **dict(columns.constants)}
    if "as_of" in named or "as_of" not in fixed or not {DAY, "amount"} <= named.keys():
        return None
    if not fixed.keys().isdisjoint((DAY, *NUMBERS)):
        return None
    as_of = datetime.fromtimestamp(parse_instant(fixed.pop("as_of")), UTC)
    try:
        constants = {name: _reader(name, notation)(value) for name, value in fixed.items()}
    except ValueError:
        return None  # the rows will say what is wrong
    day_column, read_day = named[DAY], _reader(DAY, notation)
    last_column = named.get(LAST_DAY, day_column)
    read_place = _place_reader(named, notation, constants, as_of)
    read_figures = _figures_reader(named, notation)

    def read(row: FileRow) -> SpendLine | None:
        cells = row.values
        try:
            day = read_day(cells[day_column])
            if day is None or cells[last_column] != cells[day_column]:
                return None
            return format_line(read_place(cells), str(day), read_figures(cells), row.number)
        except (Invalid, KeyError, TypeError, ValueError):
            return None

    return read


def _place_reader(
    named: Mapping[str, str], notation: Notation, constants: dict[str, Any], as_of: datetime
) -> Callable[[Cells], SpendPrefix]:
    """Return what reads the place of a row. It raises ValueError for what breaks a rule."""
    kinds = {
        name: _reader(name, notation) for name in FIELDS if name in named and name not in (DAY, *NUMBERS)
    }
    pick = _picker([named[name] for name in kinds])

    @lru_cache(_REMEMBERED)
    def of_cells(cells: tuple[str, ...]) -> SpendPrefix:
        values = constants.copy()
        for (name, read), cell in zip(kinds.items(), cells, strict=True):
            value = read(cell)
            if value is not None:
                values[name] = value
        return format_prefix(build_row(values, date=date.min, amount=Decimal(0), as_of=as_of))

    return lambda cells: of_cells(pick(cells))


def _figures_reader(named: Mapping[str, str], notation: Notation) -> Callable[[Cells], str]:
    """Return what reads the figures of a row as text for COPY. It raises ValueError for what breaks
    a rule.
    """
    present = [name for name in NUMBERS if name in named]
    pick = _picker([named[name] for name in present])
    cell_of = "\t".join("%s" if name in named else NULL for name in NUMBERS)
    plain = cell_of.replace("\\", r"\\") % tuple(_COUNT if name in COUNTS else _AMOUNT for name in present)
    fits = re.compile(plain).fullmatch if notation.decimals != "comma" else _never
    kinds = [_reader(name, notation) if name in named else None for name in NUMBERS]

    def read(cells: Cells) -> str:
        picked = pick(cells)
        text = cell_of % picked
        if fits(text):
            return text
        rest = iter(picked)
        figures = [None if kind is None else kind(next(rest)) for kind in kinds]
        if figures[0] is None:
            raise ValueError  # the row will say so
        return join_figures(figures)

    return read


def _never(_: str) -> None:
    return None


def _picker(columns: list[str]) -> Callable[[Cells], tuple[str, ...]]:
    """Return what takes some cells of a row. It raises KeyError where the row is too short."""
    if len(columns) > 1:
        return itemgetter(*columns)
    return lambda cells: tuple(cells[column] for column in columns)


def _reader(name: str, notation: Notation) -> Callable[[str], Any]:
    """Return what reads the cells of a field by the steps that a row takes by itself."""
    kind = FIELDS[name].kind

    @lru_cache(_REMEMBERED)
    def read(text: str) -> Any:
        if name in MONEY and (amount := parse_amount(text)) and amount.currencies:
            raise ValueError  # it has to be that of the row
        values: dict[str, Any] = {name: notation.time(text) if name == DAY else text}
        if typed(values, NUMBERS, (), notation):
            raise ValueError  # the row will say so
        clean(values)
        return kind.read(values[name]) if name in values else None

    return read
