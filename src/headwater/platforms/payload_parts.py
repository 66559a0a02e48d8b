"""What building a conversion's part of a call has in common. Pure."""

from __future__ import annotations

from typing import Any

from headwater.platforms.models import Conversion


def present(**fields: Any) -> dict[str, Any]:
    """The fields that have a value: platforms take an absent field, not an empty one."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def one(value: str | None) -> list[str] | None:
    """A list of it, as platforms take several."""
    return None if value is None else [value]


def seconds(conversion: Conversion) -> int:
    """The event's time as whole seconds since 1970."""
    return conversion.event_time // 1000


def lacks_currency(conversion: Conversion) -> bool:
    """Whether there is a value, but nothing says in what."""
    return conversion.amount is not None and not conversion.currency
