"""What building and showing a conversion's part of a call has in common. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from headwater.forwarding.models import Conversion

HIDDEN = "(hidden)"


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


def shown(part: Mapping[str, Any], kept: frozenset[str], urls: frozenset[str]) -> dict[str, Any]:
    """A part fit to be shown: values stay under the names in `kept`, URLs under those in `urls`
    lose their query, and every other value is hidden, so that a field added later is hidden too.
    """
    return {name: _shown(name, value, kept, urls) for name, value in part.items()}


def _shown(name: str, value: Any, kept: frozenset[str], urls: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return shown(cast("dict[str, Any]", value), kept, urls)
    if isinstance(value, list):
        return [_shown(name, item, kept, urls) for item in cast("list[Any]", value)]
    if name in kept:
        return value
    return _page(value) if name in urls else HIDDEN


def _page(url: Any) -> str:
    try:
        parts = urlsplit(str(url))
        host = parts.hostname or ""
    except ValueError:
        return HIDDEN
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme and host else HIDDEN
