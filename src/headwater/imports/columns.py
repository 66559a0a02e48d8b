"""Columns of a file as fields, and the text of cells as values. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from headwater.imports.dialects import UnreadableError
from headwater.imports.notation import Notation

_TRUE, _FALSE = {"true", "1", "yes"}, {"false", "0", "no"}
_LARGEST_EXPONENT = 40


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
            name: value for name, value in values.items()
            if name in self.fields and name not in taken
        }  # fmt: skip
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
) -> None:
    """Turn the text of a CSV file's cells into the numbers and flags that JSON would have. Other
    text is left for the checks to refuse.
    """
    for name in values.keys() & set(numbers):
        values[name] = _number(notation.number(values[name]))
    for name in values.keys() & set(flags):
        word = values[name].strip().lower()
        values[name] = True if word in _TRUE else False if word in _FALSE else values[name]
    for name in [name for name, value in values.items() if value is None or value == ""]:
        del values[name]


def _number(text: str) -> Decimal | str | None:
    if not text.strip():
        return None
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return text
    fits = number.is_finite() and abs(number.adjusted()) <= _LARGEST_EXPONENT
    return number if fits else text
