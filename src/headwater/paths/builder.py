"""The duty that puts changed events into segments, some of a day at a time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import structlog
from psycopg import Connection

from headwater.cluster.presence import is_cluster
from headwater.database.bulk_values import array
from headwater.database.queries import Queries
from headwater.jobs.duties import Duty
from headwater.paths import changes, segments
from headwater.paths.live import OF_DAY, OF_IDS, assemble, live_paths, live_values
from headwater.paths.path_data import Column, IntArray, PathData
from headwater.paths.segments import (
    ALL_COLUMNS,
    MOST_EVENTS,
    DamagedSegment,
    Segment,
    read_query,
    unpacked,
    write_query,
    write_values,
)

queries = Queries(__name__, "builder.sql")

MOST_CHANGES = 10_000
"""The changes that are taken at once, as the worker has other duties."""
MANY_CHANGES = 500
"""A day with so many changes is due at once, any other after a while."""
PATIENCE = timedelta(seconds=60)
LOOK_SECONDS = 2.0

log = structlog.get_logger()


@dataclass(frozen=True)
class DueRule:
    """When a day's changes are put into segments: with so many, or after so long."""

    many: int = MANY_CHANGES
    patience: timedelta = PATIENCE

    def values(self) -> dict[str, Any]:
        return {"many": self.many, "patience": self.patience}


AT_ONCE = DueRule(many=1)


def make_paths_duty(seconds: float = LOOK_SECONDS, due: DueRule | None = None) -> Duty:
    """Return the duty to keep the segments of all Spaces up with the changes. It looks for work
    every so many seconds, and while there is some in every turn of the worker.
    """
    rule = due or DueRule()
    next_look = 0.0

    def waiting(connection: Connection[Any]) -> list[int]:
        nonlocal next_look
        if time.monotonic() < next_look:
            return []
        next_look = time.monotonic() + seconds
        query = queries["spaces_of_nodes" if is_cluster(connection) else "spaces"]
        return [space_id for (space_id,) in connection.execute(query, rule.values())]

    def attend(connection: Connection[Any], space_id: int) -> bool:
        nonlocal next_look
        worked = build_next(connection, space_id, rule)
        if worked:
            next_look = 0.0
        return worked

    return Duty(waiting, attend)


def build_next(connection: Connection[Any], space_id: int, due: DueRule = AT_ONCE) -> bool:
    """Put some changes of the latest day that is due into its segments. Returns whether there were
    any. Needs a connection without a transaction.
    """
    with connection.transaction():
        connection.execute(queries["snapshot"])
        values = {"space_id": space_id, **due.values()}
        row = connection.execute(queries["next_day"], values).fetchone()
        if row is None:
            return False
        day = _Day(connection, space_id, row[0])
        try:
            day.build()
        except DamagedSegment:
            log.warning("damaged path segment", space_id=space_id, day=str(day.day))
            day.start_anew()
    return True


class _Day:
    """A day of a Space whose segments are brought up to date, in a transaction."""

    def __init__(self, connection: Connection[Any], space_id: int, day: date) -> None:
        self._connection = connection
        self._cursor = connection.cursor(binary=True)
        self._values = {"space_id": space_id, "day": day}
        self._space_id = space_id
        self.day = day

    def build(self) -> None:
        """Bring some changes into the segments. Raises DamagedSegment."""
        limit = {"limit": MOST_CHANGES}
        noted = self._connection.execute(queries["changes"], self._values | limit).fetchall()
        changed = np.unique(np.array([event_id for _, event_id in noted], dtype=np.int64))
        parts = self._event_ids()
        fresh = self._live(changed)
        for part, ids in parts.items():
            kept = ~np.isin(ids, changed)
            room = MOST_EVENTS - int(np.count_nonzero(kept))
            last = part == len(parts) - 1
            if kept.all() and not (last and fresh.events and room >= fresh.events):
                continue
            paths = self._read(part).select(kept)
            if last and room >= fresh.events:
                paths, fresh = PathData.join([paths, fresh]), fresh.select(np.array([], dtype=int))
            self._write(part, paths)
        if fresh.events:
            self._write(len(parts), fresh)
        count = len(parts) + bool(fresh.events)
        day = self._values | {"parts": count}
        self._connection.execute(segments.queries["write_day"], day)
        ids = {"ids": [number for number, _ in noted]}
        self._connection.execute(queries["delete_changes"], self._values | ids)

    def start_anew(self) -> None:
        """Drop the segments of the day, and note all its events as changed."""
        self._connection.execute(queries["delete_day"], self._values)
        self._connection.execute(segments.queries["write_day"], self._values | {"parts": 0})
        every = changes.queries["every_event"].format(only=OF_DAY)
        self._connection.execute(every, self._values)

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

    def _read(self, part: int) -> PathData:
        query = read_query("read_part", ALL_COLUMNS)
        record = self._cursor.execute(query, self._values | {"part": part}).fetchone()
        assert record is not None
        return unpacked(record, ALL_COLUMNS).paths

    def _write(self, part: int, paths: PathData) -> None:
        segment = Segment(self.day, part, paths.without_unused())
        self._connection.execute(write_query(), write_values(self._space_id, segment))
