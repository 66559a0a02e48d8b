"""The time that one request may spend on the database, over all its connections and waits. Reading a slow
client's body or calling another service is not charged.
"""

from __future__ import annotations

import time
from contextvars import ContextVar

import msgspec
from psycopg_pool import PoolTimeout

DEADLINE_SECONDS = 4.5
"""With its other work, a request is answered within five seconds."""


class Allowance(msgspec.Struct):
    """The seconds that a request may spend, and has spent."""

    seconds: float = 0.0
    """The most that one of its waits was given: what follows a long report has the rest of the report's."""
    spent: float = 0.0


_current: ContextVar[Allowance | None] = ContextVar("allowance", default=None)


def begin_request() -> None:
    _current.set(Allowance())


def seconds_left(seconds: float = DEADLINE_SECONDS) -> float:
    """Return the allowance's rest, or all of it outside of a request."""
    allowance = _current.get()
    return seconds - (allowance.spent if allowance else 0.0)


def charge(seconds: float) -> None:
    allowance = _current.get()
    if allowance is not None:
        allowance.spent += seconds


class spend:
    """Charge the block's time to the request. Yields the end of an allowance of at least `seconds`, on the
    monotonic clock. Raises PoolTimeout if it has passed. A class, because a generator would cost every
    request several microseconds.
    """

    __slots__ = ("_allowance", "_seconds", "_started_at")

    def __init__(self, seconds: float = DEADLINE_SECONDS) -> None:
        self._seconds = seconds

    def __enter__(self) -> float:
        self._allowance = _current.get()
        remaining_seconds = self._seconds
        if self._allowance is not None:
            self._allowance.seconds = max(self._allowance.seconds, remaining_seconds)
            remaining_seconds = self._allowance.seconds - self._allowance.spent
        if remaining_seconds <= 0:
            raise PoolTimeout("the request has used up its database time")
        self._started_at = time.monotonic()
        return self._started_at + remaining_seconds

    def __exit__(self, *_: object) -> None:
        if self._allowance is not None:
            self._allowance.spent += time.monotonic() - self._started_at
