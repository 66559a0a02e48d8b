"""The background job that moves changed events into segments, some of a day at a time."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
import structlog
from msgspec import Struct
from psycopg import Connection
from psycopg.sql import SQL, Composed, Identifier, Placeholder

from headwater.attribution.paths import changes, segments
from headwater.attribution.paths.lookup import are_among
from headwater.attribution.paths.path_data import NO_NUMBERS, Column, IntArray, PathData, join_numbers
from headwater.attribution.paths.postings import make_postings
from headwater.attribution.paths.reader import (
    OF_DAY,
    OF_IDS,
    SEGMENTS_AT_ONCE,
    assemble,
    live_paths,
    live_values,
)
from headwater.attribution.paths.segments import (
    ALL_COLUMNS,
    MOST_EVENTS,
    DamagedSegment,
    Segment,
    pack,
    pack_amounts,
    read_query,
    unpacked,
)
from headwater.database.bulk_values import array
from headwater.database.cluster.presence import is_cluster
from headwater.database.jobs.duties import Duty
from headwater.database.queries import Queries, fetch_row

queries = Queries(__name__, "builder.sql")

MOST_CHANGES = 10_000
"""Approximate events per step: the worker has other jobs."""
MOST_PARTS = 8
"""Segments written per step."""
MOST_DAYS = 20
"""Days per step: finding due days takes longer than a small build."""
MAX_CANDIDATES = 100_000
"""Changes to select a step's from."""
MANY_CHANGES = 500
"""A day with this many changes per MOST_PARTS segments is due at once, others after a while."""
MOST_COUNTED = 10_000
"""A day's changes are counted only up to here, for speed."""
PATIENCE = timedelta(seconds=60)
FEW_WAIT_FACTOR = 10
"""The factor of the wait if a Space has fewer than MANY_CHANGES: reports read those from the tables in
milliseconds, while a segment would be rewritten every minute for a few events.
"""
LOOK_SECONDS = 2.0

NEW = -1
"""The part of events in no segment yet."""

log = structlog.get_logger()


class DueRule(Struct, frozen=True):
    """Days are due with this many changes, or one this old."""

    many_changes: int = MANY_CHANGES
    patience: timedelta = PATIENCE
    most_days: int = MOST_DAYS
    """Days built at once."""

    def values(self) -> dict[str, Any]:
        return {
            "many": self.many_changes,
            "patience": self.patience,
            "patience_for_few": self.patience * FEW_WAIT_FACTOR,
            "parts": MOST_PARTS,
            "counted": max(self.many_changes, MOST_COUNTED),
            "most_days": self.most_days,
        }


AT_ONCE = DueRule(patience=timedelta())


class BuildResult(Struct, frozen=True):
    changes: int
    parts: int


NOTHING = BuildResult(0, 0)


def make_paths_duty(seconds: float = LOOK_SECONDS, due: DueRule | None = None) -> Duty:
    """Return the job that keeps all Spaces' segments up to date. It polls every `seconds`, more often while
    there is work.
    """
    rule = due or DueRule()

    def waiting(connection: Connection[Any]) -> list[int]:
        query = queries["spaces_of_nodes" if is_cluster(connection) else "spaces"]
        return [space_id for (space_id,) in connection.execute(query, rule.values())]

    return Duty(waiting, Builder(rule).build_next, pause_seconds=seconds, name="paths")


class Builder:
    """Builds Spaces' due days, a few at a time. The others are kept, because finding them counts every day's
    changes.
    """

    def __init__(self, rule: DueRule = AT_ONCE) -> None:
        self._rule = rule
        self._due_days: dict[int, list[date]] = {}
        """By Space, the next day last."""

    def build_next(self, connection: Connection[Any], space_id: int) -> bool:
        """Move changes of the due days with most of them into segments, a transaction per day. Returns
        whether it took a day. Needs a connection without a transaction.
        """
        days = self._due_days.pop(space_id, None) or self._find_due_days(connection, space_id)
        changes = parts = 0
        has_built = False
        while days and changes < MOST_CHANGES and parts < MOST_PARTS:
            if (build_result := _build_day(connection, space_id, days.pop())) is not None:
                changes, parts, has_built = changes + build_result.changes, parts + build_result.parts, True
        if days:
            self._due_days[space_id] = days
        return has_built

    def _find_due_days(self, connection: Connection[Any], space_id: int) -> list[date]:
        values = {"space_id": space_id, **self._rule.values()}
        days = [day for (day,) in connection.execute(queries["due_days"], values)]
        return days[::-1]


def build_next(connection: Connection[Any], space_id: int, rule: DueRule = AT_ONCE) -> bool:
    return Builder(rule).build_next(connection, space_id)


def _build_day(connection: Connection[Any], space_id: int, date: date) -> BuildResult | None:
    """Build a day; None if another worker has it."""
    with connection.transaction():
        connection.execute(queries["snapshot"])
        day = _Day(connection, space_id, date)
        try:
            return day.build() if day.lock() else None
        except DamagedSegment:
            log.warning("damaged path segment", space_id=space_id, day=str(date))
            return day.reset()


def select_changes(event_ids: IntArray, parts: Mapping[int, IntArray]) -> dict[int, IntArray]:
    """Select the events to move now, ascending, by segment or NEW. `event_ids` are ordered by age of change;
    `parts` has each segment's events, or only its changed ones.
    """
    changed_ids = np.unique(event_ids)
    changes_by_part = {value: np.sort(ids[are_among(changed_ids, ids)]) for value, ids in parts.items()}
    known_ids = np.sort(join_numbers(changes_by_part.values()))
    changes_by_part[NEW] = changed_ids[~are_among(known_ids, changed_ids)][:MOST_CHANGES]
    oldest = event_ids[0]

    def rank(part_number: int) -> tuple[bool, int]:
        return oldest not in changes_by_part[part_number], -len(changes_by_part[part_number])

    selected_changes: dict[int, IntArray] = {}
    for value in sorted((value for value, ids in changes_by_part.items() if len(ids)), key=rank):
        if sum(map(len, selected_changes.values())) >= MOST_CHANGES or len(selected_changes) == MOST_PARTS:
            break
        selected_changes[value] = changes_by_part[value]
    return selected_changes


class _DayParts(Struct, frozen=True):
    """The segments of a day, without their events: a day may have millions."""

    sizes: list[int]
    """Each one's number of events."""
    changed_ids: dict[int, IntArray]
    """Each one's changed events."""


def _select_by_ids(paths: PathData, event_ids: IntArray) -> PathData:
    """Select ascending ids, without other touches."""
    return paths.select(are_among(event_ids, paths[Column.EVENT_IDS])).without_unused()


class _Day:
    def __init__(self, connection: Connection[Any], space_id: int, day: date) -> None:
        self._connection = connection
        self._cursor = connection.cursor(binary=True)
        self._values = {"space_id": space_id, "day": day}
        self._space_id = space_id
        self.day = day

    def lock(self) -> bool:
        """Lock the day; False if another worker has it."""
        return self._connection.execute(queries["take_day"], self._values).fetchone() == (True,)

    # A day of four segments with many waiting changes. Segment 1 has the oldest change, 3 has most, and some
    # events are new. Taken segments are rewritten in place:
    #
    #     part          0       1       2       3      new
    #     changes       ▂       ▃       ▂       █       ▅
    #     taken                 ▃               █       ▅ ──▶ into 3, which has room, or a part 4
    #     left          ▂               ▂
    #
    # So changes are moved as fast as they arrive, however large the day is and however they are spread: the
    # longer a segment waits, the more changes one rewrite includes.

    def build(self) -> BuildResult:
        """Move some changes into segments, unless another worker did. Raises DamagedSegment."""
        changes_rows = self._connection.execute(
            queries["changes"], self._values | {"limit": MAX_CANDIDATES}
        ).fetchall()
        if not changes_rows:
            return NOTHING
        numbers, event_ids = np.array(changes_rows, dtype=np.int64).T
        parts = self._read_parts(np.unique(event_ids))
        selected_changes = select_changes(event_ids, parts.changed_ids)
        all_ids = np.sort(join_numbers(selected_changes.values()))
        count = self._write_parts(selected_changes, parts.sizes, self._live(all_ids))
        self._connection.execute(segments.queries["write_day"], self._values | {"parts": count})
        processed_ids = {"ids": numbers[are_among(all_ids, event_ids)].tolist()}
        self._connection.execute(queries["delete_changes"], self._values | processed_ids)
        return BuildResult(len(processed_ids["ids"]), len(selected_changes))

    def _write_parts(
        self, selected: Mapping[int, IntArray], sizes: Sequence[int], current_paths: PathData
    ) -> int:
        """Write the segments of taken events and return their number. `sizes` has each segment's number of
        events.
        """
        new, count = _select_by_ids(current_paths, selected.get(NEW, NO_NUMBERS)), len(sizes)
        has_room = count > 0 and sizes[-1] + new.events <= MOST_EVENTS
        home = count - 1 if has_room else count
        for part_number in {*selected, *([home] if new.events else [])} - {NEW}:
            ids = selected.get(part_number, NO_NUMBERS)
            old_paths = [self._read_segment(part_number, omitted_ids=ids)] if part_number < count else []
            new_paths = [new] if part_number == home else []
            self._write_segment(
                part_number, PathData.join([*old_paths, _select_by_ids(current_paths, ids), *new_paths])
            )
        return max(count, home + 1 if new.events else 0)

    def reset(self) -> BuildResult:
        """Drop the segments, and record all events as changed."""
        self._connection.execute(queries["delete_day"], self._values)
        self._connection.execute(segments.queries["write_day"], self._values | {"parts": 0})
        statement = changes.queries["events"].format(condition=OF_DAY)
        self._connection.execute(statement, self._values)
        return NOTHING

    def _read_parts(self, changed_ids: IntArray) -> _DayParts:
        """Read the segments, a few at a time. Raises DamagedSegment if one is missing or the day was never
        recorded.
        """
        columns = (Column.EVENT_IDS,)
        values = self._values | {"first_day": self.day, "last_day": self.day, "days": [self.day]}
        parts = _DayParts([], {})
        with self._connection.cursor(name="parts", binary=True) as cursor:
            cursor.itersize = SEGMENTS_AT_ONCE
            for record in cursor.execute(read_query("read", columns), values):
                segment = unpacked(record, columns)
                if segment.part != len(parts.sizes):
                    raise DamagedSegment
                event_ids = segment.paths[Column.EVENT_IDS]
                parts.sizes.append(len(event_ids))
                parts.changed_ids[segment.part] = event_ids[are_among(changed_ids, event_ids)]
        recorded = self._connection.execute(segments.queries["days"], values).fetchone()
        if len(parts.sizes) != (recorded[1] if recorded else 0):
            raise DamagedSegment
        if recorded is None and self._has_unnoted():
            raise DamagedSegment
        return parts

    def _has_unnoted(self) -> bool:
        query = queries["has_unnoted"].format(of_day=OF_DAY)
        row = self._connection.execute(query, self._values).fetchone()
        return row is not None and row[0]

    def _live(self, event_ids: IntArray) -> PathData:
        values = live_values(self._space_id, event_ids=array(event_ids.tolist()))
        record = fetch_row(self._cursor, live_paths(OF_IDS), values)
        return assemble(record)

    def _read_segment(self, part_number: int, *, omitted_ids: IntArray) -> PathData:
        query = read_query("read_part", ALL_COLUMNS)
        record = fetch_row(self._cursor, query, self._values | {"part": part_number})
        paths = unpacked(record, ALL_COLUMNS).paths
        return paths.select(~are_among(omitted_ids, paths[Column.EVENT_IDS]))

    def _write_segment(self, part_number: int, paths: PathData) -> None:
        segment = Segment(self.day, part_number, paths.without_unused())
        self._connection.execute(write_query(), write_values(self._space_id, segment))


def write_query() -> Composed:
    """Store a segment; binds `write_values`."""
    return segments.queries["write"].format(
        names=SQL(", ").join(Identifier(column) for column in Column),
        values=SQL(", ").join(Placeholder(column) for column in Column),
        excluded=SQL(", ").join(Identifier("excluded", column) for column in Column),
    )


def write_values(space_id: int, segment: Segment) -> dict[str, Any]:
    """Return packed columns and postings for `write_query`."""
    paths = segment.paths
    packed_columns = {
        column: (pack_amounts if column is Column.AMOUNTS else pack)(paths[column]) for column in Column
    }
    postings = make_postings(paths)
    return {
        "space_id": space_id,
        "day": segment.day,
        "part": segment.part,
        "stamp": secrets.randbits(63),
        "events": paths.events,
        "touches": paths.touches,
        "event_names": list(paths.event_names),
        "bases": [column.base for column in packed_columns.values()],
        "checksums": [column.checksum for column in packed_columns.values()],
        "common_sources": postings.common_sources,
        "posted_sources": postings.sources,
        "posting_ends": postings.ends,
        "postings": postings.data,
        **{str(name): column.data for name, column in packed_columns.items()},
    }
