"""Rows that cannot be processed: set aside individually, listed, and replayed."""

from __future__ import annotations

import json
import secrets
from typing import Any

import psycopg
import pytest

from headwater.database.jobs.connection import connect
from headwater.intake.inbox.queue import delete_rows, wait_until_processed
from headwater.intake.inbox.rejected import list_rejected, reject_rows, replay_rejected
from headwater.intake.inbox.rows import Rejection, RejectReason
from headwater.intake.pipeline.batch_runner import process_space
from tests.support.pipeline import Stage, drain, event

POISON = event(email="secret@acme.com", amount="secret")


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


@pytest.mark.parametrize("index", [0, 3, 6])
def test_a_poison_row_is_rejected_alone(stage: Stage, index: int) -> None:
    events = [event(email=f"{n}@acme.com", order_id=str(n)) for n in range(6)]
    receipts = stage.put(*events[:index], POISON, *events[index:])
    result = process_space(stage.connection, stage.space_id)
    assert (result.stored, result.rejected) == (6, 1)
    assert stage.values("inbox", "id") == []
    assert stage.values("rejected", "id") == [receipts[index]]
    assert len(stage.values("events", "id")) == 6


def test_the_reason_is_typed_and_holds_nothing_of_the_row(stage: Stage) -> None:
    stage.put(POISON)
    broken_id = stage.put_row("event", '{"email": "secret@acme.com", "event_name": 1}')
    half = stage.put_row("event", '{"email": "secret')
    unknown_id = stage.put_row("visit", "{}")
    stage.process()
    rows = {row[0]: row[1:] for row in stage.rows("rejected", "id", "reason", "detail")}
    assert rows[stage.receipts[0]][0] == "processing_error"
    assert rows[broken_id] == ("unreadable_payload", "ValidationError")
    assert rows[half] == ("unreadable_payload", "DecodeError")
    assert rows[unknown_id][0] == "unknown_kind"
    assert not any("secret" in detail for _, detail in rows.values())


def test_a_value_too_long_for_an_index_blocks_no_other_row(stage: Stage) -> None:
    """Unlike other operational errors, it returns at each attempt."""
    payload = {"order_ids": [secrets.token_hex(6000)], "at": 1, "statements": [{"amount": "5"}]}
    receipt = stage.put_row("refund", json.dumps(payload))
    stage.put(event(email="a@b.org"))
    result = process_space(stage.connection, stage.space_id)
    assert (result.stored, result.rejected) == (1, 1)
    assert stage.values("rejected", "id") == [receipt]


def test_a_row_that_breaks_python_is_rejected_too(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object, **__: object) -> None:
        raise KeyError("secret")

    monkeypatch.setattr("headwater.people.contacts.profiles.Profile.set_fields", explode)
    stage.put(event(email="a@b.org", profile_fields={1: "x"}), event(email="b@b.org"))
    assert stage.process().rejected == 1
    assert stage.values("rejected", "detail") == ["KeyError in explode"]


def test_replay_puts_rows_back_under_their_ids(stage: Stage) -> None:
    [receipt] = stage.put(POISON)
    stage.process()
    [rejected_row] = [row for row in list_rejected(stage.connection) if row.space_id == stage.space_id]
    assert (rejected_row.id, rejected_row.kind) == (receipt, "event")
    assert replay_rejected(stage.connection, stage.space_id) == 1
    assert stage.values("inbox", "id") == [receipt]
    stage.connection.execute(
        "UPDATE inbox SET payload = replace(payload, '\"secret\"', '\"7\"') WHERE space_id = %s",
        (stage.space_id,),
    )
    assert stage.process().stored == 1
    assert stage.values("rejected", "id") == []
    assert stage.values("events", "id") == [receipt]


class InterruptedConnection(psycopg.Connection[Any]):
    """A worker rejects a row after the first statement that puts one back."""

    stage: Stage | None = None

    def execute(self, *arguments: Any, **options: Any) -> psycopg.Cursor[Any]:
        cursor = super().execute(*arguments, **options)
        if self.stage is not None and cursor.statusmessage == "INSERT 0 1":
            stage, self.stage = self.stage, None
            [receipt] = stage.put(POISON)
            with stage.connection.transaction():
                rejection = Rejection(receipt, RejectReason.PROCESSING_ERROR, "")
                reject_rows(stage.connection, stage.space_id, [rejection])
                delete_rows(stage.connection, stage.space_id, [receipt])
        return cursor


def test_a_row_rejected_during_a_replay_is_kept(stage: Stage, database_url: str) -> None:
    stage.put(POISON)
    stage.process()
    with InterruptedConnection.connect(database_url, autocommit=True) as connection:
        connection.stage = stage
        assert replay_rejected(connection, stage.space_id) == 1
    assert stage.values("inbox", "id") == stage.receipts[:1]
    assert stage.values("rejected", "id") == stage.receipts[1:]


def test_waiting_ends_when_all_is_processed(stage: Stage, database_url: str) -> None:
    with connect(database_url) as worker:  # other tests leave rows behind
        drain(worker)
    stage.put(event(email="a@b.org"))
    assert not wait_until_processed(stage.connection, timeout=0)
    stage.process()
    assert wait_until_processed(stage.connection, timeout=0)
