"""Count ignored messages by name, in memory, and write the counts in the background.

Anyone with a site key can send any name, so memory and rows are limited. Counts of the last second are lost
if the process is killed.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import NamedTuple

import psycopg
from msgspec import Struct
from psycopg import AsyncConnection

from headwater.base.background import BackgroundTask, repeat
from headwater.database.bulk_values import rows
from headwater.database.pool import Database
from headwater.database.queries import Queries, fetch_all
from headwater.http.answers import DataList

queries = Queries(__name__, "protocols.sql")

PAUSE_SECONDS = 1.0
MOST_NAMES = 200
"""Rows of a Space; further names are not counted."""
MOST_COUNTS = 5_000
"""Unwritten counts of all Spaces; further ones are dropped."""
LONGEST_NAME = 100


class IgnoredReason(StrEnum):
    UNKNOWN_EVENT = "unknown_event"
    ORDER_UPDATED = "order_updated"
    NO_PAGE = "no_page"
    NO_VISITOR = "no_visitor"
    FROM_PAGE = "from_page"
    BOT = "bot"
    HASHED = "hashed"
    INVALID = "invalid"

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]


_SENTENCES = {
    IgnoredReason.UNKNOWN_EVENT: "It is no standard event, and no custom event has this label.",
    IgnoredReason.ORDER_UPDATED: "The amount of a stored order changes by refunds only.",
    IgnoredReason.NO_PAGE: "It has no web address.",
    IgnoredReason.NO_VISITOR: "A page view needs a visitor: an anonymousId or a client_id.",
    IgnoredReason.FROM_PAGE: "A page cannot return money.",
    IgnoredReason.BOT: "A bot viewed the page.",
    IgnoredReason.HASHED: "Contacts cannot be found by hashes. Send a user id or an address.",
    IgnoredReason.INVALID: "Messages with a wrong or missing member of this name.",
}


class IgnoredName(Struct, frozen=True):
    """An event or field that messages were ignored for."""

    name: str
    reason: IgnoredReason
    times: int
    last_day: date


class IgnoredNameList(DataList[IgnoredName], frozen=True):
    """Ignored messages of the Space."""


class _Count(NamedTuple):
    space_id: int
    name: str
    reason: IgnoredReason


class IgnoredNames:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._unwritten: Counter[_Count] = Counter()
        self._task = BackgroundTask(repeat(self.write, PAUSE_SECONDS))

    def note(self, space_id: int, name: str, reason: IgnoredReason) -> None:
        count = _Count(space_id, name[:LONGEST_NAME].replace("\0", ""), reason)
        if count in self._unwritten or len(self._unwritten) < MOST_COUNTS:
            self._unwritten[count] += 1

    def start(self) -> None:
        self._task.start()

    async def stop(self) -> None:
        await self._task.stop()
        await self.write()

    async def write(self) -> None:
        """Drop counts that can't be written."""
        unwritten, self._unwritten = self._unwritten, Counter()
        if not unwritten:
            return
        day = datetime.now(UTC).date()
        by_space: dict[int, list[IgnoredName]] = {}
        for (space_id, name, reason), times in sorted(unwritten.items()):
            by_space.setdefault(space_id, []).append(IgnoredName(name, reason, times, day))
        with suppress(psycopg.Error):
            async with self._database.connection() as connection:
                for space_id, names in by_space.items():
                    values = {"space_id": space_id, "names": rows(names), "most": MOST_NAMES}
                    await connection.execute(queries["note"], values)


async def list_ignored(connection: AsyncConnection, space_id: int) -> list[IgnoredName]:
    """Return the latest and most frequent first."""
    name_rows = await fetch_all(connection, queries["list"], {"space_id": space_id})
    return [IgnoredName(name, IgnoredReason(reason), times, day) for name, reason, times, day in name_rows]
