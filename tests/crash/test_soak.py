"""Everything in use at once, for long and without any fault: nothing grows that has no reason to.

`make soak` runs it: HEADWATER_SOAK_SECONDS is how long, HEADWATER_SOAK_RATE how many events the
shop sends in a second. What is measured in the last third is held against the one before, as caches
are warm by then. It prints its figures.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from tests.crash.capabilities import take
from tests.crash.journeys import LARGE_BATCHES
from tests.crash.load import Load
from tests.crash.processes import Process
from tests.crash.service import Service
from tests.crash.test_outages import call
from tests.crash.test_whole_product import Run, Whole, describe, use
from tests.support.fake_platform import FakePlatform

SECONDS = float(os.environ.get("HEADWATER_SOAK_SECONDS", "0"))
RATE = float(os.environ.get("HEADWATER_SOAK_RATE", "1000"))
BETWEEN_SAMPLES = 5.0
BETWEEN_PROBES = 0.2
SHOP_CONNECTIONS = 2
MEGABYTE = 1024.0

pytestmark = pytest.mark.skipif(SECONDS == 0, reason="a long run: make soak")


@dataclass(frozen=True)
class Measure:
    """A figure, and how much of it may come on top from one third to the next."""

    unit: str
    factor: float
    more: float

    def grows(self, before: float, after: float) -> bool:
        return after > before * self.factor + self.more


MEMORY, DESCRIPTORS = Measure("MB", 1.1, 8), Measure("descriptors", 1.0, 16)
QUEUE, LATENCY = Measure("MB on disk", 1.5, 16), Measure("ms", 1.5, 10)


@dataclass
class Samples:
    """What was measured, by name and in the order of time."""

    figures: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    measures: dict[str, Measure] = field(default_factory=dict[str, Measure])

    def add(self, name: str, measure: Measure, value: float) -> None:
        self.measures[name] = measure
        self.figures.setdefault(name, []).append(value)

    def thirds(self) -> Iterator[tuple[str, Measure, float, float]]:
        """The median of the second and of the last third of each figure."""
        for name, values in self.figures.items():
            third = len(values) // 3
            before, after = values[third : 2 * third], values[2 * third :]
            yield name, self.measures[name], statistics.median(before), statistics.median(after)


def memory_of(processes: Iterable[Process]) -> float:
    """Megabytes that are these processes' own."""
    kilobytes = 0
    for process in processes:
        with suppress(OSError):
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                kilobytes += int(line.split()[1]) if line.startswith("RssAnon:") else 0
    return kilobytes / MEGABYTE


def descriptors_of(processes: Iterable[Process]) -> int:
    count = 0
    for process in processes:
        with suppress(OSError):
            count += len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
    return count


def sample(service: Service, samples: Samples) -> None:
    """Measure the processes that are always there, and the tables that rows only pass through."""
    roles = {
        "api": service.processes("api"), "worker": service.processes("worker"),
        "postgresql": service.postgresql(),
    }  # fmt: skip
    for role, processes in roles.items():
        samples.add(f"memory of {role}", MEMORY, memory_of(processes))
        samples.add(f"descriptors of {role}", DESCRIPTORS, descriptors_of(processes))
    with psycopg.connect(service.database_url) as connection:
        (size,) = connection.execute(
            "SELECT pg_total_relation_size('inbox') + pg_total_relation_size('rate_limits')"
        ).fetchone() or (0,)
    samples.add("queues", QUEUE, size / MEGABYTE / 1024)


def soak(whole: Whole, load: Load, samples: Samples) -> None:
    """Measure until the time is up."""
    pause, end, next_sample = threading.Event(), time.monotonic() + SECONDS, 0.0
    while (now := time.monotonic()) < end and not load.surprises():
        if now >= next_sample:
            sample(whole.service, samples)
            next_sample = now + BETWEEN_SAMPLES
        _, _, seconds = call(load.senders[0].account, "POST", "/events/track")
        samples.add("an event's answer", LATENCY, 1000 * seconds)
        pause.wait(BETWEEN_PROBES)


@pytest.fixture
def meta() -> Iterator[FakePlatform]:
    with FakePlatform(otherwise=take) as platform:
        yield platform


def show(samples: Samples, ran: Run, whole: Whole) -> Sequence[str]:
    """The figures, a line each."""
    answers = sorted(samples.figures["an event's answer"])
    return [
        *(f"  {name}: {before:.1f} -> {after:.1f} {measure.unit}"
          for name, measure, before, after in samples.thirds()),
        f"  answers p99 {answers[len(answers) * 99 // 100]:.1f} ms, max {answers[-1]:.1f} ms",
        describe(whole, ran),
    ]  # fmt: skip


def test_nothing_grows(
    tmp_path: Path, meta: FakePlatform, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, samples = Whole(tmp_path, meta), Samples()
    pause = SHOP_CONNECTIONS * statistics.mean(LARGE_BATCHES) / RATE
    ran = use(
        whole, "soak", lambda load: soak(whole, load, samples), sizes=LARGE_BATCHES, pause=pause
    )
    with capsys.disabled():
        print("\n" + "\n".join(show(samples, ran, whole)))  # noqa: T201 # a run for its figures
    assert ran.broken == {}
    assert [name for name, measure, *values in samples.thirds() if measure.grows(*values)] == []
