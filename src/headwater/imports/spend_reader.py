"""Rows of large tables of spend, read quickly: a day, or a place in an ad account, stands in many
rows, and is checked once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
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
    if "as_of" in named or "as_of" not in fixed or not {DAY, "amount"} <= named.keys():
        return None
    if not fixed.keys().isdisjoint((DAY, *NUMBERS)):
        return None
    as_of = datetime.fromtimestamp(parse_instant(fixed.pop("as_of")), UTC)
    try:
        constants = {name: _reader(name, notation)(value) for name, value in fixed.items()}
    except ValueError:
        return None  # the rows will say what is wrong
    kinds = {name: _reader(name, notation) for name in FIELDS}
    places = [name for name in FIELDS if name in named and name not in (DAY, *NUMBERS)]
    place_columns = [named[name] for name in places]
    day_column, day_kind = named[DAY], kinds[DAY]
    figures = [(named[name], kinds[name]) if name in named else None for name in NUMBERS]

    place_of = _place_reader({name: kinds[name] for name in places}, constants, as_of)

    def read(row: FileRow) -> SpendRow | None:
        cells = row.values
        try:
            place = place_of(*[cells[column] for column in place_columns])
            amount, impressions, clicks, conversions, revenue = [
                each and each[1](cells[each[0]]) for each in figures
            ]
            day = day_kind(cells[day_column])
        except (KeyError, TypeError, ValueError):
            return None
        if day is None or amount is None:
            return None
        return SpendRow(
            day, place.platform, place.currency, amount, place.account_id, place.campaign_id,
            place.adset_id, place.ad_id, place.country, impressions, clicks, conversions, revenue,
            place.timezone, as_of, row.number, place.names,
        )  # fmt: skip

    return read


def _place_reader(
    kinds: Mapping[str, Callable[[str], Any]], constants: dict[str, Any], as_of: datetime
) -> Callable[..., SpendRow]:
    """Return what reads the cells of a place, by field, as a row without figures. It raises
    ValueError for what breaks a rule.
    """

    @lru_cache(_REMEMBERED)
    def place_of(*cells: str) -> SpendRow:
        values = constants.copy()
        for (name, read), cell in zip(kinds.items(), cells, strict=True):
            value = read(cell)
            if value is not None:
                values[name] = value
        return row_of(values, date=date.min, amount=Decimal(0), as_of=as_of)

    return place_of


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
