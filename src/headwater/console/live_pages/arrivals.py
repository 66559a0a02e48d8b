"""Recent arrivals and their outcome.

Viewers of a Space share one snapshot, rebuilt only after arrivals.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

from msgspec import Struct, field
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from headwater.database.queries import Queries, fetch_all, fetch_one

queries = Queries(__name__, "arrivals.sql")

MINUTES = 30
ON_SITE_MINUTES = 5
MOST_ARRIVALS = 50
"""Latest items read per kind, and listed in total."""
MOST_COUNTED = 2_000
"""Latest page views and latest events counted by minute."""
MOST_TOUCHPOINTS = 500
"""Latest touchpoints searched for those without an event or page view."""
FRESH_SECONDS = 1.5
"""Seconds before a snapshot is checked again."""
OLDEST_SECONDS = 10.0
"""Maximum age: merges and erasures don't change the mark."""
MOST_SPACES = 200

KINDS = {
    "visits": ("visits",),
    "events": ("events",),
    "touchpoints": ("touchpoints",),
    "waiting": ("waiting",),
    "problems": ("duplicates", "rejected", "bots"),
}


class Arrival(Struct, frozen=True):
    """An arrived item. `values` are its row's, by column."""

    kind: str
    id: int
    at: datetime
    values: Mapping[str, Any]


class Minute(Struct, frozen=True):
    start: datetime
    views: int
    events: int

    @property
    def total(self) -> int:
        return self.views + self.events


class ArrivalsSnapshot(Struct, frozen=True):
    """Arrivals within MINUTES before `until`."""

    until: datetime
    tag: str
    """Equal in every process until something changes."""
    arrivals: Sequence[Arrival]
    minutes: Sequence[Minute]
    is_all_counted: bool
    """False if more arrived than were counted."""
    rendered: dict[tuple[str, ...], bytes] = field(default_factory=dict[tuple[str, ...], bytes])

    def of(self, choice: str) -> list[Arrival]:
        """Return arrivals of a choice of KINDS; all for an unknown one."""
        kinds = KINDS.get(choice)
        arrivals = [arrival for arrival in self.arrivals if kinds is None or arrival.kind in kinds]
        return arrivals[:MOST_ARRIVALS]


@dataclass
class _Kept:
    snapshot: ArrivalsSnapshot
    checked_at: float
    made_at: float


class ArrivalsFeed:
    def __init__(self) -> None:
        self._snapshots: dict[int, _Kept] = {}
        self._locks: dict[int, asyncio.Lock] = {}

    async def fetch(self, connection: AsyncConnection, space_id: int) -> ArrivalsSnapshot:
        """Return a snapshot at most FRESH_SECONDS old. Concurrent callers wait for one build."""
        async with self._locks.setdefault(space_id, asyncio.Lock()):
            cache_entry, current_time = self._snapshots.get(space_id), time.monotonic()
            if cache_entry is not None and current_time - cache_entry.checked_at < FRESH_SECONDS:
                return cache_entry.snapshot
            until = datetime.now(UTC)
            tag = await _fetch_tag(connection, space_id, until)
            is_same = cache_entry is not None and cache_entry.snapshot.tag == tag
            if cache_entry is not None and is_same and current_time - cache_entry.made_at < OLDEST_SECONDS:
                cache_entry.checked_at = current_time
                return cache_entry.snapshot
            snapshot = await fetch_snapshot(connection, space_id, until, tag)
            if len(self._snapshots) >= MOST_SPACES:
                self._snapshots.clear()
                self._locks = {space_id: self._locks[space_id]}
            self._snapshots[space_id] = _Kept(snapshot, current_time, current_time)
            return snapshot


async def _fetch_tag(connection: AsyncConnection, space_id: int, until: datetime) -> str:
    mark = await fetch_one(connection, queries["mark"], {"space_id": space_id})
    state = repr((space_id, tuple(mark), f"{until:%Y-%m-%dT%H:%M}"))
    return hashlib.sha256(state.encode()).hexdigest()[:16]


async def count_on_site(connection: AsyncConnection, space_id: int) -> int | None:
    """Count visitors with a page view in the last ON_SITE_MINUTES; None for a Space without page views."""
    values = {
        "space_id": space_id,
        "since": datetime.now(UTC) - timedelta(minutes=ON_SITE_MINUTES),
        "most_counted": MOST_COUNTED,
    }
    return (await fetch_one(connection, queries["on_site"], values))[0]


async def fetch_snapshot(
    connection: AsyncConnection, space_id: int, until: datetime, tag: str
) -> ArrivalsSnapshot:
    """Return arrivals within MINUTES before `until`."""
    values = {
        "space_id": space_id,
        "since": until - timedelta(minutes=MINUTES),
        "until": until,
        "most": MOST_ARRIVALS,
        "most_counted": MOST_COUNTED,
        "most_touchpoints": MOST_TOUCHPOINTS,
    }
    arrivals: list[Arrival] = []
    for kinds in KINDS.values():
        for kind in kinds:
            cursor = connection.cursor(row_factory=dict_row)
            arrivals += [
                Arrival(kind, row["id"], row["at"], row)
                for row in await fetch_all(cursor, queries[kind], values)
            ]
    counts = {ago: counts for ago, *counts in await fetch_all(connection, queries["minutes"], values)}
    arrivals.sort(key=attrgetter("at"), reverse=True)
    minutes = [
        Minute(until - timedelta(minutes=ago + 1), *counts.get(ago, (0, 0)))
        for ago in reversed(range(MINUTES))
    ]
    highest = max(sum(minute.views for minute in minutes), sum(minute.events for minute in minutes))
    return ArrivalsSnapshot(until, tag, arrivals, minutes, highest < MOST_COUNTED)
