"""Merges are counted by Space and hour, and a burst of them causes an alert."""

from __future__ import annotations

import httpx
import psycopg
import pytest
import structlog

from headwater.intake.merging.merge_alerts import is_burst_beginning
from headwater.intake.pipeline.duty import make_pipeline_duty
from tests.conftest import Running
from tests.support.pipeline import Stage, event


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


def merge(stage: Stage, number: int) -> None:
    people = {"email": f"{number}@b.org"}, {"tracking_id": f"u{number}"}
    stage.put(event(**people[0]), event(**people[1]), event(**people[0], **people[1]))


def test_it_works(stage: Stage) -> None:
    attend = make_pipeline_duty(merge_alert=2).attend
    with structlog.testing.capture_logs() as logs:
        for number in range(4):
            merge(stage, number)
            assert attend(stage.connection, stage.space_id)
    bursts = [entry for entry in logs if entry["event"] == "merge_burst"]
    assert bursts == [
        {"event": "merge_burst", "log_level": "warning", "space_id": stage.space_id,
         "last_hour": 2, "threshold": 2}
    ]  # fmt: skip


def test_old_merges_do_not_count(stage: Stage) -> None:
    attend = make_pipeline_duty(merge_alert=2).attend
    with structlog.testing.capture_logs() as logs:
        for number in range(2):
            merge(stage, number)
            attend(stage.connection, stage.space_id)
            stage.connection.execute(
                "UPDATE merges SET merged_at = now() - interval '61 minutes' WHERE space_id = %s",
                (stage.space_id,),
            )
    assert not [entry for entry in logs if entry["event"] == "merge_burst"]


@pytest.mark.parametrize(
    ("recent_count", "new_count", "opens_alert"),
    [(9, 9, False), (10, 1, True), (10, 10, True), (11, 1, False), (30, 25, True), (30, 5, False)],
)
def test_a_burst_is_told_once(recent_count: int, new_count: int, *, opens_alert: bool) -> None:
    assert is_burst_beginning(recent_count, new_count, 10) is opens_alert


def test_metrics(stage: Stage, server: Running) -> None:
    merge(stage, 1)
    stage.process()
    text = httpx.get(f"{server.base_url}/metrics").text
    assert f'headwater_merges_last_hour{{space="{stage.space_id}"}} 1.0' in text
    assert "headwater_merge_bursts " in text
