"""Rows of large tables of spend, read quickly: a day or an id stands in many rows, and is checked
once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from headwater.http.instants import parse_instant
from headwater.imports.columns import Columns, typed
from headwater.imports.files import FileRow
from headwater.imports.notation import Notation
from headwater.imports.spend import COUNTS, DAY, NUMBERS, clean
from headwater.spend.inputs import FIELDS, row_of
from headwater.spend.models import SpendRow

_DIGITS = re.compile("[0-9]{1,15}")
_DECIMALS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,6})?")
"""Numbers that differ from row to row, and need no more than this to be right."""
_REMEMBERED = 50_000
"""Different texts of a column that are remembered."""


def quick_reader(
    columns: Columns, notation: Notation, defaults: Mapping[str, Any]
) -> Callable[[FileRow], SpendRow | None] | None:
    """Return the reader of a table of these columns; None for one whose rows have a moment of their
    own. It returns None for a row that breaks a rule.
    """
    named = {name: column for column, name in columns.mapped}
    fixed = {**defaults, **dict(columns.constants)}
    if "as_of" in named or "as_of" not in fixed:
        return None
    as_of = datetime.fromtimestamp(parse_instant(fixed.pop("as_of")), UTC)
    readers = [(name, named[name], _reader(name, notation)) for name in FIELDS if name in named]
    try:
        constants = {name: _reader(name, notation)(value) for name, value in fixed.items()}
    except ValueError:
        return None  # the rows will say what is wrong

    def read(row: FileRow) -> SpendRow | None:
        cells, values = row.values, constants.copy()
        try:
            for name, column, kind in readers:
                value = kind(cells[column])
                if value is not None:
                    values[name] = value
            return row_of(values, as_of=as_of, place=row.number)
        except (KeyError, TypeError, ValueError):
            return None

    return read


def _reader(name: str, notation: Notation) -> Callable[[str], Any]:
    """Return what reads the cells of a field."""
    read = _checked(name, notation)
    if name not in NUMBERS or notation.decimals == "comma":
        return read
    form, number = (_DIGITS, int) if name in COUNTS else (_DECIMALS, Decimal)
    return lambda text: number(text) if form.fullmatch(text) else read(text)


def _checked(name: str, notation: Notation) -> Callable[[str], Any]:
    """Return what reads the cells of a field by the steps that a row takes by itself."""
    kind = FIELDS[name].kind

    @lru_cache(_REMEMBERED)
    def read(text: str) -> Any:
        values: dict[str, Any] = {name: notation.time(text) if name == DAY else text}
        typed(values, NUMBERS, (), notation)
        clean(values)
        return kind.read(values[name]) if name in values else None

    return read
