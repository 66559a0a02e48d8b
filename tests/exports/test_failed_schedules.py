"""Runs of scheduled exports that fail: what they say, and what the next run does."""

from __future__ import annotations

import asyncio

import psycopg

from headwater.alerts.problems import Alert, list_problems
from tests.exports.test_export_schedules import (
    PLAIN,
    YESTERDAY,
    moment,
    run,
    run_until_failed,
    runs,
    schedule,
)
from tests.support.exports import Exports
from tests.support.factories import Stage


def test_a_run_that_failed_says_why_and_is_tried_with_the_next(stage: Stage, exports: Exports) -> None:
    for _ in range(300):
        stage.event(stage.contact(), event_time=moment(YESTERDAY), order_name="x" * 200)
    export_schedule = schedule(
        exports, table="events", start_date=f"{YESTERDAY}", fields=["order_name"], **PLAIN
    )
    run_until_failed(stage, exports, 10_000)
    (state,) = exports.api.get("/exports/schedules").json()["data"]
    assert (state["failed"], state["waiting"]) == (1, 0)
    assert "space left" in state["message"]
    assert "space left" in runs(exports, export_schedule["id"])[0]["message"]
    titles = [alert.title for alert in asyncio.run(_alerts(exports.url, stage.space_id))]
    assert titles == ["1 folder of scheduled exports could not be written"]
    run(stage, exports)
    (state,) = exports.api.get("/exports/schedules").json()["data"]
    assert (state["failed"], state["message"]) == (0, None)


def test_a_run_without_a_trained_model_says_how_to_train_one(stage: Stage, exports: Exports) -> None:
    selection = {"sources": ["email"], "event_names": ["purchase"], "attribution_window": 30}
    export_schedule = schedule(
        exports, table="events", start_date=f"{YESTERDAY}", attribution_model="markov", **selection, **PLAIN
    )
    run(stage, exports)
    request = {"whole_range": True, "attribution_model": "markov", **selection}
    refusal = exports.api.send("POST", "/events/exports", json=request)
    assert refusal.status_code == 422
    assert runs(exports, export_schedule["id"])[0]["message"] == refusal.json()["message"]


async def _alerts(url: str, space_id: int) -> list[Alert]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        return await list_problems(connection, space_id)
