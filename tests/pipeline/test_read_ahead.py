"""Rows that a worker parses ahead are used only if they haven't changed since."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import psycopg
import pytest

from headwater.database.jobs.connection import connect
from headwater.intake.inbox.rejected import replay_rejected
from headwater.intake.pipeline import batch_runner, read_ahead
from headwater.intake.pipeline.batch import ParsedRows
from headwater.intake.pipeline.batch_runner import process_space
from headwater.intake.pipeline.duty import make_pipeline_duty
from headwater.intake.pipeline.read_ahead import ReadAhead
from tests.support.pipeline import Item, Stage, event, new_stage
from tests.support.reading_ahead import count_judgements, fail_before_commit

LIMIT = 2


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


@pytest.fixture
def judgement_count(monkeypatch: pytest.MonkeyPatch) -> Counter[bool]:
    return count_judgements(monkeypatch)


@pytest.fixture
def parse_count(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """A counter of how often each row is parsed."""
    counter = Counter[int]()
    for module in (batch_runner, read_ahead):
        parse = module.parse

        def count(rows: ParsedRows, arrivals: list[Any], parse: Any = parse) -> None:
            counter.update(row.id for row in arrivals)
            parse(rows, arrivals)

        monkeypatch.setattr(module, "parse", count)
    return counter


def batch(stage: Stage, read_ahead: ReadAhead) -> None:
    process_space(stage.connection, stage.space_id, LIMIT, read_ahead)


def names(stage: Stage) -> list[str]:
    return [name for (name,) in stage.rows("contacts", "name")]


def people(count: int) -> list[Item]:
    return [event(email=f"{n}@acme.com", full_name=f"Ann {n}") for n in range(count)]


def test_it_works(stage: Stage, judgement_count: Counter[bool], parse_count: Counter[int]) -> None:
    receipts, reader = stage.put(*people(5)), ReadAhead()
    for _ in range(3):
        batch(stage, reader)
    assert stage.values("events", "id") == receipts
    assert parse_count == dict.fromkeys(receipts, 1)
    assert judgement_count == {True: 2}


def test_rows_that_came_in_since_join_those_parsed_ahead(stage: Stage, parse_count: Counter[int]) -> None:
    stage.put(*people(3))
    reader = ReadAhead()
    batch(stage, reader)
    stage.put(*people(4)[3:])
    batch(stage, reader)
    assert stage.values("inbox", "id") == []
    assert parse_count == dict.fromkeys(stage.receipts, 1)


def test_a_mended_row_is_read_anew(stage: Stage) -> None:
    stage.put(*people(4))
    reader = ReadAhead()
    batch(stage, reader)
    stage.connection.execute(
        "UPDATE inbox SET payload = replace(payload, 'Ann 3', 'Eve') WHERE id = %s", (stage.receipts[3],)
    )
    batch(stage, reader)
    assert names(stage) == ["Ann 0", "Ann 1", "Ann 2", "Eve"]


def test_a_row_under_an_old_id_is_read_anew(stage: Stage) -> None:
    """A repaired rejected row returns to the inbox under its old id."""
    stage.put(*people(4))
    reader = ReadAhead()
    batch(stage, reader)
    stage.connection.execute(
        "WITH gone AS (DELETE FROM inbox WHERE space_id = %s AND id = %s RETURNING *)"
        " INSERT INTO rejected (space_id, id, kind, sender, received_at, payload, reason, detail)"
        " SELECT space_id, id, kind, sender, received_at, replace(payload, 'Ann 2', 'Eve'),"
        " 'processing_error', '' FROM gone",
        (stage.space_id, stage.receipts[2]),
    )
    assert replay_rejected(stage.connection, stage.space_id) == 1
    batch(stage, reader)
    assert names(stage) == ["Ann 0", "Ann 1", "Ann 3", "Eve"]


def test_a_row_that_is_gone_stays_gone(stage: Stage) -> None:
    stage.put(*people(5))
    reader = ReadAhead()
    batch(stage, reader)
    stage.connection.execute("DELETE FROM inbox WHERE id = %s", (stage.receipts[2],))
    batch(stage, reader)
    assert stage.values("events", "id") == [*stage.receipts[:2], *stage.receipts[3:]]


def test_rules_are_those_of_the_moment(stage: Stage) -> None:
    stage.put(*people(4))
    reader = ReadAhead()
    batch(stage, reader)
    stage.connection.execute(
        "UPDATE spaces SET ignored_identifiers = '{3@acme.com}' WHERE id = %s", (stage.space_id,)
    )
    batch(stage, reader)
    assert stage.values("contacts", "email") == ["0@acme.com", "1@acme.com", "2@acme.com", None]


def test_a_row_that_was_accepted_earlier_goes_first(stage: Stage, connection: psycopg.Connection) -> None:
    """Its receipt is older, but it was committed after the others had been read."""
    stage.put(*people(2))
    row = connection.execute("SELECT nextval('receipt_ids')").fetchone()
    assert row is not None
    stage.put(*people(4)[2:])
    reader = ReadAhead()
    batch(stage, reader)
    payload = msgspec.json.encode(event(email="early@acme.com")).decode()
    connection.execute(
        "INSERT INTO inbox (space_id, id, kind, sender, received_at, payload)"
        " VALUES (%s, %s, 'event', 'api_key', now(), %s)",
        (stage.space_id, row[0], payload),
    )
    batch(stage, reader)
    assert stage.values("events", "id") == sorted([*stage.receipts[:3], row[0]])


def test_another_worker_may_take_them(stage: Stage, judgement_count: Counter[bool]) -> None:
    stage.put(*people(6))
    first, second = ReadAhead(), ReadAhead()
    for reader in (first, second, first):
        batch(stage, reader)
    assert stage.values("events", "id") == stage.receipts
    assert judgement_count == {False: 1}


def test_a_fault_ahead_leaves_the_batch_alone(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object) -> None:
        raise KeyError("secret")

    receipts, reader = stage.put(*people(4)), ReadAhead()
    monkeypatch.setattr(read_ahead, "parse", explode)
    batch(stage, reader)
    assert stage.values("events", "id") == receipts[:2]
    assert stage.values("rejected", "id") == []


def test_a_batch_that_fails_is_done_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    receipts, reader = stage.put(*people(6)), ReadAhead()
    batch(stage, reader)

    with monkeypatch.context() as patch:
        patch.setattr(batch_runner, "failpoint", fail_before_commit)
        with pytest.raises(psycopg.errors.DiskFull):
            batch(stage, reader)
    assert stage.values("events", "id") == receipts[:2]
    for _ in range(2):
        batch(stage, reader)
    assert stage.values("events", "id") == receipts


def test_nothing_outlives_its_connection(stage: Stage, database_url: str) -> None:
    """After a reconnect the database may be another one, where the same numbers identify other rows."""
    stage.put(*people(4))
    reader = ReadAhead()
    with connect(database_url) as worker:
        process_space(worker, stage.space_id, LIMIT, reader)
        assert reader.take(stage.connection, stage.space_id) is None
        assert reader.take(worker, stage.space_id) is not None


def test_nothing_is_held_of_spaces_where_nothing_waits(
    connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = ReadAhead()
    monkeypatch.setattr("headwater.intake.pipeline.duty.ReadAhead", lambda: reader)
    duty, stage = make_pipeline_duty(LIMIT), new_stage(connection)
    stage.put(*people(4))
    duty.attend(connection, stage.space_id)
    stage.process()
    connection.execute("DELETE FROM inbox")  # of other Spaces, so that one poll is a full round
    duty.waiting(connection)
    assert reader.take(connection, stage.space_id) is None


def test_few_spaces_are_read_ahead(connection: psycopg.Connection) -> None:
    reader, stages = ReadAhead(max_spaces=1), [new_stage(connection) for _ in range(2)]
    for stage in stages:
        stage.put(*people(4))
        batch(stage, reader)
    assert reader.take(connection, stages[1].space_id) is None
    assert reader.take(connection, stages[0].space_id) is not None


def test_large_rows_are_not_read_ahead(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "MAX_CHARACTERS", 100)
    stage.put(*people(4))
    reader = ReadAhead()
    batch(stage, reader)
    assert reader.take(stage.connection, stage.space_id) is None
