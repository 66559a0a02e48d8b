"""A cluster compared with a single PostgreSQL: ingest over many Spaces, and the pipeline with one worker and
with three, in alternation. HEADWATER_BENCH_CLUSTER_URL names the first node of a cluster (Citus), and a
database for this purpose only, because the measured rows stay in it.

CPU time includes only the servers on this machine, not nodes on others.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil
import psycopg

from bench.ingest import make_single_requests
from bench.load import Request, keep_busy
from bench.pipeline import accepted_events, fill
from bench.stage import Stage
from headwater.database.cluster.distribution import distribute
from headwater.database.jobs.duties import Duty
from headwater.database.jobs.worker import Worker
from headwater.database.migrator import migrate
from headwater.intake.inbox.queue import find_next_waiting_spaces
from headwater.intake.pipeline.duty import make_pipeline_duty

VARIABLE = "HEADWATER_BENCH_CLUSTER_URL"
ROUNDS = 3
SPACES = 100
CONNECTIONS = 64
SECONDS = 2.0
TURNS = 4
"""Ingest turns in a round."""
QUEUES = ((20, 1_000, "1,000 of a Space"), (400, 1, "one of a Space"))
"""Numbers of Spaces, and of waiting rows in each."""
WORKERS = (1, 3)

SERVERS = {
    True: "SELECT CASE WHEN n.groupid = 0 THEN 'coordinator' ELSE 'nodes' END, r.result"
    " FROM run_command_on_all_nodes('SHOW data_directory') r JOIN pg_dist_node n USING (nodeid)",
    False: "SELECT 'postgresql', current_setting('data_directory')",
}


class ClusterStage(Stage):
    """A running service whose database is a cluster."""

    def __init__(self, data_dir: Path, url: str) -> None:
        super().__init__(data_dir, HEADWATER_DATABASE_URL=url)
        self._url = url
        migrate(url)
        with psycopg.connect(url, autocommit=True) as connection:
            distribute(connection)

    @property
    def url(self) -> str:
        return self._url

    @contextmanager
    def database(self) -> Iterator[str]:
        yield self._url


class Run(NamedTuple):
    """The number of events, the time taken, and the CPU time of each part in seconds."""

    events: int
    seconds: float
    cpu: dict[str, float]

    def rate(self) -> float:
        return self.events / self.seconds

    def cost(self) -> float:
        """CPU time of all parts, in milliseconds per event."""
        return 1_000 * sum(self.cpu.values()) / self.events


def measure(stage: Stage, print_line: Callable[..., None], rounds: int = ROUNDS) -> None:
    """Print this part of the table, or that there is no cluster."""
    url = os.environ.get(VARIABLE)
    if not url:
        print_line(f"A cluster: {VARIABLE} is not set")
        return
    stage.stop()
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as directory:
        pair = {"single": stage, "cluster": ClusterStage(Path(directory) / "data", url)}
        _measure_ingest(print_line, pair, TURNS * rounds)
        for spaces, rows, kind in QUEUES:
            event_rows = list(accepted_events(rows))
            runs = {
                f"{name}, {workers}": partial(_process, database, spaces, event_rows, workers)
                for workers in WORKERS
                for name, database in pair.items()
            }
            _compare(print_line, f"Pipeline, {kind}, by workers", runs, rounds)
    stage.start()


def _compare(
    print_line: Callable[..., None], title: str, runs: dict[str, Callable[[], Run]], rounds: int
) -> None:
    """Run the alternatives in turn, and print their medians over all rounds, with shares of the first
    one's.
    """
    runs_by_name: dict[str, list[Run]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            runs_by_name[name].append(run())
    print_line(f"{title}; CPU in ms an event; shares compare the speed with the first line")
    print_line("database", "events/s", "of it", "CPU", "by CPU", "of which")
    (first, *_) = runs_by_name.values()
    for name, database_runs in runs_by_name.items():
        speed_ratio = _median(
            run.rate() / first_run.rate() for run, first_run in zip(database_runs, first, strict=True)
        )
        cpu_ratio = _median(
            first_run.cost() / run.cost() for run, first_run in zip(database_runs, first, strict=True)
        )
        parts = {
            role: _median(1_000 * run.cpu.get(role, 0.0) / run.events for run in database_runs)
            for role in database_runs[0].cpu
        }
        print_line(
                   name, f"{_median(run.rate() for run in database_runs):,.0f}", f"{speed_ratio:.2f}",
                   f"{_median(run.cost() for run in database_runs):.3f}", f"{cpu_ratio:.2f}",
                   " ".join(f"{role} {cost:.3f}" for role, cost in parts.items()),
        )  # fmt: skip


def _median(figures: Iterator[float]) -> float:
    return statistics.median(figures)


def _measure_ingest(print_line: Callable[..., None], pair: dict[str, Stage], turns: int) -> None:
    """Measure both services in turn while both run, so that other load on the machine affects both."""
    runs: dict[str, Callable[[], Run]] = {}
    for name, stage in pair.items():
        stage.start()
        make = make_single_requests([key for _, key in stage.spaces(SPACES)])
        stage.pause_worker()
        keep_busy(stage.port, CONNECTIONS, 1.0, make)
        runs[name] = partial(_ingest, stage, make)
    title = f"Ingest over {SPACES} Spaces at {CONNECTIONS} connections, workers paused"
    _compare(print_line, title, runs, turns)
    for stage in pair.values():
        stage.resume_worker()
        stage.wait_until_drained(600)
        stage.stop()


def _ingest(stage: Stage, make: Callable[[], Iterator[Request]]) -> Run:
    before = _cpu(stage.url) | {"api": stage.cpu_by_role()["api"]}
    result = keep_busy(stage.port, CONNECTIONS, SECONDS, make)
    after = _cpu(stage.url) | {"api": stage.cpu_by_role()["api"]}
    assert set(result.statuses) == {202}, result.statuses
    return Run(result.statuses[202], result.seconds, _difference(before, after))


def _process(stage: Stage, spaces: int, rows: Sequence[tuple[str, object]], workers: int) -> Run:
    with stage.database() as url:
        space_ids = [space_id for space_id, _ in stage.spaces(spaces)]
        with psycopg.connect(url) as connection:
            for space_id in space_ids:
                fill(connection, space_id, iter(rows))
        before = _cpu(url)
        seconds, worker_cpu = _run_workers(url, workers)
        cpu = _difference(before, _cpu(url)) | {"workers": worker_cpu}
    return Run(spaces * len(rows), seconds, cpu)


def _run_workers(url: str, count: int) -> tuple[float, float]:
    """Return the seconds until nothing waits, and the workers' CPU seconds."""
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe() for _ in range(count)]
    processes = [context.Process(target=_work, args=(url, worker_pipe)) for _, worker_pipe in pipes]
    for process in processes:
        process.start()
    for own_pipe, _ in pipes:
        own_pipe.recv()
    start = time.perf_counter()
    for own_pipe, _ in pipes:
        own_pipe.send(None)
    worker_cpu = sum(own_pipe.recv() for own_pipe, _ in pipes)
    seconds = time.perf_counter() - start
    for process in processes:
        process.join()
    return seconds, worker_cpu


def _work(url: str, pipe: object) -> None:
    """Run a worker with only the pipeline's job, from the common start until nothing waits."""
    stop, cpu_marks = threading.Event(), list[float]()

    def begin(connection: psycopg.Connection) -> list[int]:
        find_next_waiting_spaces(connection, 0, 1)  # loads what every session loads once
        pipe.send(None)
        pipe.recv()
        cpu_marks.append(time.process_time())
        return []

    def end(connection: psycopg.Connection) -> list[int]:
        if not find_next_waiting_spaces(connection, 0, 1):
            stop.set()
        return []

    first, last = Duty(begin, _do_nothing, pause_seconds=math.inf), Duty(end, _do_nothing)
    Worker(url, stop, [first, make_pipeline_duty(), last]).run()
    pipe.send(time.process_time() - cpu_marks[0])


def _do_nothing(_: psycopg.Connection, __: int) -> bool:
    return False


def _cpu(url: str) -> dict[str, float]:
    """Return the CPU seconds of a database's servers so far."""
    with psycopg.connect(url) as connection:
        query = "SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')"
        (has_citus,) = connection.execute(query).fetchone()
        servers = connection.execute(SERVERS[has_citus]).fetchall()
    sums: dict[str, float] = {}
    for role, directory in servers:
        with suppress(OSError):  # on another machine
            pid = int((Path(directory) / "postmaster.pid").read_text().split()[0])
            sums[role] = sums.get(role, 0.0) + _tree_cpu(psutil.Process(pid))
    return sums


def _tree_cpu(top: psutil.Process) -> float:
    """Return the CPU seconds of a process and its children, including ended ones."""
    seconds = sum(top.cpu_times()[:4])
    for process in top.children():
        with suppress(psutil.Error):
            seconds += sum(process.cpu_times()[:2])
    return seconds


def _difference(start: dict[str, float], end: dict[str, float]) -> dict[str, float]:
    return {role: end[role] - start[role] for role in end}
