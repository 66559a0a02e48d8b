"""Which days are built, and how many together."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from headwater.attribution.paths import builder
from headwater.attribution.paths.builder import Builder, DueRule, build_next, make_paths_duty
from headwater.database.jobs.connection import connect
from tests.paths.segments import changes, check_totals, event, segments
from tests.support.factories import NOON, Stage

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(("limit", "segment_count"), [("MOST_CHANGES", 2), ("MOST_PARTS", 2)])
def test_it_works(stage: Stage, monkeypatch: pytest.MonkeyPatch, limit: str, segment_count: int) -> None:
    for days in range(5):
        event(stage, stage.contact(), event_time=NOON - days * 24 * HOUR)
    with monkeypatch.context() as patch:
        patch.setattr(builder, limit, segment_count)
        assert build_next(stage.connection, stage.space_id)
    assert len(segments(stage)) == segment_count
    assert changes(stage) == 5 - segment_count
    assert build_next(stage.connection, stage.space_id)
    assert check_totals(stage) == (5, 0, 0)
    assert not build_next(stage.connection, stage.space_id)


def test_few_changes_wait_a_while(stage: Stage) -> None:
    forget_others(stage)
    patient = DueRule(many_changes=3, patience=timedelta(hours=1))
    event(stage, stage.contact())
    assert not build_next(stage.connection, stage.space_id, patient)
    assert not is_due(stage, patient)
    for _ in range(2):
        event(stage, stage.contact())
    assert is_due(stage, patient)
    assert build_next(stage.connection, stage.space_id, patient)
    assert not is_due(stage, patient)


@pytest.mark.parametrize(
    ("waiting", "minutes", "is_expected"), [(2, 61, False), (2, 599, False), (2, 601, True), (4, 61, True)]
)
def test_the_fewer_wait_in_a_space_the_longer_they_wait(
    stage: Stage, waiting: int, minutes: int, is_expected: bool
) -> None:
    forget_others(stage)
    patient = DueRule(many_changes=3, patience=timedelta(hours=1))
    for days in range(waiting):
        event(stage, stage.contact(), event_time=NOON - days * 24 * HOUR)
    stage.connection.execute(
        "UPDATE pending_paths SET changed_at = now() - %s WHERE space_id = %s",
        (timedelta(minutes=minutes), stage.space_id),
    )
    assert is_due(stage, patient) == is_expected
    assert build_next(stage.connection, stage.space_id, patient) == is_expected


def test_days_that_were_found_are_built_before_others_are_looked_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "MOST_CHANGES", 2)
    for days in range(5):
        event(stage, stage.contact(), event_time=NOON - days * 24 * HOUR)
    worker = Builder()
    assert worker.build_next(stage.connection, stage.space_id)
    for _ in range(2):  # now the most changes, but not when the days were found
        event(stage, stage.contact(), event_time=NOON - 9 * 24 * HOUR)
    assert worker.build_next(stage.connection, stage.space_id)
    assert worker.build_next(stage.connection, stage.space_id)
    assert changes(stage) == 2
    assert worker.build_next(stage.connection, stage.space_id)
    assert check_totals(stage) == (7, 0, 0)
    assert not worker.build_next(stage.connection, stage.space_id)


def forget_others(stage: Stage) -> None:
    """Remove the pending paths of other Spaces, because only some due Spaces are found at a time."""
    stage.connection.execute("DELETE FROM pending_paths")


def is_due(stage: Stage, rule: DueRule) -> bool:
    """Return whether the background task finds the Space."""
    return stage.space_id in make_paths_duty(0, rule).waiting(stage.connection)


@pytest.mark.parametrize(("day_before_events", "first_day"), [(3, 0), (4, 1)])
def test_the_day_with_most_changes_is_first_and_of_equal_ones_the_latest(
    stage: Stage, day_before_events: int, first_day: int
) -> None:
    days = [NOON.date(), (NOON - 24 * HOUR).date()]
    for _ in range(2):
        event(stage, stage.contact())
    for _ in range(day_before_events):
        event(stage, stage.contact(), event_time=NOON - 24 * HOUR)
    assert build_next(stage.connection, stage.space_id, DueRule(patience=timedelta(), most_days=1))
    assert [segment.day for segment in segments(stage)] == [days[first_day]]


def test_a_day_that_another_worker_builds_is_left_to_it(database_url: str, stage: Stage) -> None:
    for days in range(2):
        event(stage, stage.contact(), event_time=NOON - days * 24 * HOUR)
    with connect(database_url) as other_connection, other_connection.transaction():
        values = {"space_id": stage.space_id, "day": NOON.date()}
        assert other_connection.execute(builder.queries["take_day"], values).fetchone() == (True,)
        assert build_next(stage.connection, stage.space_id)
        assert [segment.day for segment in segments(stage)] == [(NOON - 24 * HOUR).date()]
        assert not build_next(stage.connection, stage.space_id)
    assert build_next(stage.connection, stage.space_id)
    assert check_totals(stage) == (2, 0, 0)


def test_a_day_that_another_worker_has_built_meanwhile_is_passed(
    database_url: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for days in range(2):
        event(stage, stage.contact(), event_time=NOON - days * 24 * HOUR)
    build_day = builder._build_day
    with connect(database_url) as other_connection:

        def build_after_another(connection: psycopg.Connection, *day: Any) -> builder.BuildResult | None:
            build_day(other_connection, *day)
            return build_day(connection, *day)

        monkeypatch.setattr(builder, "_build_day", build_after_another)
        assert build_next(stage.connection, stage.space_id)
    assert changes(stage) == 0
    assert check_totals(stage) == (2, 0, 0)


def test_the_changes_of_another_space_are_not_read(stage: Stage) -> None:
    """A Space with few changes on each of its days stands next to one with many."""
    forget_others(stage)
    rule = DueRule()
    with stage.connection.transaction(force_rollback=True):
        stage.connection.execute(
            "INSERT INTO pending_paths (space_id, day, event_id)"
            " SELECT %s, date '2025-01-01', number FROM generate_series(1, 30000) number",
            (stage.space_id + 1,),
        )
        stage.connection.execute("ANALYZE pending_paths")  # as if every change were the other Space's
        stage.connection.execute(
            "INSERT INTO pending_paths (space_id, day, event_id)"
            " SELECT %s, date '2025-01-01' + number, number FROM generate_series(1, 20) number",
            (stage.space_id,),
        )
        before = count_read(stage)
        values = rule.values() | {"space_id": stage.space_id}
        for name in ("spaces", "due_days"):
            stage.connection.execute(builder.queries[name], values).fetchall()
        assert count_read(stage) - before < 20_000


def count_read(stage: Stage) -> int:
    """Return how many changes this transaction has read."""
    row = stage.connection.execute(
        "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'pending_paths'"
    ).fetchone()
    assert row is not None
    return row[0]
