"""Judge platforms' responses. Pure."""

from __future__ import annotations

from headwater.base.egress.answers import is_temporary, join_error_texts, succeeded
from headwater.base.egress.models import EgressResponse
from headwater.forwarding.platforms.models import (
    Bisect,
    CallAccepted,
    CallDeferred,
    CallRefused,
    CredentialsRefused,
    Verdict,
)

_ABOUT_CONTENT = frozenset({400, 413, 422})
"""Others affect every event, such as an unknown account."""


def refuse(error: str, count: int) -> Verdict:
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
    if is_temporary(status):
        return CallDeferred(error)
    return refuse(error, count) if status in _ABOUT_CONTENT else CallRefused(error)


def unreadable(answer: EgressResponse, count: int) -> Verdict:
    """Judge anything but a JSON object.

    A success may come from a proxy; a retry is safe. A truncated body becomes readable with fewer events.
    """
    if succeeded(answer):
        error = f"HTTP {answer.status} with a body that cannot be read."
        return Bisect(error) if answer.cut and count > 1 else CallDeferred(error)
    return by_status(answer, count)
