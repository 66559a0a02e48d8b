"""Decide what follows from a verdict. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Literal, NamedTuple

from headwater.database.jobs.backoff import climb
from headwater.forwarding.platforms.models import (
    Bisect,
    CallAccepted,
    CallDeferred,
    CallRefused,
    CredentialsRefused,
    PartlyAccepted,
    Verdict,
)

LADDER = (10.0, 60.0, 300.0, 1800.0, 7200.0, 21_600.0, 43_200.0, 86_400.0)
"""Seconds until the next attempt, by number of attempts."""
LONGEST_WAIT = 1800.0
"""Seconds. A probe costs an event an attempt."""
JITTER = 0.2
"""As a fraction of the step."""
MOST_REQUESTED = 7200.0
"""Extra seconds that a platform can request."""

Status = Literal["delivered", "failed", "retrying", "expired"]


class DeliveryAttempt(NamedTuple):
    id: int
    attempts: int
    """Before this one."""
    ends_at: float
    """The Unix time of the last possible attempt."""


class DeliveryResult(NamedTuple):
    id: int
    status: Status
    error: str | None = None
    due_at: float | None = None
    """The Unix time of the next attempt, if retrying."""


class DestinationBackoff(NamedTuple):
    """Pause until this Unix time."""

    until: float
    failures: int
    """Consecutive failures of whole calls."""


class DestinationSuspension(NamedTuple):
    """Hold until a user renews the credentials."""

    reason: str


@dataclass(frozen=True)
class CallContext:
    now: float
    failures: int = 0
    """Consecutive failures of whole calls, before this one."""
    retry_after: str | None = None
    """The response's header."""
    random: Callable[[], float] = lambda: 0.0
    """From 0 to 1."""

    def pause(self, step: float, requested: float | None) -> float:
        """Return the step's seconds, or more if the platform requested it."""
        jittered = step * (1 + JITTER * self.random())
        return jittered if requested is None else max(jittered, min(requested, step + MOST_REQUESTED))

    def requested_pause(self, verdict: CallDeferred) -> float | None:
        header_pause = read_retry_after(self.retry_after, self.now)
        pauses = [pause for pause in (header_pause, verdict.wait_seconds) if pause is not None]
        return max(pauses, default=None)


@dataclass(frozen=True)
class CallOutcome:
    results: list[DeliveryResult] = field(default_factory=list[DeliveryResult])
    resend: list[list[int]] = field(default_factory=list[list[int]])
    """Groups to send immediately."""
    destination: DestinationBackoff | DestinationSuspension | None = None
    """None if it is healthy."""


def judge(verdict: Verdict, attempts: Sequence[DeliveryAttempt], context: CallContext) -> CallOutcome:
    match verdict:
        case CallAccepted():
            return CallOutcome([DeliveryResult(attempt.id, "delivered") for attempt in attempts])
        case CallRefused(error):
            return CallOutcome([DeliveryResult(attempt.id, "failed", error) for attempt in attempts])
        case CallDeferred():
            return _defer(verdict, attempts, context)
        case CredentialsRefused(error):
            return CallOutcome(destination=DestinationSuspension(error))
        case PartlyAccepted():
            return _sort_out(verdict, attempts, context)
        case Bisect(error):
            return _bisect(error, attempts)


def _defer(verdict: CallDeferred, attempts: Sequence[DeliveryAttempt], context: CallContext) -> CallOutcome:
    requested_pause = context.requested_pause(verdict)
    failures = context.failures + 1
    until = context.now + context.pause(min(step_after(failures), LONGEST_WAIT), requested_pause)
    results = [_retry(attempt, verdict.error, context, requested_pause) for attempt in attempts]
    return CallOutcome(results, destination=DestinationBackoff(until, failures))


def _sort_out(
    verdict: PartlyAccepted, attempts: Sequence[DeliveryAttempt], context: CallContext
) -> CallOutcome:
    count = len(attempts)
    errors = _drop_outside(verdict.errors, count)
    retryable = _drop_outside(verdict.retryable, count)
    retryable = {position: error for position, error in retryable.items() if position not in errors}
    named_positions = errors.keys() | retryable.keys()
    other_attempts = [attempt for position, attempt in enumerate(attempts) if position not in named_positions]
    if not verdict.others_taken and not named_positions:
        error = "The platform rejected the call without naming an event."
        return _bisect(error, attempts)
    results = [
        *(DeliveryResult(attempts[n].id, "failed", error) for n, error in errors.items()),
        *(_retry(attempts[n], error, context, None) for n, error in retryable.items()),
    ]
    if verdict.others_taken:
        delivered = [DeliveryResult(attempt.id, "delivered") for attempt in other_attempts]
        return CallOutcome(results + delivered)
    return CallOutcome(results, [[attempt.id for attempt in other_attempts]] if other_attempts else [])


def _bisect(error: str, attempts: Sequence[DeliveryAttempt]) -> CallOutcome:
    if len(attempts) == 1:
        return CallOutcome([DeliveryResult(attempts[0].id, "failed", error)])
    ids, middle = [attempt.id for attempt in attempts], len(attempts) // 2
    return CallOutcome(resend=[ids[:middle], ids[middle:]])


def _drop_outside(errors: Mapping[int, str], count: int) -> dict[int, str]:
    """Ignore positions outside the call."""
    return {position: error for position, error in errors.items() if 0 <= position < count}


def _retry(
    attempt: DeliveryAttempt, error: str, context: CallContext, requested: float | None
) -> DeliveryResult:
    """Retry before the deadline, or expire."""
    step = step_after(attempt.attempts + 1)
    due_at = context.now + context.pause(step, requested)
    if due_at > attempt.ends_at:
        reasonable_pause = 0.0 if requested is None else min(requested, step + MOST_REQUESTED)
        if context.now >= attempt.ends_at or context.now + reasonable_pause > attempt.ends_at:
            return DeliveryResult(attempt.id, "expired", error)
        due_at = attempt.ends_at
    return DeliveryResult(attempt.id, "retrying", error, due_at)


def step_after(attempts: int) -> float:
    """Return seconds, without jitter."""
    return climb(LADDER, attempts)


def read_retry_after(text: str | None, current_time: float) -> float | None:
    """Return seconds, or None if invalid or past."""
    value = (text or "").strip()
    if value.isascii() and value.isdigit():
        seconds = float(value) if len(value) < 300 else math.inf
    else:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - current_time
        except (ValueError, TypeError, OverflowError):
            return None
    return seconds if seconds > 0 else None
