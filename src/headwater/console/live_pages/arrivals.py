"""Recent arrivals and their outcome. All viewers of a Space share one snapshot, which is rebuilt only after
something has arrived.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from headwater.database.queries import Queries, fetch_all, fetch_one

queries = Queries(__name__, "arrivals.sql")

MINUTES = 30
MOST = 50
"""The latest items of each kind that are read, and of all that are listed."""
MOST_COUNTED = 2_000
"""The latest page views, and events, that are counted by minute."""
MOST_TOUCHPOINTS = 500
"""How many of the latest touchpoints are searched for those without an event or page view."""
FRESH_SECONDS = 1.5
"""A snapshot is not looked at again for so long."""
OLDEST_SECONDS = 10.0
"""It is made anew after so long in any case: a merge or an erasure leaves no mark."""
MOST_SPACES = 200

KINDS = {
    "visits": ("visits",),
    "events": ("events",),
    "touchpoints": ("touchpoints",),
    "waiting": ("waiting",),
    "problems": ("duplicates", "rejected", "bots"),
}
"""The choices of the page, and the queries that each shows."""


@dataclass(frozen=True)
class Arrival:
    """Something that came in. `values` are its row's, by column."""

    kind: str
    id: int
    at: datetime
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Minute:
    """The page views and events of one minute."""

    start: datetime
    views: int
    events: int

    @property
    def total(self) -> int:
        """Page views and events together."""
        return self.views + self.events


@dataclass(frozen=True)
class ArrivalsSnapshot:
    """Everything that came in within MINUTES before `until`."""

    until: datetime
    tag: str
    """Equal as long as nothing has changed, in every process."""
    arrivals: Sequence[Arrival]
    minutes: Sequence[Minute]
    is_all_counted: bool
    """False when there was more than is counted."""
    rendered: dict[tuple[str, ...], bytes] = field(default_factory=dict[tuple[str, ...], bytes])
    """The list as it was sent already, by the choice and all else that it depends on."""

    def of(self, choice: str) -> list[Arrival]:
        """Return the latest arrivals of a choice of KINDS; of all for any other."""
        kinds = KINDS.get(choice)
        chosen = [each for each in self.arrivals if kinds is None or each.kind in kinds]
        return chosen[:MOST]


@dataclass
class _Kept:
    snapshot: ArrivalsSnapshot
    checked_at: float
    made_at: float


class ArrivalsFeed:
    """The snapshots of a process, by Space."""

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}
        self._locks: dict[int, asyncio.Lock] = {}

    async def fetch(self, connection: AsyncConnection, space_id: int) -> ArrivalsSnapshot:
        """Return the snapshot of a Space, at most FRESH_SECONDS old. Who comes while it is made
        waits for it.
        """
        async with self._locks.setdefault(space_id, asyncio.Lock()):
            kept, now = self._kept.get(space_id), time.monotonic()
            if kept is not None and now - kept.checked_at < FRESH_SECONDS:
                return kept.snapshot
            until = datetime.now(UTC)
            tag = await _fetch_tag(connection, space_id, until)
            is_same = kept is not None and kept.snapshot.tag == tag
            if kept is not None and is_same and now - kept.made_at < OLDEST_SECONDS:
                kept.checked_at = now
                return kept.snapshot
            snapshot = await fetch_snapshot(connection, space_id, until, tag)
            if len(self._kept) >= MOST_SPACES:
                self._kept.clear()
                self._locks = {space_id: self._locks[space_id]}
            self._kept[space_id] = _Kept(snapshot, now, now)
            return snapshot


async def _fetch_tag(connection: AsyncConnection, space_id: int, until: datetime) -> str:
    mark = await fetch_one(connection, queries["mark"], {"space_id": space_id})
    seen = repr((space_id, tuple(mark), f"{until:%Y-%m-%dT%H:%M}"))
    return hashlib.sha256(seen.encode()).hexdigest()[:16]


async def fetch_snapshot(
    connection: AsyncConnection, space_id: int, until: datetime, tag: str
) -> ArrivalsSnapshot:
    """Return what came in within MINUTES before a moment."""
    values = {
        "space_id": space_id,
        "since": until - timedelta(minutes=MINUTES),
        "until": until,
        "most": MOST,
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
    counts = {ago: rest for ago, *rest in await fetch_all(connection, queries["minutes"], values)}
    arrivals.sort(key=attrgetter("at"), reverse=True)
    minutes = [
        Minute(until - timedelta(minutes=ago + 1), *counts.get(ago, (0, 0)))
        for ago in reversed(range(MINUTES))
    ]
    most = max(sum(each.views for each in minutes), sum(each.events for each in minutes))
    return ArrivalsSnapshot(until, tag, arrivals, minutes, most < MOST_COUNTED)
