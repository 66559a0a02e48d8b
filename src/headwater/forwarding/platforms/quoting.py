"""What platforms quote in their answers of what they were sent: taken out of what is kept. Pure."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from headwater.forwarding.platforms.answers import words
from headwater.logs import MASKED, mask

LONGEST_ANSWER = 4096
_SHORTEST_QUOTED = 3
"""Characters; fewer identify nobody."""


def at(value: Any, *names: str) -> Any:
    """What stands under these names, one inside the other; None where there is no such thing."""
    for name in names:
        value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
    return value


def without_quoted(text: Any, value: Any) -> str:
    """An error's words without the value that it is about."""
    said = text if isinstance(text, str) else ""
    quoted = "" if isinstance(value, dict | list | bool | None) else str(value).strip()
    return words(said if len(quoted) < _SHORTEST_QUOTED else said.replace(quoted, MASKED))


def keepable(body: bytes, quotes: frozenset[str]) -> str:
    """The beginning of an answer as it may be kept: without what stands under the names in
    `quotes`, and without addresses and tokens. Of one that may quote and is no whole JSON, nothing.
    """
    try:
        text = msgspec.json.encode(_unquoted(msgspec.json.decode(body), quotes)).decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = "" if quotes else body[: 2 * LONGEST_ANSWER].decode("utf-8", "replace")
    return mask(text)[:LONGEST_ANSWER].replace("\0", "")  # PostgreSQL keeps no NUL in a text


def _unquoted(value: Any, quotes: frozenset[str]) -> Any:
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {name: MASKED if name in quotes else _unquoted(item, quotes) for name, item in items}
    if isinstance(value, list):
        return [_unquoted(item, quotes) for item in cast("list[Any]", value)]
    return value
