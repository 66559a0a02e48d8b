"""Payload parts shared by platforms. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any

import msgspec

from headwater.forwarding.platforms.models import Conversion, SkipReason

MEGABYTE = 1_000_000
_ENVELOPE = 1000
"""Bytes of a call outside its parts."""


def drop_empty(**fields: Any) -> dict[str, Any]:
    """Drop empty fields: platforms expect them absent."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def make_list(value: str | None) -> list[str] | None:
    return None if value is None else [value]


def get_event_seconds(conversion: Conversion) -> int:
    return conversion.event_time // 1000


def value_fields(conversion: Conversion, form: Callable[[Decimal], Any]) -> dict[str, Any]:
    """Return nothing without an amount."""
    if conversion.amount is None:
        return {}
    return drop_empty(currency=conversion.currency, value=form(conversion.amount))


def lacks_currency(conversion: Conversion) -> bool:
    return conversion.amount is not None and not conversion.currency


def require_identifier(
    fields: Collection[str], identifiers: frozenset[str], pair: frozenset[str] = frozenset()
) -> SkipReason | None:
    """Return NO_IDENTIFIER unless the fields have one of `identifiers`, or both of `pair`."""
    is_identified = not identifiers.isdisjoint(fields) or (pair and pair.issubset(fields))
    return None if is_identified else SkipReason.NO_IDENTIFIER


def count_within(parts: Sequence[Mapping[str, Any]], size: int) -> int:
    """Return how many first parts, at least one, fit."""
    ends = accumulate(len(msgspec.json.encode(content)) + 1 for content in parts)
    return max(1, sum(end <= size - _ENVELOPE for end in ends))
