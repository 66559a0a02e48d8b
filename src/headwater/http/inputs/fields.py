"""Types of input values: a JSON schema, and one way to read a value from query text or JSON. `parameters.py`
uses them for queries, `objects.py` for bodies. Only these modules look at a value's JSON type.

An invalid value raises ValueError with the rest of the sentence "The <name> …".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, TypeVar

from headwater.http.decimals import number_pattern
from headwater.http.inputs.suggestions import Names

T = TypeVar("T")
U = TypeVar("U")
Schema = dict[str, Any]

REQUIRED = "is required."
NULL: Schema = {"type": "null"}
BLANK: Schema = {"type": "string", "pattern": r"^\s*$"}

CONTROL_CHARACTERS = r"\x00-\x1f\x7f"
"""Control characters that the specification forbids, for a regex class."""
UNPRINTABLE = re.compile(rf"[{CONTROL_CHARACTERS}\ud800-\udfff]")
"""Control characters and lone surrogates, invalid in names and other single lines."""

NUMBER = re.compile(number_pattern())


@dataclass(frozen=True)
class FieldType(Generic[T]):
    schema: Schema
    read: Callable[[object], T]
    """Convert a sent value. Raise ValueError with the broken rule."""

    def then(self, parse: Callable[[T], U]) -> FieldType[U]:
        """Return the type with values converted by `parse`, which may also raise ValueError."""
        return FieldType(self.schema, lambda value: parse(self.read(value)))

    def or_null(self) -> FieldType[T | None]:
        """Return the type that also converts null to None."""
        schema = {"anyOf": [self.schema, NULL]}
        return FieldType(schema, lambda value: None if value is None else self.read(value))

    def or_none(self) -> FieldType[T | None]:
        """Return the type that also converts null and blank text to None."""
        schema = {"anyOf": [self.schema, BLANK, NULL]}
        return FieldType(schema, lambda value: None if is_blank(value) else self.read(value))

    def documented(self, **schema: Any) -> FieldType[T]:
        """Return the type with a more, or less, detailed schema."""
        return FieldType(schema, self.read)


# --------------------------------------------------------------------------------------- text


def is_blank(value: object) -> bool:
    """Return whether a value counts as missing: null or blank text."""
    return value is None or (isinstance(value, str) and not value.strip())


def unless_blank(value: str) -> str | None:
    return value if value.strip() else None


def text_up_to(
    longest: int,
    *,
    shortest: int = 0,
    trim: bool = False,
    integers: bool = False,
    rule: str = "",
    length_rule: str = "",
) -> FieldType[str]:
    """Return a type of text with limited length, optionally trimmed. `integers` accepts ids that some senders
    write as numbers.
    """
    type_rule = rule or f"must be a string of at most {longest} characters."
    length_rule = length_rule or type_rule

    def read(value: object) -> str:
        if integers and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise ValueError(type_rule)
        value = value.strip() if trim else value
        if not shortest <= len(value) <= longest:
            raise ValueError(length_rule)
        return value

    return FieldType({"type": "string", "maxLength": longest}, read)


def line_up_to(longest: int, rule: str, *, shortest: int = 1) -> FieldType[str]:
    """Return a type of trimmed text without control characters."""

    def check(text: str) -> str:
        if UNPRINTABLE.search(text):
            raise ValueError(rule)
        return text

    return text_up_to(longest, shortest=shortest, trim=True, rule=rule).then(check)


def written(schema: Schema, parse: Callable[[str], T]) -> FieldType[T]:
    """Return a type of values written as text and parsed by `parse`. Integers and booleans in JSON are read
    as text.
    """
    return FieldType(schema, lambda value: parse(text_of(value)))


def text_of(value: object) -> str:
    """Return a string, integer or boolean as text. Raise ValueError for other values."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int):
        return str(value)
    raise ValueError("must not hold numbers with fractions, arrays or objects.")


TEXT = written({"type": "string"}, str)


def word_of(words: Sequence[str]) -> FieldType[str]:
    """Return a type that accepts one of these words."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"must be one of {', '.join(words)}.")
        return value

    return FieldType({"type": "string", "enum": list(words)}, read)


def one_of(values: Sequence[T], in_words: str = "") -> FieldType[T]:
    """Return a type for a closed list of strings or integers; `in_words` describes the list if that is
    shorter.
    """
    by_text = {str(value): value for value in values}
    names = Names(by_text, in_words)

    def parse(word: str) -> T:
        if word not in by_text:
            raise ValueError(names.refusal(word))
        return by_text[word]

    type_name = "integer" if isinstance(values[0], int) else "string"
    return written({"type": type_name, "enum": list(values)}, parse)


def _parse_boolean(word: str) -> bool:
    if word not in ("true", "false", "1", "0"):
        raise ValueError("must be true or false.")
    return word in ("true", "1")


BOOLEAN = written({"type": "boolean"}, _parse_boolean)


def _read_flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false.")
    return value


FLAG = FieldType({"type": "boolean"}, _read_flag)
"""A boolean of JSON; BOOLEAN also reads it from text."""


# ------------------------------------------------------------------------------------ numbers


def whole_number(low: int, high: int) -> FieldType[int]:
    """Return a type for integers between two bounds; as text, in ASCII digits."""

    def parse(digits: str) -> int:
        value = int(digits) if re.fullmatch("[0-9]{1,18}", digits) else low - 1
        if not low <= value <= high:
            raise ValueError(f"must be a whole number from {low} to {high}.")
        return value

    return written({"type": "integer", "minimum": low, "maximum": high}, parse)


def integer(digits: int) -> FieldType[int]:
    bound = 10**digits

    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= bound:
            raise ValueError(f"must be an integer of at most {digits} digits.")
        return value

    return FieldType({"type": "integer", "minimum": 1 - bound, "maximum": bound - 1}, read)


def number(rule: str, *, text_rule: str = "", form: re.Pattern[str] = NUMBER) -> FieldType[Decimal]:
    """Return a type for finite numbers, or text with one; text in another format breaks `text_rule`."""

    def read(value: object) -> Decimal:
        if isinstance(value, str):
            if not form.fullmatch(value.strip()):
                raise ValueError(text_rule or rule)
            return Decimal(value.strip())
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise ValueError(rule)
        # A float becomes its sent digits, not the binary fraction's.
        parsed = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        if not parsed.is_finite():
            raise ValueError(rule)
        return parsed

    return FieldType({"anyOf": [{"type": "number"}, number_text(form)]}, read)


def number_within(limit: Decimal) -> Schema:
    return {"type": "number", "minimum": -float(limit), "maximum": float(limit)}


def number_text(form: re.Pattern[str]) -> Schema:
    """Return the schema of text with a number in a format, surrounded by optional blanks."""
    return {"type": "string", "pattern": rf"^\s*{form.pattern}\s*$"}
