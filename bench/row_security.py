"""The cost of row-level security: ingest, the pipeline and lists, in alternation with sessions confined to
their Space and with unconfined ones. Rates are per CPU second of the processes, which other load on the
machine affects less than the clock.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import psutil
import psycopg

from bench import pipeline
from bench.ingest import make_single_requests
from bench.load import Request, keep_busy, request
from bench.stage import Stage
from headwater.database.jobs.connection import connect
from headwater.intake.pipeline.batch_runner import BATCH_ROWS, process_space

ROUNDS = 5
ROWS = 15_000
SECONDS = 3.0
PERIOD = "&start_date=2026-01-01%2000:00:00&end_date=2099-01-01%2000:00:00"
LISTS = (
    "/public-api/v1/events?per_page=100" + PERIOD,
    "/public-api/v1/contacts?per_page=100" + PERIOD,
    "/public-api/v1/companies?per_page=100" + PERIOD,
)


def measure(stage: Stage, print_line: Callable[..., None], rounds: int = ROUNDS) -> None:
    """Print the part of the table."""
    print_line(f"Row-level security, {rounds} rounds each way in turn: for a second of computing")
    print_line("what", "open", "confined", "ratio")
    space_id, key = stage.spaces(1)[0]
    stage.stop()
    with stage.database() as url:
        _report(print_line, "pipeline, rows", [_process(url, space_id, number) for number in range(rounds)])
    stage.start()
    keys = [key for _, key in stage.spaces(200)]
    figures: dict[str, list[tuple[float, float]]] = {}
    for number in range(rounds):
        pair: dict[bool, dict[str, float]] = {}
        for is_confined in (number % 2 == 0, number % 2 == 1):
            _switch(stage, confined=is_confined)
            pair[is_confined] = _serve(stage, keys, key)
        for name in pair[True]:
            figures.setdefault(name, []).append((pair[False][name], pair[True][name]))
    for name, pairs in figures.items():
        _report(print_line, name, pairs)
    _switch(stage, confined=True)


def _report(print_line: Callable[..., None], name: str, pairs: list[tuple[float, float]]) -> None:
    open_median, confined_median = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(inside / outside for outside, inside in pairs)
    print_line(name, f"{open_median:,.0f}", f"{confined_median:,.0f}", f"{ratio:.3f}")


def _process(url: str, space_id: int, number: int) -> tuple[float, float]:
    """Return rows per CPU second of the worker and its PostgreSQL: unconfined, and confined."""
    speeds: dict[bool, float] = {}
    for is_confined in (number % 2 == 0, number % 2 == 1):
        with connect(url) as connection:
            rows = pipeline.accepted_events(ROWS)
            with psycopg.connect(url) as plain:
                pipeline.fill(plain, space_id, rows)
            backend = psutil.Process(connection.info.backend_pid)
            before = time.process_time() + sum(backend.cpu_times()[:2])
            with connection.confined(space_id) if is_confined else nullcontext():
                while process_space(connection, space_id, BATCH_ROWS).rows:
                    pass
            seconds = time.process_time() + sum(backend.cpu_times()[:2]) - before
        speeds[is_confined] = ROWS / seconds
    return speeds[False], speeds[True]


def _switch(stage: Stage, *, confined: bool) -> None:
    """Restart the service with sessions that can or can't be confined."""
    with psycopg.connect(stage.url, autocommit=True) as connection:
        right = "NOBYPASSRLS" if confined else "BYPASSRLS"
        connection.execute(f"ALTER ROLE headwater_space {right}")
    stage.stop()
    stage.start()


def _serve(stage: Stage, keys: list[str], key: str) -> dict[str, float]:
    """Return answers per CPU second of the service and its PostgreSQL."""
    stage.pause_worker()
    speeds = {"ingest, events": _per_second(stage, 16, make_single_requests(keys))}
    stage.resume_worker()
    stage.wait_until_drained(600)

    def ask() -> Iterator[Request]:
        for path in itertools.cycle(LISTS):
            yield request("GET", path, key)

    return speeds | {"lists, answers": _per_second(stage, 4, ask)}


def _per_second(stage: Stage, connections: int, make: Callable[[], Iterator[Request]]) -> float:
    before = stage.cpu_seconds()
    result = keep_busy(stage.port, connections, SECONDS, make)
    assert set(result.statuses) <= {200, 202}, result.statuses
    return result.rate() * result.seconds / (stage.cpu_seconds() - before)
