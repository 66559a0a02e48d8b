"""Alerts about deliveries that platforms refuse, and about conversions that have no identifier."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from headwater.alerts.rules import Rule
from tests.alerts.evaluator import NOW, WEEKS, Evaluator, noon, steps
from tests.alerts.evaluator import evaluator as evaluator  # noqa: PLC0414 # a fixture
from tests.alerts.evaluator import stage as stage  # noqa: PLC0414 # a fixture
from tests.support.factories import Stage


def deliver(stage: Stage, destination: int, start: datetime, end: datetime, **columns: Any) -> None:
    """Store twelve deliveries an hour."""
    stage.connection.execute(
        "INSERT INTO deliveries"
        " (space_id, destination_id, event_id, dedup_id, status, reason, kind, created_at)"
        " SELECT %s, %s, extract(epoch FROM at)::bigint, '', %s, %s, %s, at"
        " FROM generate_series(%s::timestamptz, %s::timestamptz - interval '1 second', '5 minutes') at",
        (
            stage.space_id,
            destination,
            columns["status"],
            columns.get("reason"),
            columns.get("kind", "conversion"),
            start,
            end,
        ),
    )


def test_it_works(evaluator: Evaluator, stage: Stage) -> None:
    """Google refuses events that it accepted two days ago: a delivery is not finished before its verdict."""
    destination = stage.destination(platform="google")
    deliver(stage, destination, NOW - WEEKS, noon(-48), status="counted")
    deliver(stage, destination, noon(-48), noon(2), status="delivered")
    evaluator.evaluate(noon(-1.9), noon(0.1))
    assert evaluator.notified_steps == []
    stage.connection.execute(
        "UPDATE deliveries SET status = 'refused' WHERE space_id = %s AND status = 'delivered'"
        " AND created_at < %s", (stage.space_id, noon(-30)),
    )  # fmt: skip
    evaluator.evaluate(noon(1.1))
    assert [(step.rule, step.subject) for step in evaluator.notified_steps] == [
        (Rule.DELIVERIES_FAILED, str(destination))
    ]
    assert evaluator.notified_steps[0].title.endswith("fail: 100% in 48 hours, usually 0% to 1%")


def test_conversions_without_identifiers(evaluator: Evaluator, stage: Stage) -> None:
    destination = stage.destination(platform="meta")
    deliver(stage, destination, NOW - WEEKS, noon(-4), status="delivered")
    deliver(stage, destination, noon(-4), noon(2), status="skipped", reason="no_identifier")
    evaluator.evaluate(noon(-5.9), noon(0.1))
    assert steps(evaluator.notified_steps) == [(Rule.IDENTIFIERS_MISSING, "opened")]
    assert evaluator.notified_steps[0].subject == str(destination)
    evaluator.evaluate(noon(0.9))
    assert len(evaluator.notified_steps) == 1


def test_corrections_without_identifiers_are_no_conversions(evaluator: Evaluator, stage: Stage) -> None:
    destination = stage.destination(platform="microsoft_offline")
    deliver(stage, destination, NOW - WEEKS, noon(2), status="delivered")
    columns = {"status": "skipped", "reason": "no_identifier", "kind": "correction"}
    deliver(stage, destination, noon(-4), noon(2), **columns)
    evaluator.evaluate(noon(-5.9), noon(0.1), noon(1.1))
    assert evaluator.notified_steps == []
