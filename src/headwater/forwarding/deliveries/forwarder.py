"""Run a task per due destination, so slow ones delay no others. Leases divide them among processes."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import suppress

import structlog

from headwater.database.jobs.backoff import double_pause
from headwater.database.outage_log import OutageLog
from headwater.database.pool import UNAVAILABLE, Database
from headwater.database.row_security import serve_space
from headwater.forwarding.deliveries import queue
from headwater.forwarding.deliveries.delivery_loop import DeliveryLoop, DeliveryServices
from headwater.forwarding.destinations import leases
from headwater.forwarding.destinations.leases import DestinationKey

LOOK_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 5.0
LINGER_SECONDS = 10.0
"""An idle forwarder exits after this."""
GRACE_SECONDS = 8.0
"""Time for running calls when the process stops."""
MOST_TASKS = 200
FAULT_SECONDS = 30.0
"""After an error in our own code."""
CLOCK_SECONDS = 60.0

log = structlog.get_logger()


class DatabaseClock:
    """The database's time, advanced locally, so that machines agree even if clocks differ or jump."""

    def __init__(self, moment: float) -> None:
        self._moment, self._at = moment, time.monotonic()

    def __call__(self) -> float:
        return self._moment + time.monotonic() - self._at

    @property
    def stale(self) -> bool:
        return time.monotonic() - self._at > CLOCK_SECONDS

    def set(self, moment: float) -> None:
        self._moment, self._at = moment, time.monotonic()


class Forwarder:
    """Runs until stopped or idle."""

    def __init__(
        self, services: DeliveryServices, stopping: asyncio.Event, linger: float = LINGER_SECONDS
    ) -> None:
        self._services, self._stopping, self._linger = services, stopping, linger
        self._tasks: dict[DestinationKey, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Retry with growing pauses if the database fails."""
        busy_at, failures, outage = time.monotonic(), 0, OutageLog("forwarder")
        while not self._stopping.is_set():
            try:
                await self._poll()
                failures = 0
                outage.end()
            except UNAVAILABLE as error:
                failures += 1
                outage.fail(error)
            if self._tasks:
                busy_at = time.monotonic()
            elif time.monotonic() - busy_at > self._linger:
                return
            pause = double_pause(LOOK_SECONDS, LONGEST_PAUSE_SECONDS, failures + 1)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
        await self._finish()

    async def drain(self) -> None:
        """Send due deliveries, and wait for them."""
        await self._poll()
        while self._tasks:
            await asyncio.wait(self._tasks.values())
            await self._poll()

    async def _poll(self) -> None:
        clock = self._services.clock
        self._tasks = {key: task for key, task in self._tasks.items() if not task.done()}
        async with self._services.database.connection() as connection:
            if isinstance(clock, DatabaseClock) and clock.stale:
                clock.set(await queue.read_clock(connection))
            keys = await queue.find_due(connection, clock())
        random.shuffle(keys)  # so that forwarders start with different destinations
        for key in keys:
            if key not in self._tasks and len(self._tasks) < MOST_TASKS:
                self._tasks[key] = asyncio.create_task(self._attend(key))

    async def _attend(self, key: DestinationKey) -> None:
        serve_space(key.space_id)
        try:
            async with self._services.database.connection() as connection:
                lease = await leases.take_lease(connection, key, self._services.clock())
            if lease is not None:
                await DeliveryLoop(self._services, lease, self._stopping).run()
        except UNAVAILABLE as error:
            log.warning("destination put off", **key._asdict(), error=type(error).__name__)
        except Exception:  # one destination's error must not affect others
            log.exception("destination failed", **key._asdict())
            with suppress(TimeoutError):  # don't retry in a tight loop
                await asyncio.wait_for(self._stopping.wait(), FAULT_SECONDS)

    async def _finish(self) -> None:
        if self._tasks:
            _, late = await asyncio.wait(self._tasks.values(), timeout=GRACE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


async def open_clock(database: Database) -> DatabaseClock:
    async with database.connection() as connection:
        return DatabaseClock(await queue.read_clock(connection))
