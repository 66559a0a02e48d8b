"""Convert values to exact numbers and text. Pure.

Raises ValueError with the rest of the sentence "The <field> …".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

from msgspec import Struct

_NUMBER = re.compile(r"[+-]?[0-9]{1,24}(\.[0-9]{1,24})?")
_LARGEST_EXPONENT = 30


def to_number(value: Any) -> Decimal:
    """Raise ValueError for bad input."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return Decimal(value.strip())
    if is_number(value):
        number = Decimal(value)
        if number.is_finite() and abs(number.adjusted()) <= _LARGEST_EXPONENT:
            return number
    raise ValueError("must be a number.")


def to_text(value: Any) -> str:
    """Raise ValueError for bad input."""
    if isinstance(value, str):
        return value
    if is_number(value):
        return str(value)
    raise ValueError("must be text or a number.")


def is_number(value: Any) -> bool:
    """Return False for booleans."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def _make_list_test(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, cast("list[Any]", value)))


_is_numbers, _is_texts = _make_list_test(is_number), _make_list_test(is_text)


class ValueKind(Struct, frozen=True):
    words: str
    fits: Callable[[Any], bool]


ANY_VALUE = ValueKind("any value", lambda _: True)
TEXT = ValueKind("text", is_text)
NUMBER = ValueKind("a number", is_number)
LIST = ValueKind("a list", lambda value: isinstance(value, list))
OBJECT = ValueKind("an object", lambda value: isinstance(value, dict))
TEXT_OR_LIST = ValueKind("text or a list", lambda value: isinstance(value, str | list))
COLLECTION = ValueKind("text, a list or an object", lambda value: isinstance(value, str | list | dict))
NUMBERS = ValueKind("a list of numbers", _is_numbers)
TEXTS = ValueKind("a list of texts", _is_texts)
COMPARABLES = ValueKind(
    "a list of numbers or a list of texts", lambda value: _is_numbers(value) or _is_texts(value)
)
EXPRESSION = ValueKind("an expression after &", callable)


class Function(Struct, frozen=True):
    call: Callable[..., Any]
    takes: tuple[ValueKind, ...]
    least_count: int | None = None
    """Required arguments; the others are optional."""
    repeats: bool = False
    """The last argument may be repeated."""
    deep: bool = False
    """Its cost grows with nested values."""
    lazy: bool = False
    """It gets an iterator that evaluates arguments on demand."""
    steps: int = 0
    """Per call, in addition to arguments."""
    characters_a_step: int = 100
    """Characters of text per step."""
    reads_headers: bool = False
    """It gets the headers first; its argument must be a literal."""

    def kind(self, index: int) -> ValueKind:
        return self.takes[min(index, len(self.takes) - 1)]

    def check_count(self, name: str, count: int) -> None:
        """Raise ValueError for bad input."""
        least_count = len(self.takes) if self.least_count is None else self.least_count
        if count < least_count or (count > len(self.takes) and not self.repeats):
            raise ValueError(f"gives {name}() {count} arguments; {self._usage(name)}.")

    def check_kinds(self, name: str, arguments: list[Any]) -> None:
        """Raise ValueError without quoting values."""
        for index, argument in enumerate(arguments):
            if not self.kind(index).fits(argument):
                raise ValueError(f"cannot be evaluated: {self._usage(name)}.")

    def _usage(self, name: str) -> str:
        words = [kind.words for kind in self.takes]
        if self.least_count is not None:
            words[self.least_count :] = [f"optionally {kind}" for kind in words[self.least_count :]]
        return f"{name}() takes {', '.join(words)}{' and any number more' if self.repeats else ''}"
