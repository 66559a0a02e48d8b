"""The log of database outages: the first failure, then increasingly rare lines with the number of failures,
and the recovery.

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
"""Between the first two lines; each later pause is twice as long."""
LONGEST_SECONDS = 60.0
"""The longest pause, and the time without failures that ends an outage."""
MOST_TEXT = 200

log = structlog.get_logger()


class OutageLog:
    def __init__(self, component: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._part = component
        self._clock = clock
        self._failures = 0
        self._pause = FIRST_SECONDS
        self._began = self._latest_at = self._due_at = 0.0
        self._is_open = False

    def fail(self, error: Exception) -> None:
        """Log a failure when a line is due."""
        current_time = self._clock()
        if not self._failures or current_time - self._latest_at > LONGEST_SECONDS:
            self._failures, self._pause = 0, FIRST_SECONDS
            self._began = self._due_at = current_time
        self._failures += 1
        self._latest_at = current_time
        if current_time < self._due_at:
            return
        self._due_at, self._pause = current_time + self._pause, min(2 * self._pause, LONGEST_SECONDS)
        self._is_open = True
        log.warning("database_unavailable", **self._figures(current_time), **_described(error))

    def end(self) -> None:
        """Log the recovery after a logged outage."""
        if self._is_open:
            self._is_open = False
            log.warning("database_back", **self._figures(self._clock()))

    def _figures(self, current_time: float) -> dict[str, object]:
        return {
            "part": self._part,
            "failures": self._failures,
            "seconds": round(current_time - self._began, 1),
        }


def _described(error: Exception) -> dict[str, str]:
    description = {"error": type(error).__name__}
    if isinstance(error, OperationalError | PoolTimeout):  # others may quote a row
        description["reason"] = str(error).partition("\n")[0][:MOST_TEXT]
    return description


requests_outage = OutageLog("requests")
"""For all requests of this process."""
