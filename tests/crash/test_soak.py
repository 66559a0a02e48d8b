"""Everything in use at the same time, for long and without faults: nothing grows without a reason.

`make soak` runs it. HEADWATER_SOAK_SECONDS is its length, HEADWATER_SOAK_RATE the number of events that the
shop sends per second. The measurements of the last third are compared with those of the second, because
caches are warm by then. It prints its figures.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from tests.crash.capabilities import take
from tests.crash.growth import DEAD, DESCRIPTORS, LATENCY, MEMORY, PROCESS, QUEUE, Samples
from tests.crash.journeys import LARGE_BATCHES
from tests.crash.load import Load
from tests.crash.processes import Process
from tests.crash.service import Service
from tests.crash.test_outages import call
from tests.crash.test_whole_product import Product, Run, describe, use
from tests.support.fake_platform import FakePlatform

SECONDS = float(os.environ.get("HEADWATER_SOAK_SECONDS", "0"))
RATE = float(os.environ.get("HEADWATER_SOAK_RATE", "1000"))
LEAK_SECONDS = 60.0
MOST_BETWEEN_SAMPLES, LEAST_SAMPLES = 5.0, 60
BETWEEN_PROBES = 0.2
SHOP_CONNECTIONS = 2
MEGABYTE = 1024.0
TABLES, DELETED = "/postgresql/base/", " (deleted)"
QUEUED = """
SELECT pg_total_relation_size('inbox') + pg_total_relation_size('rate_limits')
       + pg_total_relation_size('pending_paths')
"""
DEAD_ROWS = """
SELECT coalesce(100.0 * sum(n_dead_tup) / nullif(sum(n_live_tup + n_dead_tup), 0), 0)::float8
FROM pg_stat_user_tables
"""

pytestmark = pytest.mark.skipif(SECONDS == 0, reason="a long run: make soak")


def add_up_memory(processes: Iterable[Process]) -> float:
    """Return the processes' private memory in megabytes."""
    kilobytes = 0
    for process in processes:
        with suppress(OSError):
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                kilobytes += int(line.split()[1]) if line.startswith("RssAnon:") else 0
    return kilobytes / MEGABYTE


def count_descriptors(processes: Iterable[Process]) -> int:
    """Return the number of descriptors of these processes, without files of tables. PostgreSQL keeps the
    files that a connection has read open, up to a limit, so that their number grows as connections age.
    """
    count = 0
    for process in processes:
        for descriptor in Path(f"/proc/{process.pid}/fd").glob("*"):
            with suppress(OSError):
                name = str(descriptor.readlink())
                count += TABLES not in name or name.endswith(DELETED)
    return count


def sample(service: Service, samples: Samples) -> None:
    """Measure the permanent processes, and the tables that rows only pass through."""
    roles = {
        "api": service.processes("api"), "worker": service.processes("worker"),
        "postgresql": service.postgresql(),
    }  # fmt: skip
    for role, processes in roles.items():
        memory = add_up_memory(processes)
        samples.add(f"memory of {role}", MEMORY, memory)
        samples.add(f"memory of one process of {role}", PROCESS, memory / max(1, len(processes)))
        samples.add(f"descriptors of {role}", DESCRIPTORS, count_descriptors(processes))
    with psycopg.connect(service.database_url) as connection:
        (size,) = connection.execute(QUEUED).fetchone() or (0,)
        (dead,) = connection.execute(DEAD_ROWS).fetchone() or (0,)
    samples.add("queues", QUEUE, size / MEGABYTE / 1024)
    samples.add("tables", DEAD, dead)


def soak(product: Product, load: Load, samples: Samples, seconds: float) -> None:
    """Measure until the time is up."""
    pause, end, next_sample = threading.Event(), time.monotonic() + seconds, 0.0
    while (now := time.monotonic()) < end and not load.surprises():
        if now >= next_sample:
            sample(product.service, samples)
            next_sample = now + min(MOST_BETWEEN_SAMPLES, seconds / LEAST_SAMPLES)
        _, _, wait_seconds = call(load.senders[0].account, "POST", "/events/track")
        samples.add("an event's answer", LATENCY, 1000 * wait_seconds)
        pause.wait(BETWEEN_PROBES)


@pytest.fixture
def meta() -> Iterator[FakePlatform]:
    with FakePlatform(default=take) as platform:
        yield platform


def describe_growth(samples: Samples) -> str:
    """Return the figures, one per line."""
    lines = [
        f"  {name}: {before:.1f} -> {after:.1f} {measure.unit}"
        for name, measure, before, after in samples.third_medians()
    ]
    answers = sorted(samples.figures["an event's answer"])
    p99 = answers[len(answers) * 99 // 100]
    return "\n".join([*lines, f"  answers p99 {p99:.1f} ms, max {answers[-1]:.1f} ms"])


def measure(product: Product, seconds: float, print_line: Callable[[str], None]) -> tuple[Samples, Run]:
    """Use everything for this time, and measure. Show the figures before the verdict."""
    samples = Samples()
    pause = SHOP_CONNECTIONS * statistics.mean(LARGE_BATCHES) / RATE

    def soak_and_show(load: Load) -> None:
        soak(product, load, samples, seconds)
        print_line(describe_growth(samples))

    return samples, use(product, "soak", soak_and_show, sizes=LARGE_BATCHES, pause=pause)


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def print_at_once(text: str) -> None:
        with capsys.disabled():
            print(f"\n{text}")  # noqa: T201 # a run for its figures

    return print_at_once


def test_nothing_grows(tmp_path: Path, meta: FakePlatform, show: Callable[[str], None]) -> None:
    product = Product(tmp_path, meta)
    samples, outcome = measure(product, SECONDS, show)
    show(describe(product, outcome))
    assert outcome.broken_promises == {}
    assert samples.growing_figures() == set()


def test_catches_a_leak(tmp_path: Path, meta: FakePlatform, show: Callable[[str], None]) -> None:
    leaky_product = Product(tmp_path, meta, "tests.crash.mutant", "leak")
    samples, _ = measure(leaky_product, LEAK_SECONDS, show)
    assert samples.growing_figures() >= {"memory of api", "descriptors of api", "an event's answer"}
