"""The client for asyncio, with the same operations as `Client`."""

from __future__ import annotations

import asyncio
import copy
import os
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, Self

import httpx2

from headwater_client.api import Accepted, ItemResult, TrackPayload
from headwater_client.async_api import AsyncApi
from headwater_client.attempts import BROKEN, Attempts
from headwater_client.errors import ApiError
from headwater_client.options import Options
from headwater_client.requests import Request, Response, make_request, read_response
from headwater_client.tracking import EventBatch, add_key, make_batches


class AsyncClient(AsyncApi):
    """An API key's access to its Space. Tasks may share it; `async with` closes its connections."""

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
        """Take the arguments of `Client`. Raises ValueError."""
        self._options = Options(base_url, key, timeout, retries, backoff, proxy, ssl_context)
        self._pool = _AsyncPool(self._options)

    def with_options(self, *, timeout: float | None = None, retries: int | None = None) -> Self:
        """Return a client with other limits that shares the connections of this one."""
        limited = copy.copy(self)
        limited._options = replace(  # noqa: SLF001 # of the same class
            self._options,
            timeout=self._options.timeout if timeout is None else timeout,
            retries=self._options.retries if retries is None else retries,
        )
        return limited

    async def track(self, event: TrackPayload) -> Accepted:
        """Send an event like `Client.track`."""
        return await self.create_event(add_key(event))

    async def track_many(self, events: Sequence[TrackPayload]) -> list[ItemResult]:
        """Send events like `Client.track_many`."""
        results: list[ItemResult] = []
        for batch in make_batches(events):
            results += await self._track_batch(batch)
        return results

    async def call(self, method: str, path: str, query: Any, body: Any = None) -> Any:
        """Send a request with retries, and return the response. Raises ApiError, ConnectionFailedError."""
        request = make_request(self._options.base_url, method, path, query, body)
        attempts = Attempts(request, self._options)
        while True:
            try:
                async with asyncio.timeout(None if request.is_upload else attempts.seconds_left()):
                    response = await self._send(request, attempts)
            except BROKEN as error:  # TimeoutError is an OSError
                pause = attempts.pause_after_failure(error)
            else:
                following = attempts.pause_after_response(response)
                if following is None:
                    return attempts.read_result(response)
                pause = following
            await asyncio.sleep(pause)

    async def close(self) -> None:
        """Close the connections; the next request opens others."""
        await self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _track_batch(self, batch: EventBatch) -> list[ItemResult]:
        try:
            return batch.read_results(await self.create_events(batch.body))
        except ApiError as error:
            if not batch.is_too_large(error):
                return batch.read_refusals(error)
        first, second = batch.halves()
        return await self._track_batch(first) + await self._track_batch(second)

    async def _send(self, request: Request, attempts: Attempts) -> Response:
        if request.is_repeatable:
            return await _exchange(self._pool.get(), request, attempts)
        # The server can't have closed a new connection.
        async with httpx2.AsyncClient(**self._options.connection_settings(is_reused=False)) as single:
            return await _exchange(single, request, attempts)


async def _exchange(http: httpx2.AsyncClient, request: Request, attempts: Attempts) -> Response:
    """Make one attempt."""
    content = request.body if request.file is None else _read_chunks(request)
    async with http.stream(
        request.method, request.url, content=content, headers=request.headers, timeout=attempts.timeout()
    ) as response:
        body = await response.aread()
    return read_response(response.status_code, response.headers, body)


async def _read_chunks(request: Request) -> AsyncIterator[bytes]:
    """Yield the chunks of a file, read by another thread."""
    chunks = request.read_chunks()
    while chunk := await asyncio.to_thread(next, chunks, b""):
        yield chunk


class _AsyncPool:
    """Open connections. A forked process and another event loop get new ones."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._http: httpx2.AsyncClient | None = None
        self._owner: tuple[int, object] | None = None

    def get(self) -> httpx2.AsyncClient:
        owner = (os.getpid(), asyncio.get_running_loop())
        if self._http is None or self._owner != owner:
            self._http = httpx2.AsyncClient(**self._options.connection_settings(is_reused=True))
            self._owner = owner
        return self._http

    async def close(self) -> None:
        http, self._http = self._http, None
        if http is not None and self._owner == (os.getpid(), asyncio.get_running_loop()):
            await http.aclose()
