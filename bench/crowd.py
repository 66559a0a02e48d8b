"""Many small Spaces next to a huge one: the delay until the small ones' events are stored while the huge
one's queue is processed, with one worker and with two.

A million events, half of them in the huge Space, take longer than an ordinary run:

    HEADWATER_BENCH_CROWD_RATE=120 HEADWATER_BENCH_CROWD_EVENTS=5 HEADWATER_BENCH_CROWD_SECONDS=834
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import psycopg

from bench.ingest import SpaceSampler, distinct_batches, distinct_requests, summarize
from bench.load import Request, send_steadily
from bench.pipeline import accepted_events, fill
from bench.stage import Stage

SMALL_SPACES = 10_000
HUGE_ROWS = 500_000
RATE = float(os.environ.get("HEADWATER_BENCH_CROWD_RATE", "200"))
"""Requests a second, to the small Spaces in turn."""
EVENTS = int(os.environ.get("HEADWATER_BENCH_CROWD_EVENTS", "1"))
"""Events per request."""
SECONDS = float(os.environ.get("HEADWATER_BENCH_CROWD_SECONDS", "60"))
WORKERS = [int(word) for word in os.environ.get("HEADWATER_BENCH_CROWD_WORKERS", "1 2").split()]
SAMPLERS = 8
"""The number of small Spaces that are sampled at the same time."""


def measure(stage: Stage, print_line: Callable[..., None]) -> None:
    """Print this part of the table."""
    small, huge = stage.spaces(SMALL_SPACES), stage.spaces(len(WORKERS))
    keys = [key for _, key in small]
    print_line(
        f"{SMALL_SPACES:,} small Spaces, {RATE:.0f} requests/s of {EVENTS} events, beside one with"
        f" {HUGE_ROWS:,} rows"
    )
    print_line("workers", "small, requests/s", "samples", "p50 ms", "p99 ms", "of the huge Space")
    for workers, (huge_id, _) in zip(WORKERS, huge, strict=True):
        stage.stop()
        with stage.database() as url, psycopg.connect(url) as connection:
            fill(connection, huge_id, accepted_events(HUGE_ROWS))
        stage.start("--pipelines", str(workers))
        before = _waiting(stage, huge_id)
        samplers = [SpaceSampler(stage, space, SECONDS, 0.05) for space in small[-SAMPLERS:]]
        for sampler in samplers:
            sampler.start()
        result = send_steadily(stage.port, RATE, SECONDS, lambda: _requests(keys))
        samples = summarize([seconds for sampler in samplers for seconds in sampler.wait()])
        processed_rows = before - _waiting(stage, huge_id)
        print_line(workers, f"{result.rate():,.0f}", *samples, f"{processed_rows:,} in {SECONDS:.0f} s")
        stage.wait_until_drained(900)
    stage.stop()
    stage.start()


def _requests(keys: list[str]) -> Iterator[Request]:
    return distinct_requests(keys) if EVENTS == 1 else distinct_batches(keys, EVENTS)


def _waiting(stage: Stage, space_id: int) -> int:
    with psycopg.connect(stage.url) as connection:
        query = "SELECT count(*) FROM inbox WHERE space_id = %s"
        (rows,) = connection.execute(query, (space_id,)).fetchone()
    return rows
