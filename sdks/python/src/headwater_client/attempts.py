"""Decide what follows an attempt: a result, an error, or a pause and another attempt.

Requests are retried only if that is safe: reads, PUT and DELETE; events with an `idempotency_key`, which
`track` adds; touchpoints and imports, whose repetitions store nothing; and anything refused with 429. A
retried DELETE that finds nothing counts as done, because an earlier attempt did it.
"""

from __future__ import annotations

import json
import random
import time
from typing import Any

import httpx2

from headwater_client.errors import ConnectionFailedError
from headwater_client.options import CONNECT_SECONDS, LOGGER, Options
from headwater_client.requests import IncompleteResponseError, Request, Response, read_error

BROKEN = (httpx2.HTTPError, OSError, IncompleteResponseError)
"""Errors of an attempt without a complete response."""
_SHORTEST_SECONDS = 0.001


class Attempts:
    """The attempts of one call, within its total time."""

    def __init__(self, request: Request, options: Options) -> None:
        self._request = request
        self._options = options
        self._deadline = time.monotonic() + options.timeout
        self._count = 0
        self._may_be_processed = False

    def seconds_left(self) -> float:
        """Return the time for the next attempt; for an upload, the time without progress."""
        if self._request.is_upload:
            return self._options.timeout
        return max(_SHORTEST_SECONDS, self._deadline - time.monotonic())

    def timeout(self) -> httpx2.Timeout:
        """Return the limits of each step of the next attempt."""
        seconds = self.seconds_left()
        return httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))

    def is_late(self) -> bool:
        """Return whether the total time is over."""
        return not self._request.is_upload and time.monotonic() >= self._deadline

    def pause_after_failure(self, error: BaseException) -> float:
        """Return the seconds before the next attempt. Raises ConnectionFailedError after the last."""
        self._may_be_processed = True
        pause = self._next_pause(0.0) if self._request.is_repeatable else None
        reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        if pause is None:
            LOGGER.info("%s failed (%s)", self._request, type(error).__name__)
            raise ConnectionFailedError(f"{self._request}: {reason}") from error
        LOGGER.info("%s failed (%s); next attempt in %.1f s", self._request, type(error).__name__, pause)
        return pause

    def pause_after_response(self, response: Response) -> float | None:
        """Return the seconds before the next attempt, or None for a success. Raises ApiError."""
        if response.status < 400 or self._was_deleted(response):
            return None
        self._may_be_processed = self._may_be_processed or response.status >= 500
        can_retry = response.status == 429 or (response.status >= 500 and self._request.is_repeatable)
        pause = self._next_pause(response.retry_after) if can_retry else None
        if pause is None:
            LOGGER.info("%s: status %d", self._request, response.status)
            raise read_error(response)
        LOGGER.info("%s: status %d; next attempt in %.1f s", self._request, response.status, pause)
        return pause

    def read_result(self, response: Response) -> Any:
        """Return the content of a successful response."""
        if response.status == 404:
            return {"status": 200, "message": "Deleted by an earlier attempt whose response was lost."}
        return json.loads(response.body)

    def _was_deleted(self, response: Response) -> bool:
        return self._may_be_processed and self._request.method == "DELETE" and response.status == 404

    def _next_pause(self, requested: float) -> float | None:
        """Return the next pause, or None without another attempt."""
        self._count += 1
        grown = self._options.backoff * 2.0 ** (self._count - 1)
        pause = max(requested, grown * random.uniform(0.5, 1.0))  # noqa: S311 # no secret
        if self._count > self._options.retries:
            return None
        if not self._request.is_upload and time.monotonic() + pause >= self._deadline:
            return None
        return pause
