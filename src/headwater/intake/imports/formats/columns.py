"""Map the columns of a file to fields and the text of cells to values. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from headwater.http.decimals import number_pattern
from headwater.http.errors import Errors
from headwater.intake.imports.formats.amounts import DECIMALS, parse_amount
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.intake.imports.formats.notation import Notation

_TRUE, _FALSE = {"true", "1", "yes"}, {"false", "0", "no"}
LARGEST_EXPONENT = 40
_EXPONENT = re.compile(number_pattern(exponent=9), re.ASCII)
NOTHING = frozenset({"", "-", "--", "–", "—", "n/a", "na", "n. a.", "k. a.", "k.a."})  # noqa: RUF001
"""Cells that mean "no value"."""


@dataclass(frozen=True)
class Columns:
    """The field of each column: from `mapped`, otherwise of the same name."""

    fields: Collection[str]
    mapped: tuple[tuple[str, str], ...] = ()
    """Column and field. In nested JSON, a column is a dotted path."""
    ignored: tuple[str, ...] = ()
    """Columns to ignore although a field has their name."""
    constants: tuple[tuple[str, str], ...] = ()
    """Field and default value of every row."""

    def check(self, header: Collection[str] | None) -> None:
        """Raise UnreadableError for unknown fields and missing columns."""
        for column, name in self.mapped:
            if name not in self.fields:
                raise UnreadableError(f"no field {name}; the fields are {', '.join(self.fields)}")
            if header is not None and column not in header:
                raise UnreadableError(f"no column {column}; the columns are {', '.join(header)}")

    def pick(self, values: dict[str, Any]) -> dict[str, Any]:
        used_columns = {column for column, _ in self.mapped} | {*self.ignored}
        picked_values = {
            name: value for name, value in values.items() if name in self.fields and name not in used_columns
        }
        for column, name in self.mapped:
            value = _get_cell(values, column)
            if value is not None:
                picked_values[name] = value
        defaults = {name: value for name, value in self.constants if picked_values.get(name) in (None, "")}
        return picked_values | defaults

    def lines(self) -> list[str]:
        """Return the mapping as command-line options."""
        return [
            *(f"{column}={name}" for column, name in self.mapped),
            *(f"--ignore={column}" for column in self.ignored),
            *(f"--set={name}={value}" for name, value in self.constants),
        ]


def read_mapping(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Parse `COLUMN=FIELD` options. Raises UnreadableError."""
    pairs: list[tuple[str, str]] = []
    for text in texts:
        column, _, name = (text.strip() for text in text.rpartition("="))
        if not column or not name:
            raise UnreadableError(f"--map {text}: must be COLUMN=FIELD")
        pairs.append((column, name))
    return tuple(sorted(pairs))


def read_choices(
    fields: Collection[str],
    choices: Mapping[str, str],
    constants: Mapping[str, str],
    *,
    maps_all: bool = False,
) -> Columns:
    """Build columns from the chosen fields; empty ignores a column. Unless `maps_all`, a column named like
    its field isn't mapped, so that the import equals one from a terminal.
    """
    mapped_pairs = sorted(
        (column, name) for column, name in choices.items() if name and (maps_all or name != column)
    )
    ignored_columns = sorted(column for column, name in choices.items() if not name and column in fields)
    return Columns(fields, tuple(mapped_pairs), tuple(ignored_columns), tuple(sorted(constants.items())))


def assign_columns(fields: Mapping[str, str], mapped: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the fields of columns; the user's choices replace others."""
    chosen_fields = dict(mapped)
    other_fields = {
        column: name
        for column, name in fields.items()
        if column not in chosen_fields and name not in chosen_fields.values()
    }
    return other_fields | chosen_fields


def _get_cell(values: dict[str, Any], column: str) -> Any:
    if column in values:
        return values[column]
    value: Any = values
    for name in column.split("."):
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, Any]", value).get(name)
    return value


def typed(
    values: dict[str, Any], numbers: Collection[str], flags: Collection[str], notation: Notation
) -> Errors:
    """Convert CSV cells to numbers and flags, in place. Return errors for other number styles."""
    errors: Errors = {}
    for name in values.keys() & set(numbers):
        try:
            values[name] = _read_number(values[name], notation)
        except ValueError as error:
            errors[name] = [f"The {name} {error}"]
    for name in values.keys() & set(flags):
        word = values[name].strip().lower()
        values[name] = True if word in _TRUE else False if word in _FALSE else values[name]
    for name in [name for name, value in values.items() if value is None or value == ""]:
        del values[name]
    return errors


def _read_number(text: str, notation: Notation) -> Decimal | None:
    """Return None for an empty cell. Raises ValueError with the rule."""
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
    if number is None or abs(number.adjusted()) > LARGEST_EXPONENT:
        raise ValueError(f"must be a number, written like {DECIMALS[notation.decimals]}.")
    return number


def name_currency(values: dict[str, Any], money: Collection[str], default: str) -> Errors:
    """Set a row's currency from signs next to amounts (`12,50 €`) if no column has it. Return errors for
    amounts in another currency.
    """
    cells = [values[name] for name in money if isinstance(values.get(name), str)]
    amounts = [amount for cell in cells if (amount := parse_amount(cell))]
    sign_currencies = [amount.currencies for amount in amounts if amount.currencies]
    if not sign_currencies:
        return {}
    possible_currencies = sign_currencies[0].intersection(*sign_currencies[1:])
    row_currency = str(values.get("currency") or "").strip().upper()
    if not row_currency and len(possible_currencies) == 1:
        values["currency"] = next(iter(possible_currencies))
    elif (row_currency or default) not in possible_currencies:
        currencies_text = " or ".join(sorted(possible_currencies)) or "the same for all amounts"
        sign = cells[0].strip()[:30]
        return {"currency": [f"The currency must be {currencies_text}, because of the sign in {sign}."]}
    return {}
