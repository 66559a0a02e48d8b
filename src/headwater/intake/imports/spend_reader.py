"""Read large spend files fast: repeated days and places are cached; plain figures validated by one pattern
per row.
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
"""Valid as they are, also for COPY."""
_MOST_CACHED = 50_000
"""Cached texts per column."""

Cells = Mapping[str, str]


def make_quick_reader(
    columns: Columns, notation: Notation, defaults: Mapping[str, Any]
) -> Callable[[FileRow], SpendLine | None] | None:
    """Return None if rows carry their own `as_of`. The reader returns None for an invalid row, left to the
    slow path.
    """
    columns_by_field = {name: column for column, name in columns.mapped}
    all_constants = {**defaults, **dict(columns.constants)}
    if (
        "as_of" in columns_by_field
        or "as_of" not in all_constants
        or not {DAY, "amount"} <= columns_by_field.keys()
    ):
        return None
    if not all_constants.keys().isdisjoint((DAY, *NUMBERS)):
        return None
    as_of = datetime.fromtimestamp(parse_instant(all_constants.pop("as_of")), UTC)
    try:
        constants = {name: _make_reader(name, notation)(value) for name, value in all_constants.items()}
    except ValueError:
        return None
    day_column, read_day = columns_by_field[DAY], _make_reader(DAY, notation)
    last_column = columns_by_field.get(LAST_DAY, day_column)
    read_place = _make_place_reader(columns_by_field, notation, constants, as_of)
    read_figures = _make_figures_reader(columns_by_field, notation)

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


def _make_place_reader(
    columns_by_field: Mapping[str, str], notation: Notation, constants: dict[str, Any], as_of: datetime
) -> Callable[[Cells], SpendPrefix]:
    """Return a reader that raises ValueError."""
    kinds = {
        name: _make_reader(name, notation)
        for name in FIELDS
        if name in columns_by_field and name not in (DAY, *NUMBERS)
    }
    pick = _make_picker([columns_by_field[name] for name in kinds])

    @lru_cache(_MOST_CACHED)
    def build_prefix(cells: tuple[str, ...]) -> SpendPrefix:
        values = constants.copy()
        for (name, read_cell), cell in zip(kinds.items(), cells, strict=True):
            value = read_cell(cell)
            if value is not None:
                values[name] = value
        return format_prefix(build_row(values, date=date.min, amount=Decimal(0), as_of=as_of))

    return lambda cells: build_prefix(pick(cells))


def _make_figures_reader(columns_by_field: Mapping[str, str], notation: Notation) -> Callable[[Cells], str]:
    """Return a reader of figures for COPY, which raises ValueError."""
    numbers = [name for name in NUMBERS if name in columns_by_field]
    pick = _make_picker([columns_by_field[name] for name in numbers])
    line_format = "\t".join("%s" if name in columns_by_field else NULL for name in NUMBERS)
    plain_form = line_format.replace("\\", r"\\") % tuple(
        _COUNT if name in COUNTS else _AMOUNT for name in numbers
    )
    fits = re.compile(plain_form).fullmatch if notation.decimals != "comma" else _never
    kinds = [_make_reader(name, notation) if name in columns_by_field else None for name in NUMBERS]

    def read(cells: Cells) -> str:
        picked_cells = pick(cells)
        text = line_format % picked_cells
        if fits(text):
            return text
        remaining_cells = iter(picked_cells)
        figures = [None if kind is None else kind(next(remaining_cells)) for kind in kinds]
        if figures[0] is None:
            raise ValueError  # the slow path reports it
        return join_figures(figures)

    return read


def _never(_: str) -> None:
    return None


def _make_picker(columns: list[str]) -> Callable[[Cells], tuple[str, ...]]:
    """Return a function that raises KeyError if the row is too short."""
    if len(columns) > 1:
        return itemgetter(*columns)
    return lambda cells: tuple(cells[column] for column in columns)


def _make_reader(name: str, notation: Notation) -> Callable[[str], Any]:
    kind = FIELDS[name].kind

    @lru_cache(_MOST_CACHED)
    def read(text: str) -> Any:
        if name in MONEY and (amount := parse_amount(text)) and amount.currencies:
            raise ValueError  # it must match the row's currency
        values: dict[str, Any] = {name: notation.time(text) if name == DAY else text}
        if typed(values, NUMBERS, (), notation):
            raise ValueError
        clean(values)
        return kind.read(values[name]) if name in values else None

    return read
