"""A cache for lookups of credentials, which would otherwise cost a query per request.

Changes notify every process, so revocation is immediate. Entries expire after a few seconds, in case a
notification is lost.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from psycopg.sql import SQL

from headwater.base.background import BackgroundTask
from headwater.database.allowance import spend
from headwater.database.outage_log import OutageLog
from headwater.database.pool import UNAVAILABLE, Database, connect

FRESH_SECONDS = 5.0
MAX_KNOWN = 50_000

Key = TypeVar("Key", bytes, str)
Value = TypeVar("Value")


@dataclass(slots=True)
class _Entry(Generic[Value]):
    """The result of a lookup, its time, and whether it has been used since."""

    value: Value | None
    at: float
    is_used: bool = False


class CredentialCache(Generic[Key, Value]):
    """The credentials in use. Concurrent misses share one query: `statement` takes a list of credentials,
    `wanted`, and returns a row for each valid one, the credential first; `read` turns a row into a value.
    """

    def __init__(self, database: Database, statement: SQL, load: Callable[[tuple[Any, ...]], Value]) -> None:
        self._database = database
        self._statement = statement
        self._read = load
        self._entries: dict[Key, _Entry[Value]] = {}
        self._wanted_keys: set[Key] = set()
        self._lookup: asyncio.Task[dict[Key, _Entry[Value]]] | None = None

    async def find(self, key: Key) -> Value | None:
        """Return the value of a credential, None for an invalid one. Raises one of UNAVAILABLE."""
        entry = self._entries.get(key)
        if entry is None or time.monotonic() - entry.at > FRESH_SECONDS:
            entry = await self._look_up(key)
        entry.is_used = True
        return entry.value

    def forget(self) -> None:
        self._entries = {}

    async def _look_up(self, key: Key) -> _Entry[Value]:
        """Join the next query. A result from before a notified change is not used. Each waiting request is
        charged for its wait.
        """
        while True:
            self._wanted_keys.add(key)
            if self._lookup is None or self._lookup.done():
                self._lookup = asyncio.create_task(self._fetch(), context=Context())
            with spend():
                entries = await asyncio.shield(self._lookup)
            if key in entries and entries is self._entries:
                return entries[key]

    async def _fetch(self) -> dict[Key, _Entry[Value]]:
        """Fetch requested credentials, and used ones that expire soon."""
        async with self._database.connection() as connection:
            current_time = time.monotonic()
            entries = self._entries
            ageing = [key for key, entry in entries.items() if current_time - entry.at > FRESH_SECONDS / 2]
            requested_keys = self._wanted_keys.union(key for key in ageing if entries[key].is_used)
            self._wanted_keys = set()
            cursor = await connection.execute(self._statement, {"wanted": list(requested_keys)})
            values = {row[0]: self._read(row) for row in await cursor.fetchall()}
        for key in ageing:
            del entries[key]
        if len(entries) > MAX_KNOWN:
            entries.clear()
        entries.update((key, _Entry(values.get(key), current_time)) for key in requested_keys)
        return entries


class Listener:
    """Clears caches after a notified or possibly missed change."""

    def __init__(self, url: str, caches: Sequence[CredentialCache[Any, Any]]) -> None:
        self._url = url
        self._caches = caches
        self._outage = OutageLog("credentials")
        self._task = BackgroundTask(self._listen)

    def start(self) -> None:
        self._task.start()

    async def stop(self) -> None:
        await self._task.stop()

    async def _listen(self) -> None:
        while True:
            try:
                async with await connect(self._url) as connection:
                    await connection.execute("LISTEN headwater_access")
                    self._forget()
                    self._outage.end()
                    async for _ in connection.notifies():
                        self._forget()
            except UNAVAILABLE as error:
                self._outage.fail(error)
                await asyncio.sleep(1)

    def _forget(self) -> None:
        for cache in self._caches:
            cache.forget()
