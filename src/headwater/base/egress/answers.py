"""Read other servers' responses: their JSON, and error texts without secrets. Pure."""

from __future__ import annotations

import re
from typing import Any, TypeGuard, cast

import msgspec

from headwater.base.egress.models import EgressResponse
from headwater.base.logs import MASKED
from headwater.base.masking import Mask

LONGEST_ERROR = 500
MOST_READ = 16 * 1024
"""Characters of an error searched for secrets."""

# Text like a token or a person's id. Matches start at words only, for linear time.
_TOKEN = re.compile(r"(?<![A-Za-z0-9_-])(?=[A-Za-z_-]{0,64}[0-9])[A-Za-z0-9_-]{24,}")
_SHORTEST_QUOTED = 3
"""Shorter quoted values identify no person."""

_DURATION = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,9})?)s")
_mask = Mask()
_TRANSIENT = frozenset({408, 423, 425, 429})


def succeeded(answer: EgressResponse) -> bool:
    """Check the status; the body may still have errors."""
    return 200 <= answer.status < 300


def is_temporary(status: int) -> bool:
    """Return whether the same request may succeed later."""
    return status in _TRANSIENT or status >= 500 or 300 <= status < 400


def read_wait(answer: EgressResponse) -> float | None:
    """Return the seconds in Retry-After; a date is not read."""
    text = answer.headers.get("retry-after", "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 7 else None


def read_object(answer: EgressResponse) -> dict[str, Any] | None:
    """Return {} for an empty body, None for other content."""
    if not answer.body.strip():
        return {}
    try:
        body: Any = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return cast("dict[str, Any]", body) if isinstance(body, dict) else None


def is_number(value: Any) -> TypeGuard[int]:
    """Return False for booleans."""
    return isinstance(value, int) and not isinstance(value, bool)


def objects(value: Any) -> list[dict[str, Any]]:
    """Return [] for other values."""
    if not isinstance(value, list):
        return []
    return [item for item in cast("list[Any]", value) if isinstance(item, dict)]


def read_duration(value: Any) -> float | None:
    """Return the seconds of a duration as Google writes it, such as `5s`."""
    duration = _DURATION.fullmatch(value) if isinstance(value, str) else None
    return None if duration is None else float(duration[1])


def join_error_texts(*parts: Any) -> str:
    """Join into a bounded line without text like personal data or tokens. Callers also mask sent values."""
    text = ": ".join(str(text) for text in parts if text not in (None, ""))
    return _mask.text(_TOKEN.sub(MASKED, " ".join(text[:MOST_READ].split())))[:LONGEST_ERROR]


def get_nested(value: Any, *names: str) -> Any:
    for name in names:
        value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
    return value


def remove_quoted(text: Any, value: Any) -> str:
    error = text if isinstance(text, str) else ""
    quoted_text = "" if isinstance(value, dict | list | bool | None) else str(value).strip()
    return join_error_texts(
        error if len(quoted_text) < _SHORTEST_QUOTED else error.replace(quoted_text, MASKED)
    )
