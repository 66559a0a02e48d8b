"""Many small Spaces beside a huge one: how soon events of the small ones are stored while the huge
one's queue is worked off, by one worker and by two.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg

from bench.ingest import SpaceSampler, singles, summarize
from bench.load import steady
from bench.pipeline import accepted_events, fill
from bench.stage import Stage

SMALL_SPACES = 10_000
HUGE_ROWS = 200_000
RATE = 200.0
"""Events a second, each of the next small Space."""
SECONDS = 40.0
SAMPLERS = 8
"""Small Spaces that are looked at, at a time."""


def measure(stage: Stage, say: Callable[..., None]) -> None:
    """Print this part of the table."""
    small, huge = stage.spaces(SMALL_SPACES), stage.spaces(2)
    requests = singles([key for _, key in small])
    say(f"{SMALL_SPACES:,} small Spaces at {RATE:.0f} events/s beside one with {HUGE_ROWS:,} rows")
    say("workers", "samples", "p50 ms", "p99 ms", "of the huge Space, rows/s")
    for workers, (huge_id, _) in enumerate(huge, 1):
        stage.stop()
        with stage.database() as url, psycopg.connect(url) as connection:
            fill(connection, huge_id, accepted_events(HUGE_ROWS))
        stage.start("--pipelines", str(workers))
        started, before = time.perf_counter(), _waiting(stage, huge_id)
        samplers = [SpaceSampler(stage, space, SECONDS, 0.05) for space in small[-SAMPLERS:]]
        for sampler in samplers:
            sampler.start()
        steady(stage.port, RATE, SECONDS, requests)
        samples = summarize([seconds for sampler in samplers for seconds in sampler.wait()])
        done = before - _waiting(stage, huge_id)
        say(workers, *samples, f"{done / (time.perf_counter() - started):,.0f}")
        stage.drained(900)
    stage.stop()
    stage.start()


def _waiting(stage: Stage, space_id: int) -> int:
    with psycopg.connect(stage.url) as connection:
        query = "SELECT count(*) FROM inbox WHERE space_id = %s"
        (rows,) = connection.execute(query, (space_id,)).fetchone()
    return rows
