"""Run a task for each due account at another company, so that slow ones delay no others. Leases divide the
accounts among processes.
"""

from __future__ import annotations

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, ClassVar, NamedTuple
from uuid import UUID
from zlib import crc32

import structlog
from psycopg import AsyncConnection
from psycopg.sql import SQL

from headwater.database.jobs.backoff import double_pause
from headwater.database.jobs.lease import LEASE
from headwater.database.outage_log import OutageLog
from headwater.database.pool import UNAVAILABLE, Database
from headwater.database.row_security import serve_space

LOOK_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 5.0
LINGER_SECONDS = 10.0
"""An idle process exits after this."""
GRACE_SECONDS = 8.0
"""Time for running tasks when the process stops."""
FAULT_SECONDS = 30.0
"""After an error in our own code."""
RENEW_SECONDS = 8.0
"""Between two renewals of a lease."""
TURN_SECONDS = 6 * 3600
"""Between two turns of an account."""
RETRY_SECONDS = (60.0, 300.0, 900.0, 3600.0, float(TURN_SECONDS))
"""After failed turns."""

log = structlog.get_logger()


class AccountKey(NamedTuple):
    space_id: int
    id: int


class AccountLease(NamedTuple):
    key: AccountKey
    token: UUID

    def values(self) -> dict[str, Any]:
        return {**self.key._asdict(), "token": self.token, "lease": LEASE}


def next_turn(key: AccountKey, current_time: float) -> float:
    """Return the account's next turn. Turns are spread evenly over TURN_SECONDS, by a hash of the account."""
    offset = crc32(b"%d/%d" % key) % TURN_SECONDS
    turns = (current_time - offset) // TURN_SECONDS + 1
    return turns * TURN_SECONDS + offset


@asynccontextmanager
async def renewed_lease(database: Database, renew: SQL, lease: Mapping[str, Any]) -> AsyncGenerator[None]:
    """Renew a lease by a statement while the block runs."""
    renewal = asyncio.create_task(_renew(database, renew, lease))
    try:
        yield
    finally:
        renewal.cancel()


async def _renew(database: Database, renew: SQL, lease: Mapping[str, Any]) -> None:
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        with suppress(*UNAVAILABLE):
            async with database.connection() as connection:
                await connection.execute(renew, lease)


class DueTasks(ABC):
    """Runs until stopped or idle."""

    name: ClassVar[str]
    """In logs."""
    most_tasks: ClassVar[int]

    def __init__(self, database: Database, stopping: asyncio.Event, linger: float = LINGER_SECONDS) -> None:
        self._database, self._stopping, self._linger = database, stopping, linger
        self._tasks: dict[AccountKey, asyncio.Task[None]] = {}

    @abstractmethod
    async def find_due(self, connection: AsyncConnection) -> list[AccountKey]:
        """Return accounts of all Spaces that no process has leased."""

    @abstractmethod
    async def attend(self, key: AccountKey) -> None:
        """Take the account's lease and do its work."""

    async def run(self) -> None:
        """Retry with growing pauses if the database fails."""
        busy_at, failures, outage = time.monotonic(), 0, OutageLog(self.name)
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
            pause = double_pause(LOOK_SECONDS, LONGEST_PAUSE_SECONDS, failures)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
        await self._finish()

    async def drain(self) -> None:
        """Do what is due, and wait for it."""
        await self._poll()
        while self._tasks:
            await asyncio.wait(self._tasks.values())
            await self._poll()

    async def _poll(self) -> None:
        self._tasks = {key: task for key, task in self._tasks.items() if not task.done()}
        async with self._database.connection() as connection:
            keys = await self.find_due(connection)
        random.shuffle(keys)  # so that processes start with different accounts
        for key in keys:
            if key not in self._tasks and len(self._tasks) < self.most_tasks:
                self._tasks[key] = asyncio.create_task(self._guard(key))

    async def _guard(self, key: AccountKey) -> None:
        serve_space(key.space_id)
        try:
            await self.attend(key)
        except UNAVAILABLE as error:
            log.warning("account put off", job=self.name, **key._asdict(), error=type(error).__name__)
        except Exception:  # one account's error must not affect others
            log.exception("account failed", job=self.name, **key._asdict())
            with suppress(TimeoutError):  # don't retry in a tight loop
                await asyncio.wait_for(self._stopping.wait(), FAULT_SECONDS)

    async def _finish(self) -> None:
        if self._tasks:
            _, late_tasks = await asyncio.wait(self._tasks.values(), timeout=GRACE_SECONDS)
            for task in late_tasks:
                task.cancel()
            await asyncio.gather(*late_tasks, return_exceptions=True)
