"""Compare segments with the tables, and rebuild them: for operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from psycopg import Connection, Cursor
from psycopg.errors import SerializationFailure
from psycopg.sql import SQL

from headwater.attribution.paths import changes
from headwater.attribution.paths.builder import Builder
from headwater.attribution.paths.builder import queries as builder_queries
from headwater.attribution.paths.path_data import (
    EVENT_COLUMNS,
    NO_NUMBERS,
    TOUCH_COLUMNS,
    Column,
    IntArray,
    PathData,
    read_numbers,
)
from headwater.attribution.paths.postings import make_postings
from headwater.attribution.paths.reader import OF_DAY, assemble, live_paths, live_values
from headwater.attribution.paths.segments import (
    ALL_COLUMNS,
    DamagedSegment,
    Segment,
    queries,
    read_query,
    unpacked,
)
from headwater.database.queries import fetch_row


@dataclass(frozen=True)
class DayReport:
    day: date
    """In UTC."""
    events: int
    pending: int
    """Existing or deleted events that reports read from tables until built."""
    wrong: int
    """Events that differ between segments and tables, or are in only one, without being pending: reports
    would be wrong.
    """
    damaged: bool
    """Segments or postings are damaged or missing: the whole day is read from the tables."""


def check_space(connection: Connection[Any], space_id: int) -> Iterator[DayReport]:
    """Compare a Space's segments with its tables, day by day. Needs a connection without a transaction."""
    with connection.transaction():
        connection.execute(builder_queries["snapshot"])
        for (day,) in connection.execute(queries["all_days"], {"space_id": space_id}).fetchall():
            report = _check_day(connection, space_id, day)
            if report.events or report.wrong or report.damaged:
                yield report


def rebuild_space(connection: Connection[Any], space_id: int) -> Iterator[None]:
    """Drop and rebuild a Space's segments; yields after every step. Reports stay correct, and workers may
    build too, and have the changes made meanwhile. Needs a connection without a transaction.
    """
    while not _unless_forestalled(forget_space, connection, space_id):
        pass
    (newest,) = fetch_row(connection, queries["newest_pending"], {"space_id": space_id})
    values = {"space_id": space_id, "newest": newest}
    build_next = Builder().build_next
    while (
        connection.execute(queries["any_pending"], values).fetchone() is not None
        and (has_built := _unless_forestalled(build_next, connection, space_id)) is not False
    ):
        if has_built:
            yield


def _unless_forestalled(
    work: Callable[[Connection[Any], int], bool], connection: Connection[Any], space_id: int
) -> bool | None:
    """Return the result; None if a worker came first and nothing was done."""
    try:
        return work(connection, space_id)
    except SerializationFailure:
        return None


def forget_space(connection: Connection[Any], space_id: int) -> bool:
    """Record all events as changed. Returns True."""
    values = {"space_id": space_id}
    with connection.transaction():
        for name in ("delete_all", "delete_days", "delete_pending"):
            connection.execute(queries[name], values)
        statement = changes.queries["events"].format(condition=SQL("true"))
        connection.execute(statement, values)
    return True


def _check_day(connection: Connection[Any], space_id: int, day: date) -> DayReport:
    cursor = connection.cursor(binary=True)
    span = {"space_id": space_id, "first_day": day, "last_day": day, "days": [day]}
    record = fetch_row(cursor, live_paths(OF_DAY), live_values(space_id, day=day))
    live_data = assemble(record)
    pending_row = cursor.execute(queries["pending"], span).fetchone()
    pending = np.unique(read_numbers(pending_row[1] if pending_row else None))
    stored_row = connection.execute(queries["days"], span).fetchone()
    rows = cursor.execute(read_query("read", ALL_COLUMNS), span).fetchall()
    try:
        segments = [unpacked(row, ALL_COLUMNS) for row in rows]
    except DamagedSegment:
        segments = []
    is_unnoted = ~np.isin(live_data[Column.EVENT_IDS], pending)
    is_incomplete = len(segments) != (stored_row[1] if stored_row else 0) or (
        stored_row is None and is_unnoted.any()
    )
    if is_incomplete or not _have_right_postings(cursor, span, segments):
        return DayReport(day, live_data.events, len(pending), 0, damaged=True)
    stored_data = PathData.join([live_data.select(NO_NUMBERS), *(segment.paths for segment in segments)])
    wrong_count = _differences(stored_data, live_data, pending)
    return DayReport(day, live_data.events, len(pending), wrong_count, damaged=False)


def _have_right_postings(cursor: Cursor[Any], span: dict[str, Any], segments: list[Segment]) -> bool:
    rows = cursor.execute(queries["postings"], span).fetchall()
    for segment, stored_row in zip(segments, rows, strict=True):
        postings = make_postings(segment.paths)
        if stored_row != (postings.common_sources, postings.sources, postings.ends, postings.data):
            return False
    return True


def _differences(stored: PathData, live: PathData, pending: IntArray) -> int:
    """Count the differing events, except pending ones."""
    stored_rows, live_rows = (
        _written(paths.select(~np.isin(paths[Column.EVENT_IDS], pending))) for paths in (stored, live)
    )
    ids = {event_id for event_id, _ in stored_rows} | {event_id for event_id, _ in live_rows}
    equal_ids = {event_id for event_id, _ in set(stored_rows) & set(live_rows)}
    return len(ids - equal_ids) + len(stored_rows) - len({event_id for event_id, _ in stored_rows})


def _written(paths: PathData) -> list[tuple[int, tuple[Any, ...]]]:
    """Return each event with everything a report could read."""
    events = {
        column: paths[column].tolist()
        for column in EVENT_COLUMNS
        if column not in (Column.STARTS, Column.NAMES)
    }
    places: list[int] = paths[Column.NAMES].tolist()
    names = [paths.event_names[row] for row in places]
    starts: list[int] = paths[Column.STARTS].tolist()
    touch_columns: list[list[int]] = [paths[column].tolist() for column in TOUCH_COLUMNS]
    touches = list(zip(*touch_columns, strict=True))
    return [
        (
            event_id,
            (
                names[index],
                *(values[index] for values in events.values()),
                *touches[starts[index] : starts[index] + events[Column.LENGTHS][index]],
            ),
        )
        for index, event_id in enumerate(events[Column.EVENT_IDS])
    ]
