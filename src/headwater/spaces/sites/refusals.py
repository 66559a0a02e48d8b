"""Reasons for refused browser events, kept in memory and written in the background.

Anyone can cause refusals, so memory is bounded, and a site has one row per reason, written at most once a
minute. No row holds visitor data.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
import psycopg
from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from headwater.base.background import BackgroundTask, repeat
from headwater.database.pool import Database
from headwater.database.queries import Queries, fetch_all
from headwater.spaces.sites.origins import covering_origins

queries = Queries(__name__, "refusals.sql")

PAUSE_SECONDS = 1.0
RENEWAL_SECONDS = 60.0
"""Between two writes of one site's refusals for one reason."""
MOST_NOTES = 200
"""Notes in memory; further ones are dropped."""
LONGEST_DETAIL = 300

_FIELD = re.compile(r"[a-z0-9_.]{1,80}")
_KEY = re.compile(r"[A-Za-z0-9_-]{1,80}")
"""The form of a key: it cannot contain an address or a name."""


class RefusalReason(StrEnum):
    ORIGIN = "origin"
    KEY = "key"
    CLOCK = "clock"
    """An impossible time from the page or its server."""
    INVALID = "invalid"


class Refusal(Struct, frozen=True):
    reason: RefusalReason
    detail: str
    """The origin, the key, or the invalid field."""
    noted_at: datetime

    @property
    def sentence(self) -> str:
        """The refusal and its remedy, with names in backquotes."""
        return _SENTENCES[self.reason].format(self.detail.replace("`", ""))


_SENTENCES = {
    RefusalReason.ORIGIN: (
        "Pages of `{}` use this site's key but are not one of its addresses. If they are yours, add"
        " the address below."
    ),
    RefusalReason.KEY: (
        "A page of this site reports with the key `{}`, which no active site has: replace it"
        " with this site's snippet."
    ),
    RefusalReason.CLOCK: (
        "A time in `{}` cannot be right: check the clock of the signing server, or of the visitor's computer."
    ),
    RefusalReason.INVALID: (
        "An item was refused for its `{}`: the rule is in the response, in the Network tab"
        " of the browser's developer tools."
    ),
}


class _Note(NamedTuple):
    """One site's refusals for one reason; with an unknown key only the origin is known."""

    space_id: int
    site_id: int
    reason: RefusalReason
    origin: str = ""


class RefusalNotes:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._unwritten: dict[_Note, tuple[str, datetime]] = {}
        self._tried: dict[_Note, float] = {}
        """The last attempt to write a note, on the monotonic clock."""
        self._task = BackgroundTask(repeat(self.write, PAUSE_SECONDS))

    def note(self, space_id: int, site_id: int, reason: RefusalReason, detail: str) -> None:
        if reason in (RefusalReason.CLOCK, RefusalReason.INVALID) and not _FIELD.fullmatch(detail):
            detail = "item"
        self._remember(_Note(space_id, site_id, reason), detail)

    def note_key(self, origin: str, key: str) -> None:
        """Record that a page of an origin used an unknown key. `origin` must be accepted by `sent_host`."""
        if len(origin) <= LONGEST_DETAIL:
            detail = key if _KEY.fullmatch(key) else "no key"
            self._remember(_Note(0, 0, RefusalReason.KEY, origin), detail)

    def start(self) -> None:
        self._task.start()

    async def stop(self) -> None:
        await self._task.stop()

    async def write(self) -> None:
        """Omit notes written within RENEWAL_SECONDS; drop failed ones."""
        ago = time.monotonic() - RENEWAL_SECONDS
        self._tried = {note: tried_at for note, tried_at in self._tried.items() if tried_at > ago}
        due_notes = {note: latest for note, latest in self._unwritten.items() if note not in self._tried}
        self._unwritten.clear()
        if not due_notes:
            return
        self._tried.update(dict.fromkeys(due_notes, time.monotonic()))
        with suppress(psycopg.Error):
            async with self._database.connection() as connection:
                for note, (detail, noted_at) in due_notes.items():
                    before = noted_at - WRITTEN_FOR
                    values = {"detail": detail, "noted_at": noted_at, "before": before}
                    await _write(connection, note, values)

    def _remember(self, note: _Note, detail: str) -> None:
        if note in self._unwritten or len(self._unwritten) + len(self._tried) < MOST_NOTES:
            self._unwritten[note] = (detail[:LONGEST_DETAIL], datetime.now(UTC))


async def list_refusals(
    connection: AsyncConnection, space_id: int, site_id: int, since: datetime
) -> list[Refusal]:
    """Return the newest first."""
    values = {"space_id": space_id, "site_id": site_id, "since": since}
    rows = await fetch_all(connection.cursor(row_factory=dict_row), queries["list"], values)
    return msgspec.convert(rows, list[Refusal])


async def _write(connection: AsyncConnection, note: _Note, values: dict[str, Any]) -> None:
    sites = [(note.space_id, note.site_id)]
    if note.origin:
        origins = {"origins": covering_origins(note.origin)}
        sites = await fetch_all(connection, queries["sites_of_origins"], origins)
    for space_id, site_id in sites:
        site = {"space_id": space_id, "site_id": site_id, "reason": note.reason}
        await connection.execute(queries["note"], {**values, **site})


WRITTEN_FOR = timedelta(minutes=1)
"""A note written by any process is not written again within this time."""
