"""Several workers: stopping, sharing Spaces, dying, losing the database."""

from __future__ import annotations

import itertools
import math
import signal
import threading
import time

import psycopg
import pytest
from structlog.testing import capture_logs

from headwater.database.jobs.connection import connect
from headwater.database.jobs.duties import Duty
from headwater.database.jobs.worker import (
    FIRST_PAUSE_SECONDS,
    LONGEST_SHARE_SECONDS,
    LOOK_SHARE,
    SWITCH_PAUSE_SECONDS,
    Look,
    Worker,
)
from headwater.intake.inbox.queue import wait_until_processed
from headwater.intake.pipeline.batch_runner import process_space, run_batch
from headwater.intake.pipeline.duty import make_pipeline_duty
from tests.support.forks import die_at
from tests.support.pipeline import MINUTE, T0, Stage, drain, event, new_stage
from tests.support.waiting import PATIENCE_SECONDS

FAILPOINTS = [
    "worker_after_claim",
    "worker_after_merge",
    "worker_after_events",
    "worker_before_commit",
    "worker_after_commit",
]

JOURNEY = [
    event(trk_token="t1", trk_source="google_ads", event_time=T0),
    event(tracking_id="u1", phone="1", order_id="1", event_time=T0 + MINUTE),
    event(email="a@acme.com", order_id="1", event_time=T0 + 2 * MINUTE),
    event(email="a@acme.com", trk_token="t1", trk_source="fb", event_time=T0 + 3 * MINUTE),
    event(email="a@acme.com", tracking_id="u1", order_id="2", event_time=T0 + 4 * MINUTE),
]


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


def test_it_works(stage: Stage, database_url: str) -> None:
    stop = threading.Event()
    worker = threading.Thread(target=Worker(database_url, stop, [make_pipeline_duty()]).run)
    worker.start()
    stage.put(*JOURNEY)
    assert wait_until_processed(stage.connection, timeout=PATIENCE_SECONDS)
    stop.set()
    worker.join(PATIENCE_SECONDS)
    assert not worker.is_alive()
    assert len(stage.values("events", "id")) == 4


def test_drain_serves_every_space(connection: psycopg.Connection, database_url: str) -> None:
    stages = [new_stage(connection) for _ in range(3)]
    for stage in stages:
        stage.put(*JOURNEY)
    with connect(database_url) as worker:
        drain(worker, limit=2)
    assert stages[0].dump() == stages[1].dump() == stages[2].dump()
    assert stages[0].values("inbox", "id") == []


def test_a_space_that_is_taken_is_left_alone(stage: Stage, database_url: str) -> None:
    stage.put(*JOURNEY)
    with psycopg.connect(database_url) as locker:
        locker.execute("SELECT FROM space_locks WHERE space_id = %s FOR NO KEY UPDATE", (stage.space_id,))
        assert run_batch(stage.connection, stage.space_id).skipped == 1
    assert run_batch(stage.connection, stage.space_id).rows == 5


def test_workers_side_by_side_equal_one(connection: psycopg.Connection, database_url: str) -> None:
    single_stage, shared_stage = new_stage(connection), new_stage(connection)
    journey = [event(email=f"{n % 3}@acme.com", trk_token=f"t{n % 5}") for n in range(60)]
    for item in (single_stage, shared_stage):
        item.put(*journey)
    single_stage.process()
    stop = threading.Event()
    run = Worker(database_url, stop, [make_pipeline_duty(limit=3)]).run
    workers = [threading.Thread(target=run) for _ in range(2)]
    for item in workers:
        item.start()
    assert wait_until_processed(connection, timeout=PATIENCE_SECONDS)
    stop.set()
    for item in workers:
        item.join(PATIENCE_SECONDS)
    assert single_stage.dump() == shared_stage.dump()


@pytest.mark.parametrize("name", FAILPOINTS)
def test_dying_anywhere_changes_nothing(connection: psycopg.Connection, database_url: str, name: str) -> None:
    calm_stage, struck_stage = new_stage(connection), new_stage(connection)
    for stage in (calm_stage, struck_stage):
        stage.put(*JOURNEY)
    calm_stage.process()

    def work() -> None:
        with connect(database_url) as work_connection:
            while process_space(work_connection, struck_stage.space_id, 2).rows:
                pass

    assert die_at(name, work) == -signal.SIGKILL
    committed_rows = 2 if name == "worker_after_commit" else 0
    assert len(struck_stage.values("inbox", "id")) == len(JOURNEY) - committed_rows
    # The dead worker's transaction ends when the server notices, so wait for the Space's lock.
    with connection.transaction():
        connection.execute("SELECT FROM space_locks WHERE space_id = %s FOR UPDATE", (struck_stage.space_id,))
    struck_stage.process()
    assert calm_stage.dump() == struck_stage.dump()


def test_a_lost_connection_is_replaced(stage: Stage, database_url: str) -> None:
    stop = threading.Event()
    worker = threading.Thread(target=Worker(database_url, stop, [make_pipeline_duty()]).run)
    worker.start()
    stage.put(JOURNEY[0])
    assert wait_until_processed(stage.connection, timeout=PATIENCE_SECONDS)
    stage.connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'headwater worker' AND datname = current_database()"
    )
    stage.put(*JOURNEY[1:])
    assert wait_until_processed(stage.connection, timeout=PATIENCE_SECONDS)
    stop.set()
    worker.join(PATIENCE_SECONDS)
    assert len(stage.values("events", "id")) == 4


def test_a_session_that_postgresql_ends_is_replaced(database_url: str) -> None:
    """PostgreSQL's time limits for transactions are errors of another class than a lost connection."""
    stop, sessions = threading.Event(), list[int]()

    def lose(connection: psycopg.Connection, _: int) -> bool:
        sessions.append(connection.info.backend_pid)
        if len(sessions) == 2:
            stop.set()
            return False
        connection.close()
        raise psycopg.errors.IdleInTransactionSessionTimeout

    Worker(database_url, stop, [Duty(lambda _: [1], lose)]).run()
    assert len(set(sessions)) == 2


def test_what_fails_for_now_is_tried_ever_later(database_url: str) -> None:
    """Retries at full speed would fill a full disk with their log. Other jobs go on."""
    stop, tries, try_counts = threading.Event(), list[float](), list[int]()

    def fail(_: object, __: int) -> bool:
        tries.append(time.monotonic())
        if len(tries) == 5:
            stop.set()
        raise psycopg.errors.DiskFull

    def note(_: object, __: int) -> bool:
        try_counts.append(len(tries))
        return False

    failing_duty, busy_duty = Duty(lambda _: [1], fail), Duty(lambda _: [1], note)
    Worker(database_url, stop, [failing_duty, busy_duty]).run()
    pauses = [next_try - try_time for try_time, next_try in itertools.pairwise(tries)]
    assert all(pause >= FIRST_PAUSE_SECONDS * 2**number for number, pause in enumerate(pauses))
    assert set(try_counts) >= {1, 2, 3, 4}
    assert len(try_counts) > len(tries)


def test_delays_begin_anew_after_a_success(database_url: str) -> None:
    stop, outcomes = threading.Event(), iter([True, True, False, True])

    def attend(_: object, __: int) -> bool:
        is_failing = next(outcomes, None)
        if is_failing is None:
            stop.set()
        if is_failing:
            raise psycopg.errors.DiskFull
        return False

    with capture_logs() as lines:
        Worker(database_url, stop, [Duty(lambda _: [1], attend)]).run()
    first = FIRST_PAUSE_SECONDS
    assert [line["pause"] for line in lines] == [first, 2 * first, first]


def test_a_look_that_fails_keeps_no_other_duty(database_url: str) -> None:
    """This happens in a cluster: one job's poll asks every node, while another job only needs the first
    one.
    """
    stop, looks, poll_counts = threading.Event(), list[float](), list[int]()

    def fail(_: object) -> list[int]:
        looks.append(time.monotonic())
        if len(looks) == 4:
            stop.set()
        raise psycopg.errors.ConnectionFailure

    def note(_: object, __: int) -> bool:
        poll_counts.append(len(looks))
        return False

    failing_duty, busy_duty = Duty(fail, note), Duty(lambda _: [1], note)
    with capture_logs() as lines:
        Worker(database_url, stop, [failing_duty, busy_duty]).run()
    pauses = [next_look - look_time for look_time, next_look in itertools.pairwise(looks)]
    assert all(pause >= FIRST_PAUSE_SECONDS * 2**number for number, pause in enumerate(pauses))
    assert set(poll_counts) >= {1, 2, 3}
    assert [line["event"] for line in lines] == ["look put off"] * 4


def test_a_look_that_led_to_no_work_is_good_for_a_while(database_url: str) -> None:
    """After a poll that led to work, the job polls again."""
    stop, looks, results, turns = threading.Event(), list[int](), [[1], [1]], list[int]()

    def find_spaces(_: object) -> list[int]:
        looks.append(len(turns))
        return results.pop() if results else []

    def turn(_: object, __: int) -> bool:
        turns.append(1)
        if looks[2:] and len(turns) > looks[2] + 5:
            stop.set()
        return True

    rare = Duty(find_spaces, lambda _, __: True, pause_seconds=PATIENCE_SECONDS)
    Worker(database_url, stop, [rare, Duty(lambda _: [1], turn, turn_seconds=0)]).run()
    assert len(looks) == 3


def test_a_turn_lasts_until_nothing_waits(database_url: str) -> None:
    """Work that arrives meanwhile is done in the same turn, while there is time."""
    stop, space_ids, batches = threading.Event(), list[str](), [[3], [2], [1], []]

    def finish(_: object, __: int) -> bool:
        stop.set()
        return True

    def work(_: object, space_id: int) -> bool:
        space_ids.append(str(space_id))
        return True

    first = Duty(lambda _: batches.pop(0) if batches else [], work, turn_seconds=math.inf)
    Worker(database_url, stop, [first, Duty(lambda _: [1], finish)]).run()
    assert space_ids == ["3", "2", "1"]


def test_looks_take_a_share_of_the_time(database_url: str) -> None:
    """It applies to a job with a pause: its polls may read much data."""
    stop, looks, poll_counts = threading.Event(), list[tuple[float, float]](), list[int]()

    def find_spaces(connection: psycopg.Connection) -> list[int]:
        start = time.monotonic()
        connection.execute("SELECT pg_sleep(0.002)")
        looks.append((start, time.monotonic()))
        return [1]

    def work(_: object, __: int) -> bool:
        poll_counts.append(len(looks))
        if len(looks) == 4:
            stop.set()
        return True

    Worker(database_url, stop, [Duty(find_spaces, work, pause_seconds=0.001)]).run()
    for (start, end), (next_start, _) in itertools.pairwise(looks):
        assert next_start - start >= LOOK_SHARE * (end - start)


def test_a_poll_that_stood_still_stops_no_duty_for_long() -> None:
    """It waited for a lock, or the machine was on hold: alerts and reports must not wait for hours."""
    duty = Duty(lambda _: [], lambda *_: False, pause_seconds=1.0)
    assert Look(began=100.0, seconds=400.0).find_next_poll(duty) == 500.0 + LONGEST_SHARE_SECONDS
    assert Look(began=100.0, seconds=0.5).find_next_poll(duty) == 100.0 + LOOK_SHARE * 0.5


def test_a_duty_with_many_spaces_lets_others_have_their_turn(database_url: str) -> None:
    """It continues where it stopped, without another poll."""
    stop, turns, looks = threading.Event(), list[str](), list[int]()

    def find_spaces(_: object) -> list[int]:
        looks.append(len(turns))
        return [1, 2, 3]

    def build(_: object, space_id: int) -> bool:
        turns.append(str(space_id))
        return True

    def process(_: object, __: int) -> bool:
        turns.append("first")
        if len(turns) == 9:
            stop.set()
        return True

    first = Duty(lambda _: [8, 9], process, turn_seconds=0)
    Worker(database_url, stop, [first, Duty(find_spaces, build, turn_seconds=0)]).run()
    assert turns[0::2] == ["first"] * 5
    assert sorted(turns[1:6:2]) == ["1", "2", "3"]
    assert looks == [1, 7]  # then none was left


def test_a_space_on_its_way_to_another_node_is_tried_soon(database_url: str) -> None:
    """It is retried soon, however often it has failed before: a switch takes seconds, and its end is
    unknown.
    """
    stop = threading.Event()

    def fail(_: object, __: int) -> bool:
        stop.set()
        raise psycopg.errors.LockNotAvailable

    duty = Duty(lambda _: [1], fail)
    worker = Worker(database_url, stop, [duty])
    for _ in range(20):
        worker._put_offs.put_off(duty, 1, 0.0)
    with capture_logs() as lines:
        worker.run()
    assert [line["pause"] for line in lines] == [SWITCH_PAUSE_SECONDS]
