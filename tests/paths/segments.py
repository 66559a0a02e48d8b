"""Segments for tests: store events whose segments should be built, and read the built segments."""

from __future__ import annotations

from typing import Any

from headwater.attribution.paths.builder import build_next
from headwater.attribution.paths.changes import note_events
from headwater.attribution.paths.segments import ALL_COLUMNS, read_query, unpacked
from headwater.attribution.paths.upkeep import check_space
from tests.support.factories import Stage


def event(stage: Stage, contact_id: int, **columns: Any) -> int:
    event_id = stage.event(contact_id, **columns)
    note_events(stage.connection, stage.space_id, [event_id])
    return event_id


def build_all(stage: Stage) -> None:
    while build_next(stage.connection, stage.space_id):
        pass


def segments(stage: Stage) -> list[Any]:
    values = {"space_id": stage.space_id}
    cursor = stage.connection.cursor(binary=True)
    days = cursor.execute(
        "SELECT array_agg(DISTINCT day) FROM path_segments WHERE space_id = %(space_id)s", values
    ).fetchone()
    query = read_query("read", ALL_COLUMNS)
    rows = cursor.execute(query, values | {"days": days[0] if days else []}).fetchall()
    return [unpacked(row, ALL_COLUMNS) for row in rows]


def changes(stage: Stage) -> int:
    query = "SELECT count(*) FROM pending_paths WHERE space_id = %s"
    row = stage.connection.execute(query, (stage.space_id,)).fetchone()
    assert row is not None
    return row[0]


def check_totals(stage: Stage) -> tuple[int, int, int]:
    days = list(check_space(stage.connection, stage.space_id))
    return (
        sum(day.events for day in days), sum(day.wrong for day in days),
        sum(day.damaged for day in days),
    )  # fmt: skip
