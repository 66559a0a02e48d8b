"""Reads the paths of a Space's events: from segments where they can be believed, from the tables
where they are pending, missing or damaged. Both within one snapshot, so that every event is read
once, as it is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import structlog
from psycopg import AsyncConnection

from headwater.attribution.paths.live import OF_IDS, assemble, live_paths, live_values, read_numbers
from headwater.attribution.paths.lookup import are_among
from headwater.attribution.paths.memory import Key, memory
from headwater.attribution.paths.path_data import ON_PATHS, Column, IntArray, PathData
from headwater.attribution.paths.path_source import PathSource
from headwater.attribution.paths.segments import DamagedSegment, queries, read_query, unpacked
from headwater.attribution.paths.survey import (
    Block,
    LivePart,
    SegmentedDay,
    Survey,
    block_of,
    pending_events,
    put_together,
)
from headwater.database.bulk_values import array
from headwater.database.queries import fetch_all, fetch_one

MOST_LIVE_EVENTS = 10_000
"""The events that are read from the tables at once."""
SEGMENTS_AT_ONCE = 8

log = structlog.get_logger()

Piece = tuple[Block, PathData]

_NO_IDS = np.array([], dtype=np.int64)


class PathReader:
    """Reads paths in a transaction of which all statements see the same rows."""

    def __init__(
        self,
        connection: AsyncConnection,
        source: PathSource,
        columns: Iterable[Column],
        *,
        by_company: bool = False,
    ) -> None:
        """`by_company` is as in an attribution: paths of companies are always read from the tables,
        as a company's touch would change the paths of all its people.
        """
        self._connection, self._source, self._by_company = connection, source, by_company
        self._space_id = source.space_id
        always = [Column.EVENT_IDS, *([Column.COMPANIES] if by_company else [])]
        self._columns = tuple(dict.fromkeys([*always, *columns]))
        self._with_touches = not ON_PATHS.isdisjoint(self._columns)

    async def survey(self, first_day: date, last_day: date) -> Survey:
        """Return what there is of these days, in UTC. Every day is looked at, so there should be
        none before the first event, or after the last.
        """
        span = {"space_id": self._space_id, "first_day": first_day, "last_day": last_day}
        cursor = self._connection.cursor(binary=True)
        days = await fetch_all(cursor, queries["survey"], span)
        pending = await fetch_all(cursor, queries["pending"], span)
        incomplete = {day for day, count, parts, *_ in days if (parts or []) != list(range(count))}
        known = {day for day, *_ in days}
        length = (last_day - first_day).days + 1
        unknown = {first_day + timedelta(number) for number in range(length)} - known
        return Survey(
            first_day,
            last_day,
            [
                SegmentedDay(day, size, stamps)
                for day, count, _, size, stamps in days
                if count and day not in incomplete
            ],
            {day: pending_events(*map(read_numbers, numbers)) for day, *numbers in pending},
            frozenset(incomplete | await self._with_events(unknown)),
            identifies=not self._by_company,
        )

    async def read(self, survey: Survey, is_known: Callable[[Block], bool]) -> AsyncIterator[Piece]:
        """Yield the events of a survey, block by block, without those blocks that are known. What
        is read for a block may be less than it has: the rest is in a later one, and neither has an
        identity then.
        """
        event_ids: list[IntArray] = []
        damaged: set[date] = set()
        wanted = [block for block in survey.blocks() if not is_known(block)]
        async for block, paths in self._blocks(survey, wanted, damaged):
            if self._by_company:
                event_ids.append(_of_companies(paths))
            yield block, self._own(paths)
        event_ids.append(await self._ids_of_days(damaged | survey.distrusted))
        parts = survey.pending_parts(damaged, MOST_LIVE_EVENTS)
        parts += _unknown_parts(survey, np.concatenate([_NO_IDS, *event_ids]))
        for together in put_together(parts, MOST_LIVE_EVENTS):
            block = block_of(together)
            if not is_known(block):
                yield block, await self._read_parts(together)

    async def _with_events(self, days: Collection[date]) -> set[date]:
        """Return those of some days on which there are events."""
        if not days:
            return set()
        values = {"space_id": self._space_id, "days": sorted(days)}
        rows = await fetch_all(self._connection, queries["days_with_events"], values)
        return {day for (day,) in rows}

    async def _blocks(
        self, survey: Survey, blocks: Sequence[Block], damaged: set[date]
    ) -> AsyncIterator[Piece]:
        """Yield what is to be believed of some blocks of segments, in order. A day of which one is
        damaged is added to `damaged`.
        """
        at, gathered = 0, list[PathData]()
        async for day, records in self._records(survey, blocks):
            if day > blocks[at].last_day:
                if gathered:
                    yield _piece(survey, blocks[at], gathered, damaged)
                at, gathered = at + 1, []
            gathered += self._of_day(day, records, damaged)
        if gathered:
            yield _piece(survey, blocks[at], gathered, damaged)

    async def _records(
        self, survey: Survey, blocks: Sequence[Block]
    ) -> AsyncIterator[tuple[date, list[Sequence[Any]]]]:
        """Yield the stored segments of every day of some blocks, day by day."""
        days = [day for block in blocks for day in survey.days_of(block)]
        if not days:
            return
        async with self._connection.cursor(name="segments", binary=True) as cursor:
            cursor.itersize = SEGMENTS_AT_ONCE
            values = {"space_id": self._space_id, "days": days}
            await cursor.execute(read_query("read", self._columns), values)
            of_day: list[Sequence[Any]] = []
            async for record in cursor:
                if of_day and of_day[0][0] != record[0]:
                    yield of_day[0][0], of_day
                    of_day = []
                of_day.append(record)
            if of_day:
                yield of_day[0][0], of_day

    def _of_day(self, day: date, records: list[Sequence[Any]], damaged: set[date]) -> list[PathData]:
        """Return the paths of a day, with those that are pending."""
        try:
            return [unpacked(record, self._columns).paths for record in records]
        except DamagedSegment:
            log.warning("damaged path segment", space_id=self._space_id, day=str(day))
            damaged.add(day)
            return []

    def _own(self, paths: PathData) -> PathData:
        return paths.select(paths[Column.COMPANIES] == 0) if self._by_company else paths

    async def _ids_of_days(self, days: Iterable[date]) -> IntArray:
        values = {"space_id": self._space_id, "days": sorted(days)}
        if not values["days"]:
            return _NO_IDS
        rows = await fetch_all(self._connection, queries["events_of_days"], values)
        return np.array([event_id for (event_id,) in rows], dtype=np.int64)

    async def read_live(self, event_ids: IntArray) -> PathData:
        """Return the paths of some events from the tables, with all columns; they are few enough to
        be read at once.
        """
        cursor = self._connection.cursor(binary=True)
        values = live_values(self._space_id, event_ids=array(event_ids.tolist()))
        query = live_paths(OF_IDS, by_company=self._by_company, with_touches=self._with_touches)
        return assemble(await fetch_one(cursor, query, values))

    async def _read_parts(self, parts: Sequence[LivePart]) -> PathData:
        """Return parts from the tables; those with an identity are read once."""
        known: list[PathData] = []
        lacking: list[LivePart] = []
        for part in parts:
            paths = self._recall(part)
            if paths is None:
                lacking.append(part)
            else:
                known.append(paths)
        if lacking:
            read = await self.read_live(np.concatenate([part.event_ids for part in lacking]))
            self._remember(lacking, read)
            known.append(read)
        return PathData.join(known)

    def _recall(self, part: LivePart) -> PathData | None:
        """Return the paths of a part, if they are remembered: with touches, they serve who wants
        none as well.
        """
        for with_touches in (True,) if self._with_touches else (True, False):
            key = self._key(part, with_touches)
            if key in memory:
                return memory.get(key)
        return None

    def _remember(self, parts: Sequence[LivePart], read: PathData) -> None:
        if all(part.block.identity is None for part in parts):
            return
        for part, paths in zip(parts, _split(parts, read), strict=True):
            if part.block.identity is not None:
                memory.put(self._key(part, self._with_touches), paths)

    def _key(self, part: LivePart, with_touches: bool) -> Key:
        """Return what the paths of a part are known by, if it has an identity."""
        return self._source, part.block.identity, with_touches


def _unknown_parts(survey: Survey, event_ids: IntArray) -> list[LivePart]:
    places = range(0, len(event_ids), MOST_LIVE_EVENTS)
    return [survey.unknown_part(event_ids[place : place + MOST_LIVE_EVENTS]) for place in places]


def _split(parts: Sequence[LivePart], read: PathData) -> list[PathData]:
    """Return the paths of each part, of those of all; an event that is not there any more is in
    none.
    """
    event_ids = np.concatenate([part.event_ids for part in parts])
    order = np.argsort(event_ids)
    numbers = np.repeat(np.arange(len(parts)), [len(part.event_ids) for part in parts])[order]
    part_of = numbers[np.searchsorted(event_ids[order], read[Column.EVENT_IDS])]
    by_part = np.argsort(part_of, kind="stable")
    edges = np.searchsorted(part_of[by_part], np.arange(len(parts) + 1))
    return [read.select(by_part[start:end]).cut_to_window(0) for start, end in pairwise(edges.tolist())]


def _piece(survey: Survey, block: Block, gathered: Sequence[PathData], damaged: Collection[date]) -> Piece:
    """Return the paths of a block but for what is pending; without an identity when it lacks a
    day.
    """
    paths = PathData.join(gathered)
    pending = survey.pending_of(block)
    if len(pending):
        paths = paths.select(~are_among(pending, paths[Column.EVENT_IDS]))
    if any(block.first_day <= day <= block.last_day for day in damaged):
        block = Block(None, block.first_day, block.last_day)
    return block, paths


def _of_companies(paths: PathData) -> IntArray:
    return paths[Column.EVENT_IDS][paths[Column.COMPANIES] != 0].astype(np.int64)
