"""The gain from additional processes: workers with queues of a few Spaces and of many, and API processes with
many connections. The number of busy cores shows what limits a run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import psycopg

from bench.ingest import make_single_requests
from bench.load import keep_busy
from bench.pipeline import accepted_events, fill
from bench.stage import Stage

QUEUES = ((20, 5_000), (4_000, 1))
"""Numbers of Spaces, and of waiting rows in each."""
COUNTS = (1, 2, 4)
ROUNDS = 3
CONNECTIONS = 64
SECONDS = 4.0
LOOK_SECONDS = 0.01


def measure(stage: Stage, print_line: Callable[..., None]) -> None:
    """Print this part of the table."""
    for spaces, rows in QUEUES:
        print_line(f"{rows:,} rows of each of {spaces:,} Spaces, by workers: the best of {ROUNDS} rounds")
        print_line("workers", "events/s", "CPU us an event", "cores busy")
        ids = _make_checked_spaces(stage, spaces)
        _measure_best(print_line, stage, "--pipelines", lambda ids=ids, rows=rows: _drain(stage, ids, rows))
    keys = [key for _, key in stage.spaces(2_000)]
    noop, events = make_single_requests(keys, "/healthz", "GET"), make_single_requests(keys)
    for name, make in (("no-op", noop), ("durable ingest", events)):
        print_line(f"{name}, {CONNECTIONS} connections, by API processes; the load takes a core, too")
        print_line("processes", "requests/s", "CPU us a request", "cores busy")
        _measure_best(print_line, stage, "--workers", lambda make=make: _ingest(stage, make))
    stage.stop()
    stage.start()


Run = tuple[float, float, float]
"""Items a second, CPU seconds per item, and the number of busy cores."""


def _measure_best(print_line: Callable[..., None], stage: Stage, option: str, run: Callable[[], Run]) -> None:
    best: dict[int, Run] = {}
    for _ in range(ROUNDS):
        for count in COUNTS:
            stage.stop()
            stage.start(option, str(count))
            best[count] = max(best.get(count, (0.0, 0.0, 0.0)), run())
    for count, (rate, cpu_seconds, cores) in best.items():
        print_line(count, f"{rate:,.0f}", f"{1e6 * cpu_seconds:.0f}", f"{cores:.2f}")


def _make_checked_spaces(stage: Stage, count: int) -> list[int]:
    """Return new Spaces, once each has had its first alert check, which takes longer than storing a row."""
    ids = [space_id for space_id, _ in stage.spaces(count)]
    unknown = "SELECT EXISTS (SELECT id FROM spaces EXCEPT SELECT space_id FROM alert_watches)"
    with psycopg.connect(stage.url, autocommit=True) as connection:
        while connection.execute(unknown).fetchone() == (True,):
            time.sleep(LOOK_SECONDS)
    return ids


def _drain(stage: Stage, spaces: Sequence[int], rows: int) -> Run:
    stage.pause_worker()
    with psycopg.connect(stage.url) as connection:
        for space_id in spaces:
            fill(connection, space_id, accepted_events(rows))
    with psycopg.connect(stage.url, autocommit=True) as connection:
        before, start = stage.cpu_seconds(), time.perf_counter()
        stage.resume_worker()
        while connection.execute("SELECT EXISTS (SELECT FROM inbox)").fetchone() == (True,):
            time.sleep(LOOK_SECONDS)
    return _run(len(spaces) * rows, time.perf_counter() - start, stage.cpu_seconds() - before)


def _ingest(stage: Stage, make: Callable[[], object]) -> Run:
    stage.pause_worker()
    before = stage.cpu_seconds()
    result = keep_busy(stage.port, CONNECTIONS, SECONDS, make)
    cpu_seconds = stage.cpu_seconds() - before
    stage.resume_worker()
    stage.wait_until_drained(900)
    return _run(result.rate() * result.seconds, result.seconds, cpu_seconds)


def _run(count: float, seconds: float, computing: float) -> Run:
    return count / seconds, computing / count, computing / seconds
