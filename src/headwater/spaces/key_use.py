"""The last use of API keys, written in the background once after each lookup of a key, so that requests pay
nothing.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime

import psycopg

from headwater.base.background import BackgroundTask, repeat
from headwater.database.pool import Database
from headwater.database.queries import Queries

queries = Queries(__name__, "key_use.sql")

PAUSE_SECONDS = 1.0
RENEWAL_SECONDS = 60.0
"""Between two writes of one key, including failed ones."""

Key = tuple[int, int]
"""(Space id, key id)."""


class KeyUses:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._unwritten: dict[Key, datetime] = {}
        self._tried: dict[Key, float] = {}
        """The last attempt to write a key's use, on the monotonic clock."""
        self._task = BackgroundTask(repeat(self.write, PAUSE_SECONDS))

    def note(self, space_id: int, key_id: int) -> None:
        self._unwritten[space_id, key_id] = datetime.now(UTC)

    def start(self) -> None:
        self._task.start()

    async def stop(self) -> None:
        await self._task.stop()
        await self._write(list(self._unwritten))

    async def write(self) -> None:
        """Omit keys written within RENEWAL_SECONDS."""
        ago = time.monotonic() - RENEWAL_SECONDS
        self._tried = {key: tried_at for key, tried_at in self._tried.items() if tried_at > ago}
        await self._write([key for key in self._unwritten if key not in self._tried])

    async def _write(self, keys: list[Key]) -> None:
        """Write the uses of keys. Failures are retried with later uses, because the database may be down or
        read-only.
        """
        if not keys:
            return
        self._tried.update(dict.fromkeys(keys, time.monotonic()))
        with suppress(psycopg.Error):
            async with self._database.connection() as connection:
                for space_id, key_id in keys:
                    used_at = self._unwritten[space_id, key_id]
                    values = {"space_id": space_id, "key_id": key_id, "used_at": used_at}
                    await connection.execute(queries["write"], values)
                    if self._unwritten[space_id, key_id] == used_at:
                        del self._unwritten[space_id, key_id]
