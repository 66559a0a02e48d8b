"""JMESPath's built-in functions on exact numbers. Pure.

The package's own use floats and quote personal values.
https://jmespath.org/specification.html#built-in-functions
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import partial
from typing import Any, cast

from headwater.http.json_decoder import decode_exact, encode_exact
from headwater.intake.webhooks.values import (
    ANY_VALUE,
    COLLECTION,
    COMPARABLES,
    EXPRESSION,
    LIST,
    NUMBER,
    NUMBERS,
    OBJECT,
    TEXT,
    TEXT_OR_LIST,
    TEXTS,
    Function,
    is_number,
    is_text,
    to_number,
)

Pick = Callable[[Any], Any]
"""An expression argument, evaluated per item."""


def same(one_value: Any, right: Any) -> bool:
    """Return False for true and 1."""
    return isinstance(one_value, bool) is isinstance(right, bool) and one_value == right


def _average(numbers: list[Any]) -> Decimal | None:
    return _sum(numbers) / len(numbers) if numbers else None


def _sum(numbers: list[Any]) -> Decimal:
    return sum(map(to_number, numbers), Decimal(0))


def _ceil(number: Any) -> int:
    return int(to_number(number).to_integral_value(ROUND_CEILING))


def _floor(number: Any) -> int:
    return int(to_number(number).to_integral_value(ROUND_FLOOR))


def _contains(subject: Any, searched: Any) -> bool:
    if isinstance(subject, str):
        return isinstance(searched, str) and searched in subject
    return any(same(item, searched) for item in subject)


def _merge(*objects: dict[str, Any]) -> dict[str, Any]:
    return {key: value for members in objects for key, value in members.items()}


def _not_null(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _to_number(value: Any) -> Any:
    if is_number(value):
        return value
    if not isinstance(value, str):
        return None
    try:
        number = decode_exact(value)
    except (ValueError, ArithmeticError):
        return None
    return number if is_number(number) else None


def _to_string(value: Any) -> str:
    return value if isinstance(value, str) else encode_exact(value).decode()


def _type(value: Any) -> str:
    names = {"dict": "object", "list": "array", "str": "string", "bool": "boolean", "NoneType": "null"}
    return names.get(type(value).__name__, "number")


def to_array(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _values(value: dict[str, Any]) -> list[Any]:
    return list(value.values())


def _reverse(value: Any) -> Any:
    return value[::-1]


def _absolute(number: Any) -> Decimal:
    return abs(to_number(number))


def _map(pick: Pick, items: list[Any]) -> list[Any]:
    return [pick(item) for item in items]


def _make_keys(items: list[Any], pick: Pick, name: str) -> list[Any]:
    """Raise ValueError for mixed kinds."""
    keys = [pick(item) for item in items]
    if not (all(map(is_number, keys)) or all(map(is_text, keys))):
        raise ValueError(f"cannot be evaluated: {name}() compares by numbers or by texts.")
    return keys


def _sort_by(items: list[Any], pick: Pick) -> list[Any]:
    keys = _make_keys(items, pick, "sort_by")
    return [items[index] for index in sorted(range(len(items)), key=keys.__getitem__)]


def _max_by(items: list[Any], pick: Pick) -> Any:
    keys = _make_keys(items, pick, "max_by")
    return items[max(range(len(items)), key=keys.__getitem__)] if items else None


def _min_by(items: list[Any], pick: Pick) -> Any:
    keys = _make_keys(items, pick, "min_by")
    return items[min(range(len(items)), key=keys.__getitem__)] if items else None


STANDARD_FUNCTIONS: Mapping[str, Function] = {
    "abs": Function(_absolute, (NUMBER,)),
    "avg": Function(_average, (NUMBERS,), deep=True),
    "ceil": Function(_ceil, (NUMBER,)),
    "contains": Function(_contains, (TEXT_OR_LIST, ANY_VALUE), deep=True),
    "ends_with": Function(str.endswith, (TEXT, TEXT)),
    "floor": Function(_floor, (NUMBER,)),
    "join": Function(str.join, (TEXT, TEXTS), deep=True),
    "keys": Function(list, (OBJECT,)),
    "length": Function(len, (COLLECTION,)),
    "map": Function(_map, (EXPRESSION, LIST)),
    "max": Function(partial(max, default=None), (COMPARABLES,), deep=True),
    "max_by": Function(_max_by, (LIST, EXPRESSION)),
    "merge": Function(_merge, (OBJECT,), repeats=True),
    "min": Function(partial(min, default=None), (COMPARABLES,), deep=True),
    "min_by": Function(_min_by, (LIST, EXPRESSION)),
    "not_null": Function(_not_null, (ANY_VALUE,), repeats=True),
    "reverse": Function(_reverse, (TEXT_OR_LIST,)),
    "sort": Function(sorted, (COMPARABLES,), deep=True),
    "sort_by": Function(_sort_by, (LIST, EXPRESSION)),
    "starts_with": Function(str.startswith, (TEXT, TEXT)),
    "sum": Function(_sum, (NUMBERS,), deep=True),
    "to_array": Function(to_array, (ANY_VALUE,)),
    "to_number": Function(_to_number, (ANY_VALUE,)),
    "to_string": Function(_to_string, (ANY_VALUE,), deep=True),
    "type": Function(_type, (ANY_VALUE,)),
    "values": Function(_values, (OBJECT,)),
}
