"""Read attribution paths from valid segments, and from the tables for events that are pending, missing or in
a damaged segment. One snapshot, so every event is read exactly once.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import structlog
from psycopg import AsyncConnection
from psycopg.sql import SQL, Composed

from headwater.attribution.paths import segments
from headwater.attribution.paths.cache import Key, PathSource, cache
from headwater.attribution.paths.lookup import are_among
from headwater.attribution.paths.path_data import (
    NO_AMOUNT,
    NO_NUMBERS,
    OLDER_COLUMNS,
    Column,
    EventKind,
    IntArray,
    PathData,
    join_numbers,
    read_numbers,
    to_unix_seconds,
)
from headwater.attribution.paths.scan_plan import Block, ScanPlan, SegmentedDay, make_pending_events
from headwater.attribution.paths.segments import DamagedSegment, read_query, unpacked
from headwater.database.bulk_values import array
from headwater.database.queries import Queries, fetch_all, fetch_one

queries = Queries(__name__, "reader.sql")

MAX_LIVE_EVENTS = 10_000
"""Events read from the tables at once."""
MAX_COPIED_TOUCHES = 1_000_000
"""The most touches that are copied for the cache. A contact's events share their touches, so the copies of
one contact with 30,000 events would take gigabytes.
"""
SEGMENTS_AT_ONCE = 8

log = structlog.get_logger()

Batch = tuple[Block, PathData]

OF_IDS = SQL("e.id = ANY(%(event_ids)s::bigint[])")
OF_DAY = SQL(
    "e.event_time >= %(day)s::timestamp AT TIME ZONE 'UTC'"
    " AND e.event_time < (%(day)s::timestamp + interval '1 day') AT TIME ZONE 'UTC'"
)

_OWN_CONTACT = SQL("e.contact_id")
_SHARED_CONTACT = SQL("coalesce(-e.company_id, e.contact_id)")
_DAY = 86_400_000_000
"""In microseconds."""


class PathReader:
    """Reads paths in a transaction with one snapshot."""

    def __init__(
        self,
        connection: AsyncConnection,
        source: PathSource,
        columns: Iterable[Column],
        *,
        by_company: bool = False,
    ) -> None:
        """With `by_company`, companies' paths are read from the tables, because a company's touch changes all
        its people's paths.
        """
        self._connection, self._source, self.by_company = connection, source, by_company
        self._space_id = source.space_id
        base_columns = [Column.EVENT_IDS, *([Column.COMPANIES] if by_company else [])]
        self._columns = tuple(dict.fromkeys([*base_columns, *columns]))

    async def plan_scan(self, first_day: date, last_day: date) -> ScanPlan:
        """Plan a scan of UTC days. Every day is checked for events, so the range should not exceed the
        Space's events.
        """
        span = {"space_id": self._space_id, "first_day": first_day, "last_day": last_day}
        cursor = self._connection.cursor(binary=True)
        days = await fetch_all(cursor, segments.queries["stored_days"], span)
        pending = await fetch_all(cursor, segments.queries["pending"], span)
        incomplete = {day for day, count, parts, *_ in days if (parts or []) != list(range(count))}
        stored_days = {day for day, *_ in days}
        length = (last_day - first_day).days + 1
        missing_days = {first_day + timedelta(number) for number in range(length)} - stored_days
        return ScanPlan(
            first_day,
            last_day,
            [
                SegmentedDay(day, size, versions)
                for day, count, _, size, versions in days
                if count and day not in incomplete
            ],
            {day: make_pending_events(*map(read_numbers, numbers)) for day, *numbers in pending},
            frozenset(incomplete | await self._with_events(missing_days)),
            has_versions=not self.by_company,
        )

    async def read(self, scan: ScanPlan, is_cached: Callable[[Block], bool]) -> AsyncIterator[Batch]:
        """Yield a scan's events by block, without cached ones. A block with damaged days lacks their events,
        which a later block without a version has.
        """
        event_ids: list[IntArray] = []
        damaged_days: set[date] = set()
        blocks = [block for block in scan.blocks() if not is_cached(block)]
        async for block, paths in self._blocks(scan, blocks, damaged_days):
            if self.by_company:
                event_ids.append(_find_company_events(paths))
            yield block, self._select_own(paths)
        event_ids.append(await self._list_ids(damaged_days | scan.unsegmented))
        for days in scan.pending_days(damaged_days, MAX_LIVE_EVENTS):
            if sum(len(scan.pending[day].event_ids) for day in days) > MAX_LIVE_EVENTS:  # one busy day
                event_ids += [scan.pending[day].event_ids for day in days]
                continue
            block = scan.pending_block(days)
            if not is_cached(block):
                yield block, await self._read_pending(scan, days)
        block, unknown = scan.unknown_block(), join_numbers(event_ids)
        for start in range(0, len(unknown), MAX_LIVE_EVENTS):
            if not is_cached(block):
                yield block, await self.read_live(unknown[start : start + MAX_LIVE_EVENTS])

    async def _with_events(self, days: Collection[date]) -> set[date]:
        if not days:
            return set()
        values = {"space_id": self._space_id, "days": sorted(days)}
        rows = await fetch_all(self._connection, segments.queries["days_with_events"], values)
        return {day for (day,) in rows}

    async def _blocks(
        self, scan: ScanPlan, blocks: Sequence[Block], damaged: set[date]
    ) -> AsyncIterator[Batch]:
        """Yield the valid paths of blocks of segments, in order. Damaged days are added to `damaged`."""
        row_count, pending_paths = 0, list[PathData]()
        async for day, records in self._records(scan, blocks):
            if day > blocks[row_count].last_day:
                if pending_paths:
                    yield _make_batch(scan, blocks[row_count], pending_paths, damaged)
                row_count, pending_paths = row_count + 1, []
            pending_paths += self._unpack_day(day, records, damaged)
        if pending_paths:
            yield _make_batch(scan, blocks[row_count], pending_paths, damaged)

    async def _records(
        self, scan: ScanPlan, blocks: Sequence[Block]
    ) -> AsyncIterator[tuple[date, list[Sequence[Any]]]]:
        days = [day for block in blocks for day in scan.days_in(block)]
        if not days:
            return
        async with self._connection.cursor(name="segments", binary=True) as cursor:
            cursor.itersize = SEGMENTS_AT_ONCE
            values = {"space_id": self._space_id, "days": days}
            await cursor.execute(read_query("read", self._columns), values)
            day_records: list[Sequence[Any]] = []
            async for record in cursor:
                if day_records and day_records[0][0] != record[0]:
                    yield day_records[0][0], day_records
                    day_records = []
                day_records.append(record)
            if day_records:
                yield day_records[0][0], day_records

    def _unpack_day(self, day: date, records: list[Sequence[Any]], damaged: set[date]) -> list[PathData]:
        """Return the paths of a day, including pending events."""
        try:
            return [unpacked(record, self._columns).paths for record in records]
        except DamagedSegment:
            log.warning("damaged path segment", space_id=self._space_id, day=str(day))
            damaged.add(day)
            return []

    def _select_own(self, paths: PathData) -> PathData:
        return paths.select(paths[Column.COMPANIES] == 0) if self.by_company else paths

    async def _list_ids(self, days: Iterable[date]) -> IntArray:
        values = {"space_id": self._space_id, "days": sorted(days)}
        if not values["days"]:
            return NO_NUMBERS
        rows = await fetch_all(self._connection, segments.queries["events_of_days"], values)
        return np.array([event_id for (event_id,) in rows], dtype=np.int64)

    async def read_live(self, event_ids: IntArray) -> PathData:
        """Return events' paths from the tables, with all columns. They must be few enough to read at once."""
        cursor = self._connection.cursor(binary=True)
        values = live_values(self._space_id, event_ids=array(event_ids.tolist()))
        query = live_paths(OF_IDS, by_company=self.by_company)
        return assemble(await fetch_one(cursor, query, values))

    async def _read_pending(self, scan: ScanPlan, days: Sequence[date]) -> PathData:
        """Read the tables once for each day."""
        keys: dict[date, Key] = {day: (self._source, scan.pending_block([day]).version) for day in days}
        missing_days = [day for day in days if not scan.has_versions or keys[day] not in cache]
        paths = [cache.get(keys[day]) for day in days if day not in missing_days]
        if missing_days:
            ids_by_day = [scan.pending[day].event_ids for day in missing_days]
            live_paths = await self.read_live(np.concatenate(ids_by_day))
            paths.append(live_paths)
            if scan.has_versions and live_paths[Column.LENGTHS].sum() <= MAX_COPIED_TOUCHES:
                for day, paths_of_day in zip(missing_days, _split(ids_by_day, live_paths), strict=True):
                    cache.put(keys[day], paths_of_day)
        return PathData.join(paths)


def _split(parts: Sequence[IntArray], paths: PathData) -> list[PathData]:
    """Split paths by groups of event ids. Deleted events have no path."""
    event_ids = np.concatenate(parts)
    order = np.argsort(event_ids)
    numbers = np.repeat(np.arange(len(parts)), [len(section) for section in parts])[order]
    part_of = numbers[np.searchsorted(event_ids[order], paths[Column.EVENT_IDS])]
    by_part = np.argsort(part_of, kind="stable")
    edges = np.searchsorted(part_of[by_part], np.arange(len(parts) + 1))
    return [paths.select(by_part[start:end]).cut_to_window(0) for start, end in pairwise(edges.tolist())]


def _make_batch(
    scan: ScanPlan, block: Block, pending_paths: Sequence[PathData], damaged: Collection[date]
) -> Batch:
    """Return a block's paths without pending events; without a version if a day is missing."""
    paths = PathData.join(pending_paths)
    pending = scan.pending_in(block)
    if len(pending):
        paths = paths.select(~are_among(pending, paths[Column.EVENT_IDS]))
    if any(block.first_day <= day <= block.last_day for day in damaged):
        block = Block(None, block.first_day, block.last_day)
    return block, paths


def _find_company_events(paths: PathData) -> IntArray:
    return paths[Column.EVENT_IDS][paths[Column.COMPANIES] != 0].astype(np.int64)


def live_paths(condition: SQL | Composed, *, by_company: bool = False) -> Composed:
    """Query the paths to events `e` that meet the condition, for `assemble`. Binds `live_values` and
    what the condition binds.
    """
    return queries["paths"].format(
        condition=condition,
        owner=_SHARED_CONTACT if by_company else _OWN_CONTACT,
        touches=queries["by_company" if by_company else "by_contact"],
    )


def live_values(space_id: int, **parameters: Any) -> dict[str, Any]:
    kinds = {kind.name.lower(): int(kind) for kind in EventKind}
    return {"space_id": space_id, "no_amount": NO_AMOUNT, **kinds, **parameters}


def assemble(record: Sequence[Any]) -> PathData:
    """Assemble a binary row of `live_paths`."""
    events, ids, contacts, companies, times, amounts, owners, names, kinds, *touches = record
    event_times, event_owners = read_numbers(times), read_numbers(owners)
    touch_owners, touch_times = read_numbers(touches[0]), read_numbers(touches[1])
    starts = np.searchsorted(touch_owners, event_owners, "left")
    after = np.searchsorted(touch_owners, event_owners, "right")
    ends, *window_places = _places(
        touch_times,
        (starts, after),
        np.stack([event_times + 1, *(event_times - days * _DAY for days in OLDER_COLUMNS)]),
    )
    event_names = tuple(dict.fromkeys(names or ()))
    name_numbers = {name: number for number, name in enumerate(event_names)}
    columns = {
        Column.EVENT_IDS: read_numbers(ids),
        Column.CONTACTS: read_numbers(contacts),
        Column.COMPANIES: read_numbers(companies),
        Column.NAMES: np.array([name_numbers[name] for name in names or ()], dtype=np.int64),
        Column.SECONDS: to_unix_seconds(event_times),
        Column.AMOUNTS: read_numbers(amounts),
        Column.STARTS: starts,
        Column.LENGTHS: ends - starts,
        Column.TOUCH_SECONDS: to_unix_seconds(touch_times),
        Column.SOURCES: read_numbers(touches[2], ">i2"),
        Column.TAG_SETS: read_numbers(touches[3], ">i4"),
        Column.KINDS: read_numbers(kinds, ">i2"),
    }
    for column, places in zip(OLDER_COLUMNS.values(), window_places, strict=True):
        columns[column] = places - starts
    return PathData(columns, event_names, events, len(touch_times))


# Each owner's touches are a range of all, ordered by time. All moments are searched at once, by halving their
# ranges:
#
#     times      10   20   30   40      the first at or after 25:
#     step 1     ╰─────────▲────────╯   30 is not before it
#     step 2     ╰────▲───╯             20 is before it, so it is the one after 20


def _places(times: IntArray, stretches: tuple[IntArray, IntArray], moments: IntArray) -> IntArray:
    """Return the index of the first time at or after each moment in its range of ascending times. `moments`
    has a column per range.
    """
    low, high = (np.broadcast_to(edge, moments.shape) for edge in stretches)
    while (is_open := low < high).any():
        middle = (low + high) >> 1
        is_before = times.take(middle, mode="clip") < moments
        is_before &= is_open
        low, high = np.where(is_before, middle + 1, low), np.where(is_before, high, middle)
    return low
