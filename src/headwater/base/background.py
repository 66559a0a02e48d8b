"""A task that runs alongside a process's requests, from start to end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

Work = Callable[[], Coroutine[Any, Any, None]]


def repeat(work: Work, pause: float) -> Work:
    """Return a coroutine that pauses for `pause` seconds and works, in turn."""

    async def run() -> None:
        while True:
            await asyncio.sleep(pause)
            await work()

    return run


def repeat_to_the_end(work: Callable[[], None], pause: float) -> Work:
    """Return a coroutine that pauses for `pause` seconds and works, in turn, and works once more when
    cancelled.
    """

    async def run() -> None:
        try:
            while True:
                await asyncio.sleep(pause)
                work()
        finally:
            work()

    return run


class BackgroundTask:
    """A coroutine that runs until stopped."""

    def __init__(self, run: Work) -> None:
        self._run = run
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start it in the caller's event loop."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Cancel it and wait for its end. No effect unless it was started."""
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
