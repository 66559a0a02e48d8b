"""A Space with visits, touchpoints and orders, evaluated at given times."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from headwater.alerts.evaluation import AlertWatch
from headwater.alerts.history import AlertRow, AlertStep, list_history
from headwater.alerts.rules import Rule
from headwater.database.pool import Database
from tests.support.accounts import Accounts
from tests.support.factories import Stage
from tests.support.waiting import PATIENCE_SECONDS

NOW = datetime(2026, 5, 13, 12, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
WEEKS = timedelta(days=36)


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


class PatientDatabase(Database):
    """A database with a longer transaction timeout, for a machine that other tests keep busy."""

    @asynccontextmanager
    async def transaction(
        self, seconds: float = PATIENCE_SECONDS, *, heavy: bool = False
    ) -> AsyncGenerator[psycopg.AsyncConnection]:
        async with super().transaction(max(seconds, PATIENCE_SECONDS), heavy=heavy) as connection:
            yield connection


class Evaluator:
    """Evaluates a Space at given times."""

    def __init__(self, database_url: str, space_id: int, database: type[Database] = PatientDatabase) -> None:
        self._url, self._space_id, self._database = database_url, space_id, database
        self._accounts = Accounts(database_url)
        self.notified_steps: list[AlertStep] = []

    def evaluate(self, *moments: datetime, is_immediate: bool = True) -> list[AlertStep]:
        async def run() -> list[AlertStep]:
            async with self._database(self._url, 2) as database:
                watch = AlertWatch(database, self._notify, at_once=is_immediate)
                steps: list[AlertStep] = []
                for moment in moments:
                    steps += await watch.look(self._space_id, moment)
                return steps

        return self._accounts.run(lambda _: run())

    def history(self, *, is_open: bool) -> list[AlertRow]:
        return self._accounts.run(lambda c: list_history(c, self._space_id, is_open=is_open))

    async def _notify(self, _: Any, __: Any, steps: Sequence[AlertStep]) -> None:
        self.notified_steps += steps


@pytest.fixture
def evaluator(database_url: str, space_id: int) -> Evaluator:
    return Evaluator(database_url, space_id)


def visit(stage: Stage, start: datetime, end: datetime, hourly: int = 30) -> None:
    """Store `hourly` visits an hour."""
    contact = stage.contact()
    stage.connection.execute(
        "INSERT INTO visits (space_id, id, contact_id, device, started_at, last_hit_at)"
        " SELECT %s, nextval('receipt_ids'), %s, gen_random_uuid(), at, at"
        " FROM generate_series(%s::timestamptz, %s::timestamptz - interval '1 second', %s) at",
        (stage.space_id, contact, start, end, HOUR / hourly),
    )


def touchpoint(
    stage: Stage, start: datetime, end: datetime, hourly: int = 30, source: str = "google_ads"
) -> None:
    """Store `hourly` touchpoints an hour, as sent by a server."""
    stage.connection.execute(
        "INSERT INTO touchpoints (space_id, id, contact_id, source_id, source_rule, occurred_at)"
        " SELECT %s, nextval('receipt_ids'), %s, %s, 'test', at"
        " FROM generate_series(%s::timestamptz, %s::timestamptz - interval '1 second', %s) at",
        (stage.space_id, stage.contact(), stage.source_id(source), start, end, HOUR / hourly),
    )


def order(stage: Stage, start: datetime, end: datetime, hourly: int = 20, **columns: Any) -> None:
    """Store `hourly` orders an hour, all of one contact, by default one without a touchpoint."""
    contact = columns.get("contact") or stage.contact()
    stage.connection.execute(
        "INSERT INTO events (space_id, id, contact_id, event_name, event_time, received_at, amount,"
        " sender) SELECT %s, nextval('receipt_ids'), %s, 'purchase', at, at,"
        " 10 + (extract(epoch FROM at)::bigint / 60) %% 1000, %s"
        " FROM generate_series(%s::timestamptz, %s::timestamptz - interval '1 second', %s) at",
        (stage.space_id, contact, columns.get("sender", "api_key"), start, end, HOUR / hourly),
    )


def noon(hours: float) -> datetime:
    return NOW.replace(minute=0) + hours * HOUR


def steps(alert_steps: Sequence[AlertStep]) -> list[tuple[Rule, str]]:
    return [(step.rule, str(step.step)) for step in alert_steps]
