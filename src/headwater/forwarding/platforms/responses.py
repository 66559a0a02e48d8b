"""Read platforms' responses. Pure."""

from __future__ import annotations

import re
from typing import Any, TypeGuard, cast

import msgspec

from headwater.base.egress.models import EgressResponse
from headwater.base.logs import MASKED
from headwater.base.masking import Mask
from headwater.forwarding.platforms.models import (
    Bisect,
    CallAccepted,
    CallDeferred,
    CallRefused,
    CredentialsRefused,
    Verdict,
)

LONGEST_ERROR = 500
MOST_READ = 16 * 1024
"""Characters of an error searched for secrets."""

# Text like a token or a person's id. Matches start at words only, for linear time.
_TOKEN = re.compile(r"(?<![A-Za-z0-9_-])(?=[A-Za-z_-]{0,64}[0-9])[A-Za-z0-9_-]{24,}")
_SHORTEST_QUOTED = 3
"""Shorter quoted values identify no person."""

_mask = Mask()
_TRANSIENT = frozenset({408, 423, 425, 429})
_ABOUT_CONTENT = frozenset({400, 413, 422})
"""Others affect every event, such as an unknown account."""


def succeeded(answer: EgressResponse) -> bool:
    """Check the status; the body may still have errors."""
    return 200 <= answer.status < 300


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
    quoted = "" if isinstance(value, dict | list | bool | None) else str(value).strip()
    return join_error_texts(error if len(quoted) < _SHORTEST_QUOTED else error.replace(quoted, MASKED))


def refused(error: str, count: int) -> Verdict:
    """Return the verdict if no events are named."""
    return CallRefused(error) if count == 1 else Bisect(error)


def by_status(answer: EgressResponse, count: int, message: str = "", *, confirmed: bool = False) -> Verdict:
    """Judge a body without an error. `confirmed`: it confirms acceptance in the platform's own way.

    Without that, a success may come from a proxy or captive portal. Retrying is safe, because platforms
    deduplicate by id.
    """
    status = answer.status
    error = join_error_texts(f"HTTP {status}", message)
    if succeeded(answer):
        unconfirmed = join_error_texts(f"HTTP {status} without the platform's confirmation", message)
        return CallAccepted() if confirmed else CallDeferred(unconfirmed)
    if status in {401, 403}:
        return CredentialsRefused(error)
    if status in _TRANSIENT or status >= 500 or status < 400:
        return CallDeferred(error)
    return refused(error, count) if status in _ABOUT_CONTENT else CallRefused(error)


def unreadable(answer: EgressResponse, count: int) -> Verdict:
    """Judge anything but a JSON object.

    A success may come from a proxy; a retry is safe. A truncated body becomes readable with fewer events.
    """
    if succeeded(answer):
        error = f"HTTP {answer.status} with a body that cannot be read."
        return Bisect(error) if answer.cut and count > 1 else CallDeferred(error)
    return by_status(answer, count)
