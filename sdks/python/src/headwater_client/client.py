"""The client for ordinary code. Threads may share it, and a forked process uses its own connections."""

from __future__ import annotations

import copy
import os
import ssl
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import httpx2

from headwater_client.api import Accepted, Api, ItemResult, TrackPayload
from headwater_client.attempts import BROKEN, Attempts
from headwater_client.errors import ApiError
from headwater_client.options import Options
from headwater_client.requests import Request, Response, make_request, read_response
from headwater_client.tracking import EventBatch, add_key, make_batches


class Client(Api):
    """An API key's access to its Space. `with` closes its connections."""

    def __init__(  # noqa: PLR0913 # the first two are required
        self,
        base_url: str,
        key: str,
        *,
        timeout: float = 15.0,
        retries: int = 2,
        backoff: float = 0.5,
        proxy: str | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """`base_url` is the origin of the installation. `timeout` limits a call in seconds, all attempts and
        pauses included; for an upload, the time without progress. Pauses last as long as the response
        requests, or start at `backoff` seconds and double. Without a `proxy`, the environment's is used.
        Raises ValueError.
        """
        self._options = Options(base_url, key, timeout, retries, backoff, proxy, ssl_context)
        self._pool = _Pool(self._options)

    def with_options(self, *, timeout: float | None = None, retries: int | None = None) -> Self:
        """Return a client with other limits that shares the connections of this one."""
        limited = copy.copy(self)
        limited._options = replace(  # noqa: SLF001 # of the same class
            self._options,
            timeout=self._options.timeout if timeout is None else timeout,
            retries=self._options.retries if retries is None else retries,
        )
        return limited

    def track(self, event: TrackPayload) -> Accepted:
        """Send an event, with retries. It is stored once, because it gets an idempotency key unless it has
        one. Raises ApiError, ConnectionFailedError; ValueError or TypeError for an event without a JSON form.
        """
        return self.create_event(add_key(event))

    def track_many(self, events: Sequence[TrackPayload]) -> list[ItemResult]:
        """Send events in batches of 1,000, or fewer if they are large, and return the results in order.
        Raises like `track`.
        """
        results: list[ItemResult] = []
        for batch in make_batches(events):
            results += self._track_batch(batch)
        return results

    def call(self, method: str, path: str, query: Any, body: Any = None) -> Any:
        """Send a request with retries, and return the response. Raises ApiError, ConnectionFailedError."""
        request = make_request(self._options.base_url, method, path, query, body)
        attempts = Attempts(request, self._options)
        while True:
            try:
                response = self._send(request, attempts)
            except BROKEN as error:
                pause = attempts.pause_after_failure(error)
            else:
                following = attempts.pause_after_response(response)
                if following is None:
                    return attempts.read_result(response)
                pause = following
            time.sleep(pause)

    def close(self) -> None:
        """Close the connections; the next request opens others."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _track_batch(self, batch: EventBatch) -> list[ItemResult]:
        try:
            return batch.read_results(self.create_events(batch.body))
        except ApiError as error:
            if not batch.is_too_large(error):
                return batch.read_refusals(error)
        first, second = batch.halves()
        return self._track_batch(first) + self._track_batch(second)

    def _send(self, request: Request, attempts: Attempts) -> Response:
        if request.is_repeatable:
            return _exchange(self._pool.get(), request, attempts)
        # The server can't have closed a new connection.
        with httpx2.Client(**self._options.connection_settings(is_reused=False)) as single:
            return _exchange(single, request, attempts)


def _exchange(http: httpx2.Client, request: Request, attempts: Attempts) -> Response:
    """Make one attempt."""
    content = request.body if request.file is None else request.read_chunks()
    body = bytearray()
    with http.stream(
        request.method, request.url, content=content, headers=request.headers, timeout=attempts.timeout()
    ) as response:
        for chunk in response.iter_bytes():
            body += chunk
            if attempts.is_late():
                raise httpx2.ReadTimeout("the response took too long")
    return read_response(response.status_code, response.headers, bytes(body))


class _Pool:
    """Open connections. A forked process gets new ones."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._http: httpx2.Client | None = None
        self._process = 0

    def get(self) -> httpx2.Client:
        http = self._http
        if http is None or self._process != os.getpid():
            http = httpx2.Client(**self._options.connection_settings(is_reused=True))
            self._http, self._process = http, os.getpid()
        return http

    def close(self) -> None:
        http, self._http = self._http, None
        if http is not None and self._process == os.getpid():
            http.close()
