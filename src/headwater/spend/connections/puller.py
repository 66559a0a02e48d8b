"""Pull the spend of every connection that is due."""

from __future__ import annotations

import asyncio

from psycopg import AsyncConnection

from headwater.database.jobs.due_tasks import LINGER_SECONDS, AccountKey, DueTasks
from headwater.spend.connections import leases
from headwater.spend.connections.pull import Pull, PullServices


class Puller(DueTasks):
    name = "spend puller"
    most_tasks = 20

    def __init__(
        self, services: PullServices, stopping: asyncio.Event, linger: float = LINGER_SECONDS
    ) -> None:
        super().__init__(services.database, stopping, linger)
        self._services = services

    async def find_due(self, connection: AsyncConnection) -> list[AccountKey]:
        return await leases.find_due(connection, self._services.waits.clock())

    async def attend(self, key: AccountKey) -> None:
        async with self._services.database.connection() as connection:
            taken = await leases.take_lease(connection, key, self._services.waits.clock())
        if taken is not None:
            await Pull(self._services, *taken).run()
