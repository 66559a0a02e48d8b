"""Pull the spend of every connection that is due."""

from __future__ import annotations

import asyncio
from collections import Counter

from psycopg import AsyncConnection

from headwater.database.jobs.due_tasks import LINGER_SECONDS, AccountKey, DueTasks
from headwater.spend.connections import leases
from headwater.spend.connections.pull import Pull, PullServices

MOST_OF_PLATFORM = 8
"""Pulls at a time, so that a platform that doesn't answer takes no other's turn."""


class Puller(DueTasks):
    name = "spend puller"
    most_tasks = 100

    def __init__(
        self, services: PullServices, stopping: asyncio.Event, linger: float = LINGER_SECONDS
    ) -> None:
        super().__init__(services.database, stopping, linger)
        self._services = services
        self._platforms: dict[AccountKey, str] = {}
        """Of running pulls."""

    async def find_due(self, connection: AsyncConnection) -> list[AccountKey]:
        self._platforms = {key: name for key, name in self._platforms.items() if key in self._tasks}
        running = Counter(self._platforms.values())
        busy = [name for name, number in running.items() if number >= MOST_OF_PLATFORM]
        keys: list[AccountKey] = []
        for key, name in await self.list_due(connection, busy):
            if key not in self._tasks and running[name] < MOST_OF_PLATFORM:
                running[name] += 1
                self._platforms[key] = name
                keys.append(key)
        return keys

    async def list_due(self, connection: AsyncConnection, busy: list[str]) -> list[tuple[AccountKey, str]]:
        """Return due connections with their platforms, none of platforms in `busy`."""
        return await leases.find_due(connection, self._services.waits.clock(), busy)

    async def attend(self, key: AccountKey) -> None:
        async with self._services.database.connection() as connection:
            leased_connection = await leases.take_lease(connection, key, self._services.waits.clock())
        if leased_connection is not None:
            await Pull(self._services, *leased_connection).run()
