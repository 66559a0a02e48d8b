"""Reads the paths of a Space's events: from segments where they can be believed, from the tables
where they are pending, missing or damaged. Both within one snapshot, so that every event is read
once, as it is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import numpy as np
import structlog
from psycopg import AsyncConnection

from headwater.database.bulk_values import array
from headwater.database.queries import fetch_all, fetch_one
from headwater.paths.live import OF_IDS, assemble, live_paths, live_values, read_numbers
from headwater.paths.lookup import are_among
from headwater.paths.path_data import ON_PATHS, Column, IntArray, PathData
from headwater.paths.segments import DamagedSegment, Segment, queries, read_query, unpacked

MOST_LIVE_EVENTS = 10_000
"""The events that are read from the tables at once."""
PIECE_SIZE = 400_000
"""Segments are put together up to so many events and touches: enough for arithmetic in bulk. Twice
as many are a little quicker still, and take twice the memory.
"""
SEGMENTS_AT_ONCE = 8

log = structlog.get_logger()


@dataclass
class _Trust:
    """The days, and their events, whose segments are to be believed or not."""

    parts: dict[date, int]
    """The number of segments of each day that has any."""
    pending: dict[date, IntArray]
    """Events whose segments are behind."""
    distrusted: set[date] = field(default_factory=set[date])
    """Days whose events are all read from the tables."""


class PathReader:
    """Reads paths in a transaction of which all statements see the same rows."""

    def __init__(
        self,
        connection: AsyncConnection,
        space_id: int,
        columns: Iterable[Column],
        *,
        by_company: bool = False,
    ) -> None:
        """`by_company` is as in an attribution: paths of companies are always read from the tables,
        as a company's touch would change the paths of all its people.
        """
        self._connection, self._space_id, self._by_company = connection, space_id, by_company
        always = [Column.EVENT_IDS, *([Column.COMPANIES] if by_company else [])]
        self._columns = tuple(dict.fromkeys([*always, *columns]))

    async def read(self, first_day: date, last_day: date) -> AsyncIterator[PathData]:
        """Yield the events of these days, in UTC, piece by piece. The order is not fixed. Every day
        is looked at, so there should be none before the first event, or after the last.
        """
        trust = await self._trust(first_day, last_day)
        event_ids: list[IntArray] = []
        gathered: list[PathData] = []
        async for paths in self._segments(trust, first_day, last_day):
            if self._by_company:
                event_ids.append(_of_companies(paths))
            gathered.append(self._own(paths))
            if sum(piece.events + piece.touches for piece in gathered) >= PIECE_SIZE:
                yield PathData.join(gathered)
                gathered.clear()
        if gathered:
            yield PathData.join(gathered)
        event_ids += [ids for day, ids in trust.pending.items() if day not in trust.distrusted]
        event_ids.append(await self._ids_of_days(trust.distrusted))
        live_ids = np.concatenate([np.array([], dtype=np.int64), *event_ids])
        for at in range(0, len(live_ids), MOST_LIVE_EVENTS):
            yield await self.read_live(live_ids[at : at + MOST_LIVE_EVENTS])

    async def _trust(self, first_day: date, last_day: date) -> _Trust:
        span = {"space_id": self._space_id, "first_day": first_day, "last_day": last_day}
        parts = dict(await fetch_all(self._connection, queries["days"], span))
        pending = await fetch_all(self._connection.cursor(binary=True), queries["pending"], span)
        trust = _Trust(parts, {day: np.unique(read_numbers(ids)) for day, ids in pending})
        length = (last_day - first_day).days + 1
        days = (first_day + timedelta(number) for number in range(length))
        unknown = [day for day in days if day not in parts]
        if unknown:
            values = {"space_id": self._space_id, "days": unknown}
            rows = await fetch_all(self._connection, queries["days_with_events"], values)
            trust.distrusted = {day for (day,) in rows}
        return trust

    async def _segments(
        self, trust: _Trust, first_day: date, last_day: date
    ) -> AsyncIterator[PathData]:
        """Yield what is to be believed of the segments. A day of which one is missing or damaged is
        added to those that are distrusted.
        """
        span = {"space_id": self._space_id, "first_day": first_day, "last_day": last_day}
        async with self._connection.cursor(name="segments", binary=True) as cursor:
            cursor.itersize = SEGMENTS_AT_ONCE
            await cursor.execute(read_query("read", self._columns), span)
            expected = sorted(trust.parts.items(), reverse=True)
            of_day: list[Sequence[Any]] = []
            async for record in cursor:
                if of_day and of_day[0][0] != record[0]:
                    for paths in self._of_day(trust, expected, of_day):
                        yield paths
                    of_day = []
                of_day.append(record)
            for paths in (
                *self._of_day(trust, expected, of_day),
                *self._of_day(trust, expected, []),
            ):
                yield paths

    def _of_day(
        self, trust: _Trust, expected: list[tuple[date, int]], records: list[Sequence[Any]]
    ) -> list[PathData]:
        """Return the paths of a day, without those that are pending; `expected` days before it have
        lost their segments.
        """
        day = records[0][0] if records else date.max
        while expected and expected[-1][0] < day:
            lost, parts = expected.pop()
            if parts:
                trust.distrusted.add(lost)
        if not records:
            return []
        parts = expected.pop()[1] if expected and expected[-1][0] == day else 0
        segments = self._unpacked(records)
        if segments is None or [segment.part for segment in segments] != list(range(parts)):
            trust.distrusted.add(day)
            return []
        pending = trust.pending.get(day)
        pieces = [segment.paths for segment in segments]
        if pending is None:
            return pieces
        return [paths.select(~are_among(pending, paths[Column.EVENT_IDS])) for paths in pieces]

    def _unpacked(self, records: list[Sequence[Any]]) -> list[Segment] | None:
        try:
            return [unpacked(record, self._columns) for record in records]
        except DamagedSegment:
            log.warning("damaged path segment", space_id=self._space_id, day=str(records[0][0]))
            return None

    def _own(self, paths: PathData) -> PathData:
        return paths.select(paths[Column.COMPANIES] == 0) if self._by_company else paths

    async def _ids_of_days(self, days: Iterable[date]) -> IntArray:
        values = {"space_id": self._space_id, "days": sorted(days)}
        if not values["days"]:
            return np.array([], dtype=np.int64)
        rows = await fetch_all(self._connection, queries["events_of_days"], values)
        return np.array([event_id for (event_id,) in rows], dtype=np.int64)

    async def read_live(self, event_ids: IntArray) -> PathData:
        """Return the paths of some events from the tables, with all columns; they are few enough to
        be read at once.
        """
        cursor = self._connection.cursor(binary=True)
        values = live_values(self._space_id, event_ids=array(event_ids.tolist()))
        query = live_paths(
            OF_IDS, by_company=self._by_company,
            with_touches=not ON_PATHS.isdisjoint(self._columns),
        )  # fmt: skip
        return assemble(await fetch_one(cursor, query, values))


def _of_companies(paths: PathData) -> IntArray:
    return paths[Column.EVENT_IDS][paths[Column.COMPANIES] != 0].astype(np.int64)
