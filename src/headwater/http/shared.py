"""Cached answers shared by concurrent requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Shared(Generic[Answer]):
    """Calls `load` once for all concurrent callers, and again once the answer is `seconds` old."""

    def __init__(self, load: Callable[[], Awaitable[Answer]], seconds: float = 0.0) -> None:
        self._load, self._seconds = load, seconds
        self._reading: asyncio.Task[Answer] | None = None
        self._read_at = 0.0

    async def get(self) -> Answer:
        """Return the answer. Raises the errors of `load`."""
        if self._reading is None or self._is_old(self._reading):
            # Independent of any request, so none pays for it alone or ends it by disconnecting.
            self._reading = asyncio.create_task(self._run(), context=Context())
        return await asyncio.shield(self._reading)

    def _is_old(self, reading: asyncio.Task[Answer]) -> bool:
        return reading.done() and time.monotonic() - self._read_at >= self._seconds

    async def _run(self) -> Answer:
        try:
            return await self._load()
        finally:
            self._read_at = time.monotonic()
