"""What credentials open, remembered for a few seconds, as a busy sender would otherwise cost a
query per request.

A change to keys, sites, subscriptions or limits notifies every process, so revocation works at
once; the few seconds only matter if the notification is lost.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import structlog
from psycopg.sql import SQL

from headwater.database.allowance import spend
from headwater.database.pool import UNAVAILABLE, Database, connect

FRESH_SECONDS = 5.0
MAX_KNOWN = 50_000

Key = TypeVar("Key", bytes, str)
Found = TypeVar("Found")

log = structlog.get_logger()


@dataclass(slots=True)
class _Known(Generic[Found]):
    """What a lookup found, when, and whether it has been asked for since."""

    found: Found | None
    at: float
    asked: bool = False


class CredentialCache(Generic[Key, Found]):
    """What is known of the credentials in use. Concurrent misses share one query: `statement`,
    given a list of `wanted`, answers with a row for each that opens something, itself first;
    `read` makes something of a row.
    """

    def __init__(
        self, database: Database, statement: SQL, read: Callable[[tuple[Any, ...]], Found]
    ) -> None:
        self._database = database
        self._statement = statement
        self._read = read
        self._known: dict[Key, _Known[Found]] = {}
        self._wanted: set[Key] = set()
        self._lookup: asyncio.Task[dict[Key, _Known[Found]]] | None = None

    async def find(self, key: Key) -> Found | None:
        """What a credential opens. Raises one of UNAVAILABLE."""
        known = self._known.get(key)
        if known is None or time.monotonic() - known.at > FRESH_SECONDS:
            known = await self._look_up(key)
        known.asked = True
        return known.found

    def forget(self) -> None:
        """Look everything up again when it is next used."""
        self._known = {}

    async def _look_up(self, key: Key) -> _Known[Found]:
        """Join the next query. One that began before a change was notified is not believed. It is
        of no request, but each that waits for it is charged for its own waiting.
        """
        while True:
            self._wanted.add(key)
            if self._lookup is None or self._lookup.done():
                self._lookup = asyncio.create_task(self._fetch(), context=Context())
            with spend():
                known = await asyncio.shield(self._lookup)
            if key in known and known is self._known:
                return known[key]

    async def _fetch(self) -> dict[Key, _Known[Found]]:
        """One query for all that is wanted, and for what is in use and would soon be wanted too."""
        async with self._database.connection() as connection:
            now = time.monotonic()
            known = self._known
            ageing = [key for key, entry in known.items() if now - entry.at > FRESH_SECONDS / 2]
            wanted = self._wanted.union(key for key in ageing if known[key].asked)
            self._wanted = set()
            cursor = await connection.execute(self._statement, {"wanted": list(wanted)})
            found = {row[0]: self._read(row) for row in await cursor.fetchall()}
        for key in ageing:
            del known[key]
        if len(known) > MAX_KNOWN:
            known.clear()
        known.update((key, _Known(found.get(key), now)) for key in wanted)
        return known


class Listener:
    """Makes rings forget when a change is notified, or may have been missed."""

    def __init__(self, url: str, rings: Sequence[CredentialCache[Any, Any]]) -> None:
        self._url = url
        self._rings = rings
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to listen for changes."""
        self._task = asyncio.create_task(self._listen())

    async def stop(self) -> None:
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _listen(self) -> None:
        while True:
            try:
                async with await connect(self._url) as connection:
                    await connection.execute("LISTEN headwater_access")
                    self._forget()
                    async for _ in connection.notifies():
                        self._forget()
            except UNAVAILABLE:
                log.warning("access_listener_lost")
                await asyncio.sleep(1)

    def _forget(self) -> None:
        for ring in self._rings:
            ring.forget()
