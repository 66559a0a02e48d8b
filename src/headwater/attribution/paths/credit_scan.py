"""Scan the events credited to some sources, in one snapshot: from postings of rare sources, segment paths of
common ones, or tables for pending events and missing segments.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import structlog
from msgspec import Struct
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow
from psycopg.sql import SQL

from headwater.attribution.models import MODELS, CreditedTouches
from headwater.attribution.paths.cache import Key, cache, fetch_source
from headwater.attribution.paths.cached_credit import (
    NO_CREDIT,
    CachedCredit,
    CreditedEvents,
    EventChanges,
    read_all_postings,
)
from headwater.attribution.paths.lookup import are_among
from headwater.attribution.paths.path_data import (
    NO_NUMBERS,
    IntArray,
    find_midnight,
    read_numbers,
    to_unix_seconds,
)
from headwater.attribution.paths.postings import POSTING_OCTETS, count_credited, list_columns
from headwater.attribution.paths.segments import DamagedSegment, read_query, unpacked
from headwater.attribution.query import Attribution, has_credit
from headwater.database.bulk_values import array
from headwater.database.queries import Queries, Statement, fetch_all
from headwater.sources.catalogue import source_mask

queries = Queries(__name__, "credit_scan.sql")

MOST_LIVE_EVENTS = 5_000
"""The most events of a range to read from the tables; with more, scanning all events is as fast."""
MOST_READ_FOR_SHARES, MOST_READ_FOR_PICKS = 20_000, 100_000
"""The most paths of a range to read, for models that share credit and for others. With more, scanning all
events skips few.
"""
_PASSED_FOR_SHARES, _PASSED_FOR_PICKS = 2, 20
"""Initially expected postings or events per credited event, for models that share credit and for others."""
_MARGIN = 1.2
"""Factor of extra events, to get enough rows."""
_SECONDS_A_DAY = 86_400

_ENDS = {
    "newest first": {
        "first": SQL("coalesce(reach.day, %(first_day)s)"),
        "last": SQL("%(last_day)s::date"),
        "direction": SQL("DESC"),
    },
    "oldest first": {
        "first": SQL("%(first_day)s::date"),
        "last": SQL("coalesce(reach.day, %(last_day)s)"),
        "direction": SQL("ASC"),
    },
}

log = structlog.get_logger()


@functools.cache
def _statement(name: str, model: str, window_days: int, order: str) -> Statement:
    """Return a statement of the scan. For a model that picks a touch it reads one path row per event and
    returns only credited events; others rely on the mask.
    """
    picks = MODELS[model].take is not CreditedTouches.EACH
    credited = has_credit(Attribution(model, window_days, ())) if picks else SQL("true")
    return Statement.of(queries[name].format(**_ENDS[order], credited=credited))


class SourceCredit(Struct, frozen=True):
    source_ids: Sequence[int]
    model: str
    window_days: int

    @property
    def is_shared_out(self) -> bool:
        """True if every touch that counts has credit."""
        return MODELS[self.model].take is CreditedTouches.EACH

    @property
    def most_read_events(self) -> int:
        """The most paths of a range to read. 0 if every touch of a path has credit: the mask is then
        sufficient.
        """
        if self.is_shared_out:
            return MOST_READ_FOR_SHARES if self.window_days else 0
        return MOST_READ_FOR_PICKS


class CreditRange(Struct, frozen=True):
    """A range of days in the scan: one row of its statement."""

    first_day: date
    last_day: date
    all_stamps: bytes | None
    """The packed versions of segments with one of the sources."""
    stamps: Sequence[int] | None
    days: Sequence[date] | None
    sources: Sequence[int] | None
    postings: Sequence[bytes] | None
    common: int
    """Of segments with a common source."""
    unread: int
    """Uncached ones of these segments."""
    changed_ids: bytes | None
    changes: bytes | None
    live_ids: bytes | None
    live_times: bytes | None

    def list_postings(self) -> list[tuple[int, date, int, bytes]]:
        """Return each segment's version and day, source and postings."""
        columns = (self.stamps, self.days, self.sources, self.postings)
        return list(zip(*(column or () for column in columns), strict=True))


class CreditScan:
    """Scan a time range's events that may have credit of some sources, including all that do. Needs a
    transaction with one snapshot.
    """

    def __init__(
        self,
        connection: AsyncConnection,
        space_id: int,
        credit: SourceCredit,
        span: tuple[datetime, datetime],
        *,
        backward: bool,
    ) -> None:
        """`span` includes both moments; newest first unless `backward`."""
        self._connection, self._space_id, self._credit = connection, space_id, credit
        self._backward = backward
        self._key: Key | None = None
        self._credit_cache = CachedCredit()
        first, last = (moment.astimezone(UTC) for moment in span)
        self._days = [first.date(), last.date()]
        self._span = (_to_second(first), _to_second(last))
        self._passed, self._credited, self._touches = 0, 0, 0
        self._ids, self._seconds = NO_NUMBERS, NO_NUMBERS
        self._is_finished = first > last
        self.has_common = False
        """True if a source is common in a segment."""
        self.stopped_at: int | None = None
        """The Unix second at which the scan stopped, because scanning all events would be as fast. Events
        before it remain; if `backward`, those from it on.
        """

    async def next_events(self, rows: int) -> list[int]:
        """Return the next events, unordered but complete between first and last second: about `rows` credited
        touches. Fewer at the end, then none.
        """
        if self._key is None:
            await self._load_cache()
        while len(self._ids) < (needed_events := self._events_for(rows)) and not self._is_finished:
            await self._read_days(needed_events - len(self._ids))
        if not len(self._ids):
            return []
        edge = self._seconds[min(needed_events, len(self._ids)) - 1]
        count = int(np.count_nonzero(self._seconds <= edge if self._backward else self._seconds >= edge))
        if count > max(needed_events, MOST_LIVE_EVENTS):  # all in one second
            self.stop()
            return []
        next_ids, self._ids = self._ids[:count], self._ids[count:]
        self._seconds = self._seconds[count:]
        return next_ids.tolist()

    async def _load_cache(self) -> None:
        source = await fetch_source(self._connection, self._space_id)
        credit = self._credit
        self._key = (source, tuple(sorted(credit.source_ids)), credit.model, credit.window_days)
        self._credit_cache = cache.get(self._key) if self._key in cache else CachedCredit()

    def _events_for(self, rows: int) -> int:
        """Estimate the events that have this many credited touches."""
        if not self._credited:
            return rows
        return min(rows, 1 + math.ceil(_MARGIN * rows * self._credited / self._touches))

    def stop(self) -> None:
        """Leave all remaining events to a full scan."""
        if len(self._seconds):
            self.stopped_at = int(self._seconds[0]) + (not self._backward)
            self._ids = self._seconds = NO_NUMBERS
            self._is_finished = True
        elif not self._is_finished:
            self._stop_before_days()

    def _stop_before_days(self) -> None:
        """Leave the unread days to a scan of all events."""
        midnight = find_midnight(self._days[not self._backward])
        self._is_finished = True
        self.stopped_at = midnight if self._backward else midnight + _SECONDS_A_DAY

    async def _read_days(self, event_count: int) -> None:
        """Read days that should have `event_count` events, or leave them."""
        days_range = await self._fetch_range(event_count)
        self.has_common = days_range is not None and days_range.common > 0
        if days_range is None or days_range.common > self._credit.most_read_events:
            self._stop_before_days()
            return
        try:
            credited = await self._read_credited(days_range)
        except DamagedSegment:
            days = f"{days_range.first_day} to {days_range.last_day}"
            log.warning("damaged path segment", space_id=self._space_id, day=days)
            self._stop_before_days()
            return
        self._append(days_range, *await self._apply_changes(days_range, *credited))

    async def _fetch_range(self, event_count: int) -> CreditRange | None:
        values = self._values() | {
            "enough": self._estimate_postings(event_count),
            "most_live": MOST_LIVE_EVENTS,
            "first_day": self._days[0],
            "last_day": self._days[1],
            "posting_octets": POSTING_OCTETS,
        }
        record = await (await self._execute("next_days", values)).fetchone()
        return None if record is None else CreditRange(*record)

    def _values(self) -> dict[str, Any]:
        source_ids = list(self._credit.source_ids)
        return {
            "space_id": self._space_id,
            "source_ids": source_ids,
            "source_mask": source_mask(source_ids),
            "known_stamps": array(self._credit_cache.segments),
            "lookback": self._credit.window_days * _SECONDS_A_DAY,
        }

    async def _execute(self, name: str, values: dict[str, Any]) -> AsyncCursor[TupleRow]:
        credit, order = self._credit, "oldest first" if self._backward else "newest first"
        statement = _statement(name, credit.model, credit.window_days, order)
        return await statement.execute(self._connection, values)

    def _estimate_postings(self, event_count: int) -> int:
        """Estimate the postings and events that hold `event_count` credited events."""
        usual_share = _PASSED_FOR_SHARES if self._credit.is_shared_out else _PASSED_FOR_PICKS
        share = 1.5 * self._passed / max(1, self._credited) or usual_share
        return min(math.ceil(share * event_count), MOST_READ_FOR_PICKS // 2)

    async def _read_credited(self, days_range: CreditRange) -> tuple[IntArray, IntArray]:
        """Return the credited events in a range's segments, repeated for each source, and their Unix seconds.
        Raises DamagedSegment.
        """
        credit = self._credit
        events_by_part = read_all_postings(days_range.list_postings(), credit.model, credit.window_days)
        if days_range.unread:
            events_by_part |= await self._read_paths(days_range)
        stamps = read_numbers(days_range.all_stamps).tolist()
        cached_segments = self._credit_cache.segments
        credited = CreditedEvents.join(
            [
                events_by_part[stamp] if stamp in events_by_part else cached_segments[stamp]
                for stamp in stamps
                if stamp in events_by_part or stamp in cached_segments
            ]
        )
        if events_by_part:
            self._store_cache(self._credit_cache.with_segments(events_by_part, stamps))
        self._passed += credited.passed
        self._credited += len(credited.event_ids)
        self._touches += credited.touches
        return credited.event_ids, credited.seconds

    async def _apply_changes(
        self, days_range: CreditRange, ids: IntArray, seconds: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Add changed events from the tables, and return each event once."""
        changes = EventChanges(read_numbers(days_range.changed_ids), read_numbers(days_range.changes))
        changed_ids, seconds_now = await self._find_changed(changes)
        is_unchanged, has_credit_now = ~are_among(changed_ids, ids), seconds_now != NO_CREDIT
        ids, places = np.unique(
            np.concatenate(
                [ids[is_unchanged], changed_ids[has_credit_now], read_numbers(days_range.live_ids)]
            ),
            return_index=True,
        )
        live_seconds = to_unix_seconds(read_numbers(days_range.live_times))
        return ids, np.concatenate([seconds[is_unchanged], seconds_now[has_credit_now], live_seconds])[places]

    async def _find_changed(self, changes: EventChanges) -> tuple[IntArray, IntArray]:
        """Return ascending event ids, and seconds or NO_CREDIT."""
        events, seconds, is_cached = self._credit_cache.find_seconds(changes)
        if is_cached.all():
            return events, seconds
        values = self._values() | {"event_ids": array(events[~is_cached].tolist())}
        record = await (await self._execute("changed", values)).fetchone()
        assert record is not None
        ids, times = read_numbers(record[0]), to_unix_seconds(read_numbers(record[1]))
        seconds = np.where(is_cached, seconds, NO_CREDIT)
        seconds[np.searchsorted(events, ids)] = times
        self._store_cache(self._credit_cache.with_changes(changes, seconds))
        return events, seconds

    def _store_cache(self, credit_cache: CachedCredit) -> None:
        self._credit_cache = credit_cache
        assert self._key is not None
        cache.put(self._key, credit_cache)

    async def _read_paths(self, days_range: CreditRange) -> dict[int, CreditedEvents]:
        credit = self._credit
        columns = list_columns(credit.window_days)
        days = {"first_day": days_range.first_day, "last_day": days_range.last_day}
        cursor = self._connection.cursor(binary=True)
        query = read_query("read_common", columns)
        events_by_part: dict[int, CreditedEvents] = {}
        for stamp, *record in await fetch_all(cursor, query, self._values() | days):
            paths = unpacked(record, columns).paths
            counts = count_credited(paths, credit.source_ids, credit.model, credit.window_days)
            events_by_part[stamp] = CreditedEvents.from_paths(paths, counts)
        return events_by_part

    def _append(self, days_range: CreditRange, ids: IntArray, seconds: IntArray) -> None:
        first, last = self._span
        indexes = np.flatnonzero((seconds >= first) & (seconds <= last))
        ordered_indexes = indexes[np.argsort(seconds[indexes], kind="stable")]
        if not self._backward:
            ordered_indexes = ordered_indexes[::-1]
        self._ids = np.concatenate([self._ids, ids[ordered_indexes]])
        self._seconds = np.concatenate([self._seconds, seconds[ordered_indexes]])
        if self._backward:
            self._is_finished = days_range.last_day >= self._days[1]
            self._days[0] = days_range.last_day + timedelta(days=not self._is_finished)
        else:
            self._is_finished = days_range.first_day <= self._days[0]
            self._days[1] = days_range.first_day - timedelta(days=not self._is_finished)


def _to_second(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
