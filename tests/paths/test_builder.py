"""Segments built from changes: their content, their growth, and the handling of damaged ones."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from itertools import islice

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.attribution.paths import builder
from headwater.attribution.paths.builder import NEW, build_next, select_changes
from headwater.attribution.paths.changes import note_events
from headwater.attribution.paths.path_data import Column
from headwater.attribution.paths.upkeep import check_space, forget_space, rebuild_space
from headwater.database.jobs.connection import connect
from headwater.sources.catalogue import SOURCES
from tests.paths.segments import build_all, changes, check_totals, event, segments
from tests.support.factories import NOON, Stage

HOUR = timedelta(hours=1)


def test_it_works(stage: Stage) -> None:
    contact_id = stage.contact()
    for hours, source in ((40 * 24, "email"), (2, "google_ads"), (1, "direct")):
        stage.touchpoint(contact_id, source, occurred_at=NOON - hours * HOUR)
    event(stage, contact_id, amount=Decimal("12.5"))
    event(stage, contact_id, event_time=NOON - 2 * HOUR)
    build_all(stage)
    (segment,) = segments(stage)
    paths = segment.paths
    assert (segment.day, paths.events, paths.touches) == (NOON.date(), 2, 3)
    assert paths[Column.AMOUNTS].tolist()[1] == 125_000
    assert list(zip(paths[Column.STARTS], paths[Column.LENGTHS], strict=True)) == [(0, 2), (0, 3)]
    assert paths[Column.OLDER_30].tolist() == [1, 1]
    assert paths[Column.OLDER_60].tolist() == [0, 0]
    assert changes(stage) == 0
    assert check_totals(stage) == (2, 0, 0)


def test_more_events_of_a_day_join_its_segment(stage: Stage) -> None:
    for _ in range(3):
        event(stage, stage.contact())
        build_all(stage)
    assert [segment.paths.events for segment in segments(stage)] == [3]


def test_a_full_segment_is_followed_by_another(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "MOST_EVENTS", 2)
    for _ in range(5):
        event(stage, stage.contact())
        build_all(stage)
    assert [segment.paths.events for segment in segments(stage)] == [2, 2, 1]
    assert check_totals(stage) == (5, 0, 0)


def test_changes_all_over_a_large_day_are_taken_some_segments_at_a_time(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "MOST_EVENTS", 2)
    monkeypatch.setattr(builder, "MOST_PARTS", 2)
    events: list[int] = []
    for _ in range(9):
        events.append(event(stage, stage.contact()))
        build_all(stage)
    before = [segment.paths[Column.EVENT_IDS].tolist() for segment in segments(stage)]
    stage.connection.execute("UPDATE events SET amount = 2 WHERE id = ANY(%s)", (events,))
    note_events(stage.connection, stage.space_id, events)
    new = event(stage, stage.contact())
    for remaining_changes in (6, 2, 0):
        assert build_next(stage.connection, stage.space_id)
        assert changes(stage) == remaining_changes
        assert check_totals(stage) == (10, 0, 0)
    after = [segment.paths[Column.EVENT_IDS].tolist() for segment in segments(stage)]
    assert after == [*before[:-1], [*before[-1], new]]


def test_a_check_ignores_what_changes_meanwhile(stage: Stage, database_url: str) -> None:
    for days in (1, 0):
        latest = event(stage, stage.contact(), event_time=NOON - days * timedelta(days=1))
    build_all(stage)
    days = check_space(stage.connection, stage.space_id)
    assert next(days).day == (NOON - timedelta(days=1)).date()
    with connect(database_url) as other_connection:
        other_connection.execute("UPDATE events SET amount = 7 WHERE id = %s", (latest,))
    assert [(day.day, day.events, day.wrong) for day in days] == [(NOON.date(), 1, 0)]
    assert check_totals(stage) == (2, 1, 0)


IDS = st.integers(1, 30)


@given(
    change_ids=st.lists(IDS, min_size=1, max_size=40),
    parts=st.lists(st.lists(IDS, unique=True, max_size=5), max_size=6),
    most_changes=st.integers(1, 9), most_parts=st.integers(1, 4),
)  # fmt: skip
def test_whatever_is_chosen_all_changes_are_taken_in_the_end(
    change_ids: list[int], parts: list[list[int]], most_changes: int, most_parts: int
) -> None:
    seen_numbers: set[int] = set()
    for segment in parts:
        segment[:] = [number for number in segment if number not in seen_numbers]
        seen_numbers.update(segment)
    columns = {index: np.array(ids, dtype=np.int64) for index, ids in enumerate(parts)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "MOST_CHANGES", most_changes)
        patch.setattr(builder, "MOST_PARTS", most_parts)
        while change_ids:
            selection = select_changes(np.array(change_ids, dtype=np.int64), columns)
            assert 0 < len(selection) <= most_parts
            for segment, ids in selection.items():
                assert set(ids.tolist()) <= set(change_ids)
                if segment == NEW:
                    assert seen_numbers.isdisjoint(ids.tolist())
                    assert len(ids) <= most_changes
                else:
                    assert set(ids.tolist()) == set(parts[segment]) & set(change_ids)
            selected_numbers = {number for ids in selection.values() for number in ids.tolist()}
            assert selected_numbers
            change_ids = [number for number in change_ids if number not in selected_numbers]


def test_an_event_that_went_leaves_its_segment(stage: Stage) -> None:
    remaining_id, deleted_id = event(stage, stage.contact()), event(stage, stage.contact())
    build_all(stage)
    note_events(stage.connection, stage.space_id, [deleted_id])
    stage.connection.execute("DELETE FROM events WHERE id = %s", (deleted_id,))
    assert check_totals(stage) == (1, 0, 0)
    build_all(stage)
    (segment,) = segments(stage)
    assert segment.paths[Column.EVENT_IDS].tolist() == [remaining_id]
    assert check_totals(stage) == (1, 0, 0)


def test_a_change_that_was_not_noted_is_told_by_the_check(stage: Stage) -> None:
    event_id = event(stage, stage.contact(), amount=Decimal(1))
    build_all(stage)
    stage.connection.execute("UPDATE events SET amount = 2 WHERE id = %s", (event_id,))
    assert check_totals(stage) == (1, 1, 0)


def test_a_change_during_the_building_is_not_lost(database_url: str, stage: Stage) -> None:
    event_id = event(stage, stage.contact())
    with connect(database_url) as other_connection, other_connection.transaction():
        note_events(other_connection, stage.space_id, [event_id])
        build_all(stage)
    assert changes(stage) == 1


@pytest.mark.parametrize(
    "damage",
    ["UPDATE path_segments SET seconds = seconds || '\\x00'::bytea WHERE space_id = %s",
     "UPDATE path_segments SET bases[5] = bases[5] + 1 WHERE space_id = %s",
     "DELETE FROM path_segments WHERE space_id = %s"],
)  # fmt: skip
def test_damaged_segments_are_made_anew(stage: Stage, damage: str) -> None:
    contact_id = stage.contact()
    for hours in range(3):
        event(stage, contact_id, event_time=NOON - hours * HOUR)
    build_all(stage)
    stage.connection.execute(damage.encode(), (stage.space_id,))
    assert check_totals(stage) == (3, 0, 1)
    event(stage, contact_id)
    build_all(stage)
    assert check_totals(stage) == (4, 0, 0)


def test_a_day_that_lost_all_that_was_derived_is_made_anew(stage: Stage) -> None:
    for _ in range(3):
        event(stage, stage.contact())
    build_all(stage)
    for table in ("path_segments", "path_days"):
        stage.connection.execute(f"DELETE FROM {table} WHERE space_id = %s", (stage.space_id,))
    assert check_totals(stage) == (3, 0, 1)
    event(stage, stage.contact())
    build_all(stage)
    assert check_totals(stage) == (4, 0, 0)


def test_rebuilding_makes_the_same(stage: Stage) -> None:
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "email")
    for day in range(4):
        event(stage, contact_id, event_time=NOON + day * 24 * HOUR)
    build_all(stage)
    before = [segment.paths[Column.EVENT_IDS].tolist() for segment in segments(stage)]
    assert len(list(rebuild_space(stage.connection, stage.space_id))) == 1
    after = [segment.paths[Column.EVENT_IDS].tolist() for segment in segments(stage)]
    assert after == before
    assert check_totals(stage) == (4, 0, 0)


def test_rebuilding_ends_while_events_arrive(stage: Stage) -> None:
    contact_id = stage.contact()
    event(stage, contact_id)
    for _ in islice(rebuild_space(stage.connection, stage.space_id), 5):
        event(stage, contact_id)
    assert (check_totals(stage), changes(stage)) == ((2, 0, 0), 1)


def test_postings_are_made_with_a_segment(stage: Stage) -> None:
    contact_id = stage.contact()
    for hours, source in ((3, "email"), (2, "google_ads")):
        stage.touchpoint(contact_id, source, occurred_at=NOON - hours * HOUR)
    event(stage, contact_id)
    build_all(stage)
    assert posted_sources(stage) == [["google_ads", "email"]]
    event(stage, contact_id)
    flipped = "set_byte(postings, 9, get_byte(postings, 9) # 1)"
    damage = f"UPDATE path_segments SET postings = {flipped} WHERE space_id = %s"
    stage.connection.execute(damage, (stage.space_id,))
    assert check_totals(stage) == (2, 0, 1)
    build_all(stage)
    assert check_totals(stage) == (2, 0, 0)


def posted_sources(stage: Stage) -> list[list[str]]:
    """Return the sources with postings, segment by segment."""
    query = "SELECT posted_sources FROM path_segments WHERE space_id = %s ORDER BY day, part"
    rows = stage.connection.execute(query, (stage.space_id,)).fetchall()
    return [[SOURCES[number - 1] for number in sources] for (sources,) in rows]


def test_two_workers_never_write_a_day_from_two_moments(database_url: str, stage: Stage) -> None:
    event(stage, stage.contact())
    with connect(database_url) as other_connection, other_connection.transaction():
        other_connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        # This takes the snapshot of the Space on its node of a cluster.
        other_connection.execute("SELECT FROM pending_paths WHERE space_id = %s", (stage.space_id,))
        build_all(stage)
        with pytest.raises(psycopg.errors.SerializationFailure), other_connection.transaction():
            other_connection.execute("DELETE FROM pending_paths WHERE space_id = %s", (stage.space_id,))
    assert check_totals(stage) == (1, 0, 0)


def test_forgetting_notes_every_event(stage: Stage) -> None:
    event(stage, stage.contact())
    build_all(stage)
    forget_space(stage.connection, stage.space_id)
    assert segments(stage) == []
    assert changes(stage) == 1
    assert check_totals(stage) == (1, 0, 0)


def test_a_path_that_ends_past_the_widest_start_is_kept(stage: Stage) -> None:
    """Starts fit one byte here, but the end of the last path does not."""
    leaving_contact, many, few = stage.contact(), stage.contact(), stage.contact()
    for number in range(255):
        stage.touchpoint(many, "email", occurred_at=NOON - HOUR - timedelta(seconds=number))
    for number in range(5):
        stage.touchpoint(few, "direct", occurred_at=NOON - HOUR - timedelta(seconds=number))
    for contact_id in (many, few):
        event(stage, contact_id)
    leaving_event = event(stage, leaving_contact)
    build_all(stage)
    note_events(stage.connection, stage.space_id, [leaving_event])
    stage.connection.execute("DELETE FROM events WHERE id = %s", (leaving_event,))
    build_all(stage)
    assert check_totals(stage) == (2, 0, 0)
