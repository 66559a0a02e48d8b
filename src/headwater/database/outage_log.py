"""The log of a database that is away: the first failure, then ever fewer lines with the number of
them, and its return.

    failures   x x x x x x x x x x x x x x x x       x
    lines      1   4       9              16 back    (nothing: it is still the same outage)
"""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog
from psycopg import OperationalError
from psycopg_pool import PoolTimeout

FIRST_SECONDS = 1.0
"""Between the first two lines; each pause after that is twice as long as the one before."""
LONGEST_SECONDS = 60.0
"""The longest pause, and how long nothing has to fail until a failure begins another outage."""
MOST_TEXT = 200

log = structlog.get_logger()


class OutageLog:
    """One part of a process that needs the database, and says when it cannot reach it."""

    def __init__(self, part: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._part = part
        self._clock = clock
        self._failures = 0
        self._pause = FIRST_SECONDS
        self._began = self._latest = self._due = 0.0
        self._is_open = False
        """Whether the latest line says that the database is away."""

    def fail(self, error: Exception) -> None:
        """Note that the database could not be used, and log it when a line is due."""
        now = self._clock()
        if not self._failures or now - self._latest > LONGEST_SECONDS:
            self._failures, self._pause = 0, FIRST_SECONDS
            self._began = self._due = now
        self._failures += 1
        self._latest = now
        if now < self._due:
            return
        self._due, self._pause = now + self._pause, min(2 * self._pause, LONGEST_SECONDS)
        self._is_open = True
        log.warning("database_unavailable", **self._figures(now), **_described(error))

    def end(self) -> None:
        """Note that the database was used, and log its return if the log says that it is away."""
        if self._is_open:
            self._is_open = False
            log.warning("database_back", **self._figures(self._clock()))

    def _figures(self, now: float) -> dict[str, object]:
        return {"part": self._part, "failures": self._failures, "seconds": round(now - self._began, 1)}


def _described(error: Exception) -> dict[str, str]:
    described = {"error": type(error).__name__}
    if isinstance(error, OperationalError | PoolTimeout):  # others may quote a row
        described["reason"] = str(error).partition("\n")[0][:MOST_TEXT]
    return described


requests_outage = OutageLog("requests")
"""Of all requests that this process answers."""
