"""Verdicts on single events, which some platforms publish after they accepted the request. Pure."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

OTHER = "other"
"""The reason of a refusal that this version doesn't know."""


class ReasonMeaning(NamedTuple):
    """Why an event was not sent or not counted."""

    meaning: str
    remedy: str | None = None
    """None without one to offer."""
    outcome: Literal["counted", "refused", "retrying"] = "refused"
    """What becomes of an event that the platform rejects for this reason."""


class EventVerdict(msgspec.Struct, frozen=True):
    status: Literal["counted", "refused", "retrying"]
    reason: str | None = None
    error: str | None = None
    """In the platform's words."""


class Verdicts(msgspec.Struct, frozen=True):
    """The final verdicts on a request's events, by position. Events without one stay `delivered`."""

    events: dict[int, EventVerdict]


class VerdictsPending(msgspec.Struct, frozen=True):
    """The platform is still processing the request."""


class VerdictsDeferred(msgspec.Struct, frozen=True):
    """The platform could not be asked now."""

    retry_after: str | None = None
    """The response's header."""


class VerdictsUnavailable(msgspec.Struct, frozen=True):
    """The platform does not know the request."""

    error: str


VerdictAnswer = Verdicts | VerdictsPending | VerdictsDeferred | VerdictsUnavailable
