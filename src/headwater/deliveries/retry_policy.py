"""What follows from a platform's verdict: for each delivery of the call, for those to be sent once
more at once, and for the destination. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Literal, NamedTuple

from headwater.platforms.models import (
    Bisect,
    CallAccepted,
    CallDeferred,
    CallRefused,
    CredentialsRefused,
    PartlyAccepted,
    Verdict,
)

LADDER = (10.0, 60.0, 300.0, 1800.0, 7200.0, 21_600.0, 43_200.0, 86_400.0)
"""Seconds until the next attempt, by how many there were."""
LONGEST_WAIT = 1800.0
"""Of a destination: trying whether it is back costs it one event."""
JITTER = 0.2
"""The most that is added, as a part of the step."""
MOST_ASKED = 7200.0
"""Seconds beyond our own step that a platform may ask us to wait."""

Status = Literal["delivered", "failed", "retrying", "expired"]


class DeliveryAttempt(NamedTuple):
    """A delivery of a call."""

    id: int
    attempts: int
    """Before this one."""
    ends_at: float
    """The Unix time after which it is not tried again."""


class DeliveryResult(NamedTuple):
    """What becomes of a delivery."""

    id: int
    status: Status
    error: str | None = None
    due_at: float | None = None
    """Unix time of the next attempt, of one that is retried."""


class DestinationBackoff(NamedTuple):
    """Nothing is sent to the destination until this Unix time."""

    until: float
    failures: int
    """Calls in a row that failed for all of it."""


class DestinationHold(NamedTuple):
    """Nothing is sent until somebody has looked after its credentials."""

    reason: str


@dataclass(frozen=True)
class CallContext:
    """What else the consequences of a verdict depend on."""

    now: float
    failures: int = 0
    """Calls in a row that failed for the destination as a whole, before this one."""
    retry_after: str | None = None
    """The answer's header."""
    random: Callable[[], float] = lambda: 0.0
    """From 0 to 1."""

    def pause(self, step: float, asked: float | None) -> float:
        """Seconds to wait: never less than the step, nor than what was asked within reason."""
        own = step * (1 + JITTER * self.random())
        return own if asked is None else max(own, min(asked, step + MOST_ASKED))

    def asked(self, verdict: CallDeferred) -> float | None:
        """The seconds that the platform wants us to wait, by its header or its body."""
        named = read_retry_after(self.retry_after, self.now)
        wanted = [one for one in (named, verdict.after) if one is not None]
        return max(wanted, default=None)


@dataclass(frozen=True)
class CallOutcome:
    """What a verdict leads to."""

    after: list[DeliveryResult] = field(default_factory=list[DeliveryResult])
    again: list[list[int]] = field(default_factory=list[list[int]])
    """Deliveries to be sent at once in calls of their own."""
    destination: DestinationBackoff | DestinationHold | None = None
    """None: it is well."""


def judge(verdict: Verdict, tried: Sequence[DeliveryAttempt], around: CallContext) -> CallOutcome:
    """The consequences of a verdict on a call with these deliveries."""
    match verdict:
        case CallAccepted():
            return CallOutcome([DeliveryResult(one.id, "delivered") for one in tried])
        case CallRefused(error):
            return CallOutcome([DeliveryResult(one.id, "failed", error) for one in tried])
        case CallDeferred(error):
            return _retry(error, tried, around, around.asked(verdict))
        case CredentialsRefused(error):
            return CallOutcome(destination=DestinationHold(error))
        case PartlyAccepted(errors, others_taken, again):
            return _partly(PartlyAccepted(errors, others_taken, again), tried, around)
        case Bisect(error):
            return _bisect(error, tried)


def _retry(
    error: str, tried: Sequence[DeliveryAttempt], around: CallContext, asked: float | None
) -> CallOutcome:
    failures = around.failures + 1
    until = around.now + around.pause(min(step_after(failures), LONGEST_WAIT), asked)
    after = [_later(one, error, around, asked) for one in tried]
    return CallOutcome(after, destination=DestinationBackoff(until, failures))


def _partly(
    verdict: PartlyAccepted, tried: Sequence[DeliveryAttempt], around: CallContext
) -> CallOutcome:
    errors = _within(verdict.errors, tried)
    again = {place: text for place, text in _within(verdict.again, tried).items()
             if place not in errors}  # fmt: skip
    others = [one for place, one in enumerate(tried) if place not in errors and place not in again]
    if not verdict.others_taken and len(others) == len(tried):
        return _bisect("The platform refused the call for an event that it does not name.", tried)
    after = [DeliveryResult(tried[place].id, "failed", error) for place, error in errors.items()]
    after += [_later(tried[place], error, around, None) for place, error in again.items()]
    if verdict.others_taken:
        return CallOutcome(after + [DeliveryResult(one.id, "delivered") for one in others])
    return CallOutcome(after, [[one.id for one in others]] if others else [])


def _bisect(error: str, tried: Sequence[DeliveryAttempt]) -> CallOutcome:
    if len(tried) == 1:
        return CallOutcome([DeliveryResult(tried[0].id, "failed", error)])
    ids, half = [one.id for one in tried], len(tried) // 2
    return CallOutcome(again=[ids[:half], ids[half:]])


def _within(errors: Mapping[int, str], tried: Sequence[DeliveryAttempt]) -> dict[int, str]:
    return {place: text for place, text in errors.items() if 0 <= place < len(tried)}


def _later(
    one: DeliveryAttempt, error: str, around: CallContext, asked: float | None
) -> DeliveryResult:
    """Another attempt, the last one when its time ends; or none any more."""
    step = step_after(one.attempts + 1)
    due = around.now + around.pause(step, asked)
    if due > one.ends_at:
        earliest = around.now + (min(asked, step + MOST_ASKED) if asked is not None else 0.0)
        if around.now >= one.ends_at or earliest > one.ends_at:
            return DeliveryResult(one.id, "expired", error)
        due = one.ends_at
    return DeliveryResult(one.id, "retrying", error, due)


def step_after(attempts: int) -> float:
    """Seconds to wait after so many attempts, before jitter."""
    return LADDER[min(max(attempts, 1), len(LADDER)) - 1]


def read_retry_after(text: str | None, now: float) -> float | None:
    """The seconds that a Retry-After asks for: a number of them, or a date. None for junk, and for
    what is over.
    """
    given = (text or "").strip()
    if given.isascii() and given.isdigit():
        seconds = float(given) if len(given) < 300 else math.inf
    else:
        try:
            seconds = parsedate_to_datetime(given).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return None
    return seconds if seconds > 0 else None
