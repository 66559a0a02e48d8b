"""Columns of a file as fields, and the text of cells as values. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from headwater.http.decimals import number_pattern
from headwater.http.errors import Errors
from headwater.intake.imports.formats.amounts import DECIMALS, parse_amount
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.intake.imports.formats.notation import Notation

_TRUE, _FALSE = {"true", "1", "yes"}, {"false", "0", "no"}
_LARGEST_EXPONENT = 40
_EXPONENT = re.compile(number_pattern(exponent=9), re.ASCII)
NOTHING = frozenset({"", "-", "--", "–", "—", "n/a", "na", "n. a.", "k. a.", "k.a."})  # noqa: RUF001
"""Cells that mean that there is no value."""


@dataclass(frozen=True)
class Columns:
    """Fields by column: those named by `mapped`, and every other column of a field's name."""

    fields: Collection[str]
    mapped: tuple[tuple[str, str], ...] = ()
    """Column and field; of a nested JSON object, a column is a path with dots."""
    ignored: tuple[str, ...] = ()
    """Columns with a field's name that are left out all the same."""
    constants: tuple[tuple[str, str], ...] = ()
    """Field and value, the same in every row that has no other."""

    def check(self, header: Collection[str] | None) -> None:
        """Raise UnreadableError when a field does not exist, or a column is not in the header."""
        for column, name in self.mapped:
            if name not in self.fields:
                raise UnreadableError(f"no field {name}; there are {', '.join(self.fields)}")
            if header is not None and column not in header:
                raise UnreadableError(f"no column {column}; there are {', '.join(header)}")

    def pick(self, values: dict[str, Any]) -> dict[str, Any]:
        """A row's values by field."""
        taken = {column for column, _ in self.mapped} | {*self.ignored}
        picked = dict[str, Any](self.constants) | {
            name: value for name, value in values.items() if name in self.fields and name not in taken
        }
        for column, name in self.mapped:
            value = _at(values, column)
            if value is not None:
                picked[name] = value
        return picked

    def lines(self) -> list[str]:
        """Everything that is not as usual, as the options that would say so."""
        return [
            *(f"{column}={name}" for column, name in self.mapped),
            *(f"--ignore={column}" for column in self.ignored),
            *(f"--set={name}={value}" for name, value in self.constants),
        ]


def read_mapping(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """`COLUMN=FIELD` as pairs, in one order. Raises UnreadableError."""
    pairs: list[tuple[str, str]] = []
    for text in texts:
        column, _, name = (part.strip() for part in text.rpartition("="))
        if not column or not name:
            raise UnreadableError(f"--map {text}: must be COLUMN=FIELD")
        pairs.append((column, name))
    return tuple(sorted(pairs))


def read_choices(
    fields: Collection[str],
    chosen: Mapping[str, str],
    constants: Mapping[str, str],
    *,
    maps_all: bool = False,
) -> Columns:
    """The columns of a table of which every one was chosen to be a field, or none (an empty text).
    One that is what its name says is not mapped, unless all are: so it is the same import as at a
    terminal.
    """
    mapped = sorted(
        (column, name) for column, name in chosen.items() if name and (maps_all or name != column)
    )
    ignored = sorted(column for column, name in chosen.items() if not name and column in fields)
    return Columns(fields, tuple(mapped), tuple(ignored), tuple(sorted(constants.items())))


def _at(values: dict[str, Any], column: str) -> Any:
    """The value of a column, or at a path into nested objects."""
    if column in values:
        return values[column]
    value: Any = values
    for part in column.split("."):
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, Any]", value).get(part)
    return value


def typed(
    values: dict[str, Any], numbers: Collection[str], flags: Collection[str], notation: Notation
) -> Errors:
    """Turn the text of a CSV file's cells into the numbers and flags that JSON would have. Return
    the errors of numbers that are written in another way, which stay as they are.
    """
    errors: Errors = {}
    for name in values.keys() & set(numbers):
        try:
            values[name] = _number(values[name], notation)
        except ValueError as error:
            errors[name] = [f"The {name} {error}"]
    for name in values.keys() & set(flags):
        word = values[name].strip().lower()
        values[name] = True if word in _TRUE else False if word in _FALSE else values[name]
    for name in [name for name, value in values.items() if value is None or value == ""]:
        del values[name]
    return errors


def _number(text: str, notation: Notation) -> Decimal | None:
    """Return the number in a cell; None for an empty one. Raises ValueError with the rule."""
    if text.strip().lower() in NOTHING:
        return None
    digits = notation.number(text)
    if (
        digits is None
        and notation.decimals != "comma"
        and "e" in text.lower()
        and _EXPONENT.fullmatch(text.strip())
    ):
        digits = text.strip()
    number = None if digits is None else Decimal(digits)
    if number is None or abs(number.adjusted()) > _LARGEST_EXPONENT:
        raise ValueError(f"must be a number, written like {DECIMALS[notation.decimals]}.")
    return number


def name_currency(values: dict[str, Any], money: Collection[str], default: str) -> Errors:
    """Take the currency of a row from the signs next to its amounts, such as `12,50 €`, where no
    column has it. Return the errors of amounts in another currency than the row's, or `default`.
    """
    cells = [values[name] for name in money if isinstance(values.get(name), str)]
    amounts = [amount for cell in cells if (amount := parse_amount(cell))]
    named = [amount.currencies for amount in amounts if amount.currencies]
    if not named:
        return {}
    possible = named[0].intersection(*named[1:])
    row_currency = str(values.get("currency") or "").strip().upper()
    if not row_currency and len(possible) == 1:
        values["currency"] = next(iter(possible))
    elif (row_currency or default) not in possible:
        accepted = " or ".join(sorted(possible)) or "the same for all amounts"
        sign = cells[0].strip()[:30]
        return {"currency": [f"The currency must be {accepted}, because of the sign in {sign}."]}
    return {}
