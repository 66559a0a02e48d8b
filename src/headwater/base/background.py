"""A task that runs beside the requests of a process, from its start to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any


class BackgroundTask:
    """A coroutine that is run until it is stopped."""

    def __init__(self, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._run = run
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to run it in the event loop of the caller."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Cancel it, and wait until it has ended. Without effect unless it was started."""
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
