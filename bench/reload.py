"""Every process of a service is replaced under a steady load: failed requests, and the duration."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable

from bench.ingest import make_single_requests
from bench.load import Result, send_steadily
from bench.stage import Stage, run_stage

RATE = 1_000
SPACES = 200
RELOADS = 3
SECONDS = 15.0


def measure(print_line: Callable[..., None]) -> None:
    """Measure a separate service with two API processes, because reloads replace the processes."""
    print_line(f"{RATE:,} events a second while every process is replaced, {RELOADS} times")
    with run_stage() as stage:
        stage.stop()
        stage.start("--workers", "2")
        keys = [key for _, key in stage.spaces(SPACES)]
        before = send_steadily(stage.port, RATE, SECONDS, make_single_requests(keys))
        took: list[float] = []
        thread = threading.Thread(target=_reload, args=(stage, took))
        thread.start()
        result_during = Result()
        while thread.is_alive():
            result_during.add(send_steadily(stage.port, RATE, SECONDS, make_single_requests(keys)))
        print_line("", "events", "refused", "cut", "p50 ms", "p99 ms", "longest ms")
        for name, result in (("before", before), ("during", result_during)):
            print_line(name, *_figures(result))
        print_line("reloads took s", *(f"{seconds:.1f}" for seconds in took))
        print_line("drained after s", f"{stage.wait_until_drained(600):.1f}")


def _reload(stage: Stage, took: list[float]) -> None:
    for _ in range(RELOADS):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "headwater", "reload", "--data-dir", str(stage.data_dir)],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        took.append(time.perf_counter() - start)


def _figures(result: Result) -> list[object]:
    refusals = sum(count for status, count in result.statuses.items() if status >= 300)
    return [
        f"{result.statuses[202]:,}", refusals, result.cut,
        *(f"{result.percentile(share):.1f}" for share in (0.5, 0.99, 1.0)),
    ]  # fmt: skip
