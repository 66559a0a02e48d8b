"""The alerts process: evaluates Spaces, builds scheduled reports and sends messages, one task at a time per
Space.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import structlog
from msgspec import Struct
from psycopg import AsyncConnection

from headwater.alerts import watches
from headwater.alerts.evaluation import AlertWatch
from headwater.alerts.notifications import messages
from headwater.alerts.notifications.messages import announce_alerts
from headwater.alerts.notifications.sender import MessageSender
from headwater.base.telemetry.spans import span
from headwater.database.jobs.failed_jobs import CLEAR, NOTE, RETRY_SECONDS, failure, success
from headwater.database.pool import UNAVAILABLE, Database
from headwater.database.row_security import serving

PAUSE_SECONDS = 0.5
LINGER_SECONDS = 2.0
"""Idle seconds before the process ends."""
AT_ONCE = 4

log = structlog.get_logger()

Find = Callable[[AsyncConnection, datetime], Awaitable[Sequence[int]]]
Attend = Callable[[int, datetime], Awaitable[object]]


class WatcherDuty(Struct, frozen=True):
    name: str
    find: Find
    attend: Attend


class Watcher:
    """Runs its duties until it is stopped or idle for a while."""

    def __init__(
        self,
        database: Database,
        duties: Sequence[WatcherDuty],
        stopping: asyncio.Event,
        linger: float = LINGER_SECONDS,
    ) -> None:
        self._database, self._duties = database, duties
        self._stopping, self._linger = stopping, linger
        self._places = asyncio.Semaphore(AT_ONCE)
        self._pauses: dict[tuple[str, int], float] = {}
        self._failed: set[tuple[str, int]] = set()

    async def run(self) -> None:
        busy_at = time.monotonic()
        while not self._stopping.is_set():
            if await self.work(datetime.now(UTC)):
                busy_at = time.monotonic()
            elif time.monotonic() - busy_at > self._linger and not self._waits_for_retry():
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), PAUSE_SECONDS)

    async def work(self, current_time: datetime) -> int:
        """Run every due task; return their number."""
        pieces = 0
        for duty in self._duties:
            async with self._database.connection() as connection:
                due_spaces = await duty.find(connection, current_time)
            due_spaces = [space_id for space_id in due_spaces if self._is_trusted(duty, space_id)]
            await asyncio.gather(*(self._attend(duty, space_id, current_time) for space_id in due_spaces))
            pieces += len(due_spaces)
        return pieces

    def _waits_for_retry(self) -> bool:
        """Keep the process alive to remember a failure until its retry."""
        return any(self._pauses[key] > time.monotonic() for key in self._failed)

    def _is_trusted(self, duty: WatcherDuty, space_id: int) -> bool:
        return time.monotonic() >= self._pauses.get((duty.name, space_id), 0)

    async def _attend(self, duty: WatcherDuty, space_id: int, current_time: datetime) -> None:
        async with self._places:
            if self._stopping.is_set():
                return
            try:
                attributes = {"headwater.space_id": space_id}
                with serving(space_id), span(duty.name, attributes):
                    await duty.attend(space_id, current_time)
                    await self._clear(duty, space_id)
            except UNAVAILABLE as error:
                log.warning("space put off", space_id=space_id, duty=duty.name, error=type(error).__name__)
                self._pauses[duty.name, space_id] = time.monotonic() + LINGER_SECONDS
            except Exception as error:  # a fault of one Space must not stop the others
                log.exception("duty failed", space_id=space_id, duty=duty.name)
                await self._fail(duty, space_id, error)

    async def _fail(self, duty: WatcherDuty, space_id: int, error: Exception) -> None:
        self._pauses[duty.name, space_id] = time.monotonic() + RETRY_SECONDS
        self._failed.add((duty.name, space_id))
        with suppress(*UNAVAILABLE), serving(space_id):
            async with self._database.transaction() as connection:
                await connection.execute(NOTE, failure(space_id, duty.name, error))

    async def _clear(self, duty: WatcherDuty, space_id: int) -> None:
        if (duty.name, space_id) in self._failed:
            self._failed.discard((duty.name, space_id))
            async with self._database.transaction() as connection:
                await connection.execute(CLEAR, success(space_id, duty.name))


def alert_duty(database: Database) -> WatcherDuty:
    watch = AlertWatch(database, announce_alerts)
    return WatcherDuty("alerts", watches.due_spaces.find, watch.look)


def message_duty(sender: MessageSender) -> WatcherDuty:
    return WatcherDuty("messages", messages.due_spaces.find, sender.send_due)
