"""Send the due deliveries of every destination."""

from __future__ import annotations

import asyncio
import time

from psycopg import AsyncConnection

from headwater.database.jobs.due_tasks import LINGER_SECONDS, AccountKey, DueTasks
from headwater.database.pool import Database
from headwater.forwarding.deliveries import queue
from headwater.forwarding.deliveries.delivery_loop import DeliveryLoop, DeliveryServices
from headwater.forwarding.destinations import leases

CLOCK_SECONDS = 60.0


class DatabaseClock:
    """The database's time, advanced locally, so that machines agree even if clocks differ or jump."""

    def __init__(self, moment: float) -> None:
        self._moment, self._at = moment, time.monotonic()

    def __call__(self) -> float:
        return self._moment + time.monotonic() - self._at

    @property
    def is_stale(self) -> bool:
        return time.monotonic() - self._at > CLOCK_SECONDS

    def set(self, moment: float) -> None:
        self._moment, self._at = moment, time.monotonic()


class Forwarder(DueTasks):
    name = "forwarder"
    most_tasks = 200

    def __init__(
        self, services: DeliveryServices, stopping: asyncio.Event, linger: float = LINGER_SECONDS
    ) -> None:
        super().__init__(services.database, stopping, linger)
        self._services, self._until_stop = services, stopping

    async def find_due(self, connection: AsyncConnection) -> list[AccountKey]:
        clock = self._services.clock
        if isinstance(clock, DatabaseClock) and clock.is_stale:
            clock.set(await queue.read_clock(connection))
        return await queue.find_due(connection, clock())

    async def attend(self, key: AccountKey) -> None:
        async with self._services.database.connection() as connection:
            lease = await leases.take_lease(connection, key, self._services.clock())
        if lease is not None:
            await DeliveryLoop(self._services, lease, self._until_stop).run()


async def open_clock(database: Database) -> DatabaseClock:
    async with database.connection() as connection:
        return DatabaseClock(await queue.read_clock(connection))
