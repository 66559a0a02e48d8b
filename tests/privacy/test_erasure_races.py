"""Erasing a person during merges, late events, work of other processes and faults."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.database.jobs.connection import connect
from headwater.database.jobs.worker import Worker
from headwater.intake.pipeline.duty import make_pipeline_duty
from headwater.privacy.erasure_job import ERASURE_JOB, erase_next
from tests.support.lock_waits import is_waited_for
from tests.support.pipeline import DAY, T0, Stage, event, new_stage
from tests.support.waiting import wait_until


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


@pytest.fixture
def worker(database_url: str) -> Iterator[psycopg.Connection]:
    """A worker's connection with a short lock timeout. Each transaction sets it, so that a cluster's nodes
    get it too.
    """
    with connect(database_url) as connection:
        begin_transaction = connection.transaction

        @contextmanager
        def begin_impatiently() -> Iterator[psycopg.Transaction]:
            with begin_transaction() as transaction:
                connection.execute("SET LOCAL lock_timeout = '20ms'")
                yield transaction

        connection.transaction = begin_impatiently  # type: ignore[method-assign]
        yield connection


@pytest.fixture
def run_workers(database_url: str) -> Iterator[Callable[[int], None]]:
    """Start this many workers, which are stopped at the end of the test."""
    stop, threads = threading.Event(), list[threading.Thread]()

    def start(count: int) -> None:
        for _ in range(count):
            run = Worker(database_url, stop, [make_pipeline_duty(), ERASURE_JOB]).run
            threads.append(threading.Thread(target=run))
            threads[-1].start()

    yield start
    stop.set()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def ask_to_erase(stage: Stage, contact_id: int) -> None:
    stage.connection.execute(
        "INSERT INTO erasures (space_id, contact_id, receipt_mark) VALUES (%s, %s, nextval('receipt_ids'))",
        (stage.space_id, contact_id),
    )


def erase(stage: Stage, contact_id: int) -> None:
    ask_to_erase(stage, contact_id)
    assert erase_next(stage.connection, stage.space_id)
    assert None not in stage.values("erasures", "erased_at")


def identifiers(stage: Stage) -> list[tuple[Any, ...]]:
    return stage.rows("contact_identifiers", "contact_id", "kind", "value")


def all_erased(stage: Stage) -> bool:
    return None not in stage.values("erasures", "erased_at")


def test_it_works(stage: Stage, run_workers: Callable[[int], None]) -> None:
    """Erasures run next to the pipeline, in several workers that share the Spaces."""
    other_stages = [new_stage(stage.connection) for _ in range(3)]
    run_workers(2)
    for space_stage in (stage, *other_stages):
        (first,) = space_stage.put(event(email="ada@acme.example"))
        wait_until(lambda target=space_stage: target.values("events", "id"))
        for _ in range(3):
            ask_to_erase(space_stage, space_stage.find_contact(first))
        space_stage.put(event(email="bob@acme.example"))
    for space_stage in (stage, *other_stages):
        wait_until(lambda target=space_stage: all_erased(target) and not target.values("inbox", "id"))
        assert [value for *_, value in identifiers(space_stage)] == ["bob@acme.example"]
        assert space_stage.values("erasures", "attempts") == [0, 0, 0]


@pytest.mark.parametrize("waiting", [False, True], ids=["merged since", "merging event waits"])
def test_merged_into_an_older_contact_meanwhile(stage: Stage, *, waiting: bool) -> None:
    older, younger = stage.run(
        event(tracking_id="u1", email="old@acme.example", phone="1", profile_fields={1: "x"}),
        event(email="ada@acme.example", full_name="Ada", profile_fields={2: "y"}),
    )
    survivor, target = stage.find_contact(older), stage.find_contact(younger)
    stage.put(event(tracking_id="u1", email="ada@acme.example", phone="2"))
    ask_to_erase(stage, target)
    if not waiting:
        stage.process()
    assert erase_next(stage.connection, stage.space_id)
    assert stage.rows("merges", "merged_id", "survivor_id") == [(target, survivor)]
    assert identifiers(stage) == []
    columns = ("email", "name", "phone", "profile_field_1", "profile_field_2")
    assert stage.rows("contacts", *columns) == [(None,) * 5] * 2
    assert stage.values("events", "contact_id") == [survivor] * 3


def test_the_survivor_of_a_merge_and_who_was_merged_into_it(stage: Stage) -> None:
    """Both are erased, whichever was named, and however long ago they merged."""
    stage.run(
        event(tracking_id="u1", full_name="A"),
        event(email="b@acme.example", full_name="B"),
        event(email="c@acme.example", full_name="C"),
        event(tracking_id="u1", email="c@acme.example"),
        event(tracking_id="u1", email="b@acme.example"),
        event(email="d@acme.example", full_name="D"),
    )
    named_id = stage.values("contacts", "id")[1]
    erase(stage, named_id)
    assert stage.values("contacts", "name") == ["D", None, None, None]
    assert [value for *_, value in identifiers(stage)] == ["d@acme.example", "D"]


def test_a_late_event_makes_a_new_contact(stage: Stage) -> None:
    sightings = [
        {"email": "ada@acme.example"},
        {"tracking_id": "u1"},
        {"trk_token": "t1"},
        {"fingerprint": "f1", "ip": "192.0.2.1"},
    ]
    all_identifiers = {name: value for sighting in sightings for name, value in sighting.items()}
    (first,) = stage.run(event(**all_identifiers))
    contact_id = stage.find_contact(first)
    erase(stage, contact_id)
    before = stage.rows("contacts", "contacts::text")
    late = stage.run(*(event(event_time=T0 + DAY, **sighting) for sighting in sightings))
    assert len({contact_id, *map(stage.find_contact, late)}) == 5
    merging_receipts = stage.run(event(event_time=T0 + 2 * DAY, **all_identifiers))
    assert stage.find_contact(first) == contact_id
    assert contact_id not in {stage.find_contact(receipt) for receipt in (*late, *merging_receipts)}
    assert before[0] in stage.rows("contacts", "contacts::text")
    assert contact_id not in stage.values("contact_identifiers", "contact_id")


def test_a_space_that_is_taken_is_left_alone(stage: Stage, database_url: str) -> None:
    (first,) = stage.run(event(email="ada@acme.example"))
    ask_to_erase(stage, stage.find_contact(first))
    with psycopg.connect(database_url) as other_connection:
        other_connection.execute(
            "SELECT FROM space_locks WHERE space_id = %s FOR NO KEY UPDATE", (stage.space_id,)
        )
        assert not erase_next(stage.connection, stage.space_id)
    assert erase_next(stage.connection, stage.space_id)


def test_a_contact_that_never_was(stage: Stage) -> None:
    erase(stage, 999_999_999)


def test_a_failure_is_noted_and_put_off(stage: Stage, worker: psycopg.Connection, database_url: str) -> None:
    first, second = stage.run(
        event(email="ada@acme.example", ip="192.0.2.1", fingerprint="f1"), event(email="bob@acme.example")
    )
    stored_identifiers = identifiers(stage)
    for receipt in (first, second):
        ask_to_erase(stage, stage.find_contact(receipt))
    with psycopg.connect(database_url) as other_connection:
        other_connection.execute("SELECT FROM events WHERE space_id = %s AND id = %s FOR UPDATE",
                                 (stage.space_id, first))  # fmt: skip
        assert erase_next(worker, stage.space_id)
        assert identifiers(stage) == stored_identifiers
        columns = ("id", "attempts", "last_error", "retry_at > now()", "erased_at IS NULL")
        erasure_rows = stage.rows("erasures", *columns)
        assert [row[1:] for row in erasure_rows] == [
            (1, "LockNotAvailable 55P03", True, True),
            (0, None, False, True),
        ]
        assert erase_next(worker, stage.space_id)  # the second one does not wait for the first
        assert not erase_next(worker, stage.space_id)
        stage.run(event(email="cy@acme.example"))  # nor does the pipeline
    stage.connection.execute("UPDATE erasures SET retry_at = now() WHERE space_id = %s", (stage.space_id,))
    assert erase_next(worker, stage.space_id)
    assert all_erased(stage)
    assert stage.rows("erasures", "attempts", "last_error") == [(0, None), (1, None)]
    assert [value for *_, value in identifiers(stage)] == ["cy@acme.example"]


def test_the_pause_grows(stage: Stage, worker: psycopg.Connection, database_url: str) -> None:
    (first,) = stage.run(event(email="ada@acme.example", ip="192.0.2.1", fingerprint="f1"))
    ask_to_erase(stage, stage.find_contact(first))
    pauses: list[float] = []
    with psycopg.connect(database_url) as other_connection:
        other_connection.execute("SELECT FROM events WHERE space_id = %s FOR UPDATE", (stage.space_id,))
        for attempts in (0, 1, 2, 7, 8, 5000):
            stage.connection.execute(
                "UPDATE erasures SET retry_at = now(), attempts = %s WHERE space_id = %s",
                (attempts, stage.space_id),
            )
            assert erase_next(worker, stage.space_id)
            [(pause,)] = stage.rows("erasures", "extract(epoch FROM retry_at - now())::float8")
            pauses.append(pause)
    assert pauses == pytest.approx([2, 4, 8, 256, 300, 300], abs=1.9)


def test_a_lost_connection_is_replaced(
    stage: Stage, run_workers: Callable[[int], None], database_url: str
) -> None:
    (first,) = stage.run(event(email="ada@acme.example", ip="192.0.2.1", fingerprint="f1"))
    with psycopg.connect(database_url) as other_connection:
        other_connection.execute("SELECT FROM events WHERE space_id = %s FOR UPDATE", (stage.space_id,))
        ask_to_erase(stage, stage.find_contact(first))
        run_workers(1)
        wait_until(lambda: is_waited_for(stage.connection, other_connection))
        stage.connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'headwater worker' AND query LIKE '%UPDATE events%'"
            " AND datname = current_database()"
        )
    wait_until(lambda: all_erased(stage))
    assert identifiers(stage) == []
    assert stage.values("erasures", "attempts") == [0]


EVENTS = st.builds(
    dict,
    email=st.sampled_from([None, "a@x.example", "b@x.example", "c@x.example"]),
    tracking_id=st.sampled_from([None, "u1", "u2"]),
    trk_token=st.sampled_from([None, "t1", "t2"]),
    phone=st.sampled_from([None, "1", "2"]),
)
ERASURES = st.integers(0, 5)
"""The index of the contact to erase."""


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(st.one_of(EVENTS, EVENTS, ERASURES), min_size=2, max_size=14))
def test_nobody_who_was_erased_comes_back(
    connection: psycopg.Connection, history: list[dict[str, Any] | int]
) -> None:
    """In any order of arrivals, merges and erasures, with or without waiting events."""
    stage = new_stage(connection)
    erased_states: dict[int, str] = {}
    for happening_item in history:
        if isinstance(happening_item, dict):
            stage.put(event(**happening_item))
            continue
        contacts = stage.values("contacts", "id")
        if contacts:
            erase(stage, contacts[happening_item % len(contacts)])
            ends = dict(stage.rows("contacts", "id", "coalesce(merged_into, id)"))
            survivor = ends[contacts[happening_item % len(contacts)]]
            group = {contact for contact, end in ends.items() if end == survivor}
            erased_states |= {
                contact_id: state for contact_id, state in states(stage).items() if contact_id in group
            }
    stage.process()
    now = states(stage)
    assert {contact: now[contact] for contact in erased_states} == erased_states
    assert not erased_states.keys() & {row[0] for row in identifiers(stage)}


def states(stage: Stage) -> dict[int, str]:
    """Return each contact's row and events as text."""
    event_rows = stage.rows("events", "contact_id", "id")
    return {
        contact: f"{row} {[event_id for owner, event_id in event_rows if owner == contact]}"
        for contact, row in stage.rows("contacts", "id", "contacts::text")
    }
