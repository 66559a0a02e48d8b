"""Convert arguments as assistants write them to their schema's types: `5.0` to an integer, digits to an id,
one text to a list, true to 1. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

_WHOLE_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
_LARGEST_EXACT = 2.0**53
"""Above it one float can represent several integers."""


def tidy(arguments: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Convert unambiguous values. Fractions become Decimal."""
    return {name: _coerced(_make_exact(value), schemas.get(name, {})) for name, value in arguments.items()}


def _coerced(value: Any, schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    if isinstance(value, str) and kind == "integer" and _WHOLE_NUMBER.fullmatch(value):
        return int(value)
    if isinstance(value, str) and kind == "array":
        return [value]
    if isinstance(value, bool) and schema.get("enum") == [0, 1]:
        return int(value)
    if isinstance(value, Decimal) and any(
        choice.get("type") == "string" for choice in schema.get("anyOf", ())
    ):
        return str(value)  # text that holds a number is accepted too
    return value


def _make_exact(value: Any) -> Any:
    if isinstance(value, float):
        is_whole = abs(value) < _LARGEST_EXACT and value.is_integer()
        return int(value) if is_whole else Decimal(repr(value))
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: _make_exact(member) for name, member in members.items()}
    if isinstance(value, list):
        return [_make_exact(item) for item in cast("list[Any]", value)]
    return value
