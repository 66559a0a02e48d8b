"""The duty that puts changed events into segments, some of a day at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import structlog
from psycopg import Connection

from headwater.attribution.paths import changes, segments
from headwater.attribution.paths.live import OF_DAY, OF_IDS, assemble, live_paths, live_values
from headwater.attribution.paths.lookup import are_among
from headwater.attribution.paths.path_data import Column, IntArray, PathData
from headwater.attribution.paths.segments import (
    ALL_COLUMNS,
    MOST_EVENTS,
    DamagedSegment,
    Segment,
    read_query,
    unpacked,
    write_query,
    write_values,
)
from headwater.database.bulk_values import array
from headwater.database.cluster.presence import is_cluster
from headwater.database.jobs.duties import Duty
from headwater.database.queries import Queries

queries = Queries(__name__, "builder.sql")

MOST_CHANGES = 10_000
"""The events that are taken at once, more or less, as the worker has other duties."""
MOST_PARTS = 8
"""The same of segments that are written."""
MOST_DAYS = 20
"""The same of days: finding those that are due takes longer than building a small one."""
MOST_LOOKED_AT = 100_000
"""The changes among which those to take are chosen."""
MANY_CHANGES = 500
"""A day with so many changes for every MOST_PARTS segments is due at once, others after a while."""
MOST_COUNTED = 10_000
"""Changes of a day are counted no further, as that would take long."""
PATIENCE = timedelta(seconds=60)
FEW_WAIT_LONGER = 10
"""So many times as long, where fewer than MANY_CHANGES wait in a whole Space: reports read those
from the tables in milliseconds, and a segment would be rewritten every minute for a few events.
"""
LOOK_SECONDS = 2.0

NEW = -1
"""The place of events that are in no segment yet."""
_NO_IDS = np.array([], dtype=np.int64)

log = structlog.get_logger()


@dataclass(frozen=True)
class DueRule:
    """When a day's changes are put into segments: with so many, or after so long."""

    many: int = MANY_CHANGES
    patience: timedelta = PATIENCE
    most_days: int = MOST_DAYS
    """The days that are built at once."""

    def values(self) -> dict[str, Any]:
        return {
            "many": self.many,
            "patience": self.patience,
            "patience_for_few": self.patience * FEW_WAIT_LONGER,
            "parts": MOST_PARTS,
            "counted": max(self.many, MOST_COUNTED),
            "most_days": self.most_days,
        }


AT_ONCE = DueRule(patience=timedelta())


@dataclass(frozen=True)
class Built:
    """The work of one step."""

    changes: int
    """Changes that are in segments now."""
    parts: int
    """Segments that were written for them."""


NOTHING = Built(0, 0)


def make_paths_duty(seconds: float = LOOK_SECONDS, due: DueRule | None = None) -> Duty:
    """Return the duty to keep the segments of all Spaces up with the changes. It looks for work
    every so many seconds, and while there is some as often as a look's share of time allows.
    """
    rule = due or DueRule()

    def waiting(connection: Connection[Any]) -> list[int]:
        query = queries["spaces_of_nodes" if is_cluster(connection) else "spaces"]
        return [space_id for (space_id,) in connection.execute(query, rule.values())]

    return Duty(waiting, Builder(rule).build_next, pause_seconds=seconds, name="paths")


class Builder:
    """Builds days of Spaces that are due, a few at a time. Those that it has found and not come to
    are built before it looks for others, as looking counts the changes of every day.
    """

    def __init__(self, due: DueRule = AT_ONCE) -> None:
        self._due = due
        self._due_days: dict[int, list[date]] = {}
        """By Space, the days that it has not come to; the next one last."""

    def build_next(self, connection: Connection[Any], space_id: int) -> bool:
        """Put some changes of the days that are due and have most of them into their segments, each
        day in a transaction of its own. Returns whether it took a day. Needs a connection without
        a transaction.
        """
        days = self._due_days.pop(space_id, None) or self._look(connection, space_id)
        changes = parts = 0
        took = False
        while days and changes < MOST_CHANGES and parts < MOST_PARTS:
            if (built := _build_day(connection, space_id, days.pop())) is not None:
                changes, parts, took = changes + built.changes, parts + built.parts, True
        if days:
            self._due_days[space_id] = days
        return took

    def _look(self, connection: Connection[Any], space_id: int) -> list[date]:
        values = {"space_id": space_id, **self._due.values()}
        days = [day for (day,) in connection.execute(queries["due_days"], values)]
        return days[::-1]


def build_next(connection: Connection[Any], space_id: int, due: DueRule = AT_ONCE) -> bool:
    """Do what a builder does that has found nothing yet."""
    return Builder(due).build_next(connection, space_id)


def _build_day(connection: Connection[Any], space_id: int, date: date) -> Built | None:
    """Build a day; None when another worker has it."""
    with connection.transaction():
        connection.execute(queries["snapshot"])
        day = _Day(connection, space_id, date)
        try:
            return day.build() if day.take() else None
        except DamagedSegment:
            log.warning("damaged path segment", space_id=space_id, day=str(date))
            return day.start_anew()


def choose(event_ids: IntArray, parts: Mapping[int, IntArray]) -> dict[int, IntArray]:
    """Return the events of some changes, the oldest first, that are to be taken now: ascending, by
    the segment that they are in, or NEW. `parts` has the events of each segment.
    """
    changed = np.unique(event_ids)
    waiting = {part: np.sort(ids[are_among(changed, ids)]) for part, ids in parts.items()}
    known = np.sort(np.concatenate([_NO_IDS, *waiting.values()]))
    waiting[NEW] = changed[~are_among(known, changed)][:MOST_CHANGES]
    oldest = event_ids[0]

    def rank(part: int) -> tuple[bool, int]:
        return oldest not in waiting[part], -len(waiting[part])

    taken: dict[int, IntArray] = {}
    for part in sorted((part for part, ids in waiting.items() if len(ids)), key=rank):
        if sum(map(len, taken.values())) >= MOST_CHANGES or len(taken) == MOST_PARTS:
            break
        taken[part] = waiting[part]
    return taken


def _some(paths: PathData, event_ids: IntArray) -> PathData:
    """Return the events with these ids, which are ascending, without the touches of others."""
    return paths.select(are_among(event_ids, paths[Column.EVENT_IDS])).without_unused()


class _Day:
    """A day of a Space whose segments are brought up to date, in a transaction."""

    def __init__(self, connection: Connection[Any], space_id: int, day: date) -> None:
        self._connection = connection
        self._cursor = connection.cursor(binary=True)
        self._values = {"space_id": space_id, "day": day}
        self._space_id = space_id
        self.day = day

    def take(self) -> bool:
        """Take the day; False when another worker has it."""
        return self._connection.execute(queries["take_day"], self._values).fetchone() == (True,)

    # A day of four segments, in which changes of many events wait. Segment 1 has the oldest of
    # them, 3 has most, and some events are new. What is taken is written in its place:
    #
    #     part          0       1       2       3      new
    #     changes       ▂       ▃       ▂       █       ▅
    #     taken                 ▃               █       ▅ ──▶ into 3, which has room, or a part 4
    #     left          ▂               ▂
    #
    # So however large the day is, and however evenly changes lie over it, they are taken as fast as
    # they come: the longer a segment waits, the more changes one writing of it is good for.

    def build(self) -> Built:
        """Bring some changes into the segments, if another worker has left any. Raises
        DamagedSegment.
        """
        noted = self._connection.execute(
            queries["changes"], self._values | {"limit": MOST_LOOKED_AT}
        ).fetchall()
        if not noted:
            return NOTHING
        numbers, event_ids = np.array(noted, dtype=np.int64).T
        parts = self._event_ids()
        taken = choose(event_ids, parts)
        every = np.sort(np.concatenate([*taken.values()]))
        count = self._put(taken, parts, self._live(every))
        self._connection.execute(segments.queries["write_day"], self._values | {"parts": count})
        done = {"ids": numbers[are_among(every, event_ids)].tolist()}
        self._connection.execute(queries["delete_changes"], self._values | done)
        return Built(len(done["ids"]), len(taken))

    def _put(self, taken: Mapping[int, IntArray], parts: Mapping[int, IntArray], fresh: PathData) -> int:
        """Write the segments of what was taken, whose paths are `fresh`, and return how many there
        are now.
        """
        new, last = _some(fresh, taken.get(NEW, _NO_IDS)), len(parts) - 1
        has_room = bool(parts) and len(parts[last]) + new.events <= MOST_EVENTS
        home = last if has_room else last + 1
        for part in {*taken, *([home] if new.events else [])} - {NEW}:
            ids = taken.get(part, _NO_IDS)
            kept = [self._read(part, without=ids)] if part in parts else []
            added = [new] if part == home else []
            self._write(part, PathData.join([*kept, _some(fresh, ids), *added]))
        return max(len(parts), home + 1 if new.events else 0)

    def start_anew(self) -> Built:
        """Drop the segments of the day, and note all its events as changed."""
        self._connection.execute(queries["delete_day"], self._values)
        self._connection.execute(segments.queries["write_day"], self._values | {"parts": 0})
        every = changes.queries["every_event"].format(only=OF_DAY)
        self._connection.execute(every, self._values)
        return NOTHING

    def _event_ids(self) -> dict[int, IntArray]:
        """Return the ids of the events in each part. Raises DamagedSegment when one is missing, or
        when the day was never known.
        """
        columns = (Column.EVENT_IDS,)
        values = self._values | {"first_day": self.day, "last_day": self.day, "days": [self.day]}
        rows = self._cursor.execute(read_query("read", columns), values).fetchall()
        parts = [unpacked(row, columns) for row in rows]
        known = self._connection.execute(segments.queries["days"], values).fetchone()
        if [segment.part for segment in parts] != list(range(known[1] if known else 0)):
            raise DamagedSegment
        if known is None and self._has_unnoted():
            raise DamagedSegment
        return {segment.part: segment.paths[Column.EVENT_IDS] for segment in parts}

    def _has_unnoted(self) -> bool:
        query = queries["has_unnoted"].format(of_day=OF_DAY)
        row = self._connection.execute(query, self._values).fetchone()
        return row is not None and row[0]

    def _live(self, event_ids: IntArray) -> PathData:
        values = live_values(self._space_id, event_ids=array(event_ids.tolist()))
        record = self._cursor.execute(live_paths(OF_IDS), values).fetchone()
        assert record is not None
        return assemble(record)

    def _read(self, part: int, *, without: IntArray) -> PathData:
        """Return the segment without some events, whose ids are ascending."""
        query = read_query("read_part", ALL_COLUMNS)
        record = self._cursor.execute(query, self._values | {"part": part}).fetchone()
        assert record is not None
        paths = unpacked(record, ALL_COLUMNS).paths
        return paths.select(~are_among(without, paths[Column.EVENT_IDS]))

    def _write(self, part: int, paths: PathData) -> None:
        segment = Segment(self.day, part, paths.without_unused())
        self._connection.execute(write_query(), write_values(self._space_id, segment))
