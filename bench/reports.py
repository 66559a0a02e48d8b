"""Reports over HTTP for a size of Space, with one event in a hundred pending, compared with DuckDB on the
same rows. Also, the cost of building the segments that reports read.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from statistics import median
from urllib.parse import urlencode

import psycopg

from bench import columnar
from bench.bulk_segments import build_by_contact
from bench.listing import DAYS, fill
from bench.load import Result
from bench.questions import ANOTHER, COMPARABLE, QUESTIONS, TOTAL, Question
from bench.stage import Stage
from headwater.attribution.paths.builder import Builder
from headwater.attribution.paths.changes import NOTE_EVENTS
from headwater.attribution.paths.upkeep import forget_space

REPEATS = 3
FORGETFUL = {"HEADWATER_REPORT_MEMORY_MB": "0"}
"""The settings of a service that caches no sums."""
PENDING_SHARE = 100
"""One event in this many is pending."""
MOST_COMPARED = 5_000_000
"""With more events, DuckDB would need about ten gigabytes, and building segments as the worker does would
take an hour.
"""

TOTALS = "SELECT count(*), sum(e.amount) FROM events e WHERE e.space_id = %(space_id)s"
OCTETS = """
SELECT sum(pg_column_size(s.*)) FROM path_segments s WHERE s.space_id = %(space_id)s
"""
SOME_EVENTS = """
SELECT array_agg(e.id) FROM events e WHERE e.space_id = %(space_id)s AND e.id %% %(share)s = 0
"""


def measure(stage: Stage, print_line: Callable[..., None], sizes: tuple[int, ...]) -> None:
    """Print the part of the table on reports."""
    for size in sizes:
        space_id, key, is_new = stage.space_named(f"bench of {size} events")
        stage.pause_worker()
        if is_new:
            fill(stage.url, space_id, size)
            if size > MOST_COMPARED:
                build_by_contact(stage.url, space_id, DAYS)
            else:
                with psycopg.connect(stage.url, autocommit=True) as connection:
                    _measure_segments(stage, print_line, connection, space_id, size)
        for cache, variables in (("nothing", FORGETFUL), ("sums", {})):
            pending_count = _restart(stage, space_id, variables)
            print_line(f"{size:,} events, {pending_count:,} pending; {cache} remembered")
            _measure_reports(stage, print_line, key, REPEATS if variables and size <= MOST_COMPARED else 1)
            _check_totals(stage, space_id, key)
            if not variables:
                print_line("The same questions again")
                _measure_reports(stage, print_line, key, REPEATS)
            elif size <= MOST_COMPARED:
                _compare(stage, print_line, space_id, key)
        stage.resume_worker()


def _restart(stage: Stage, space_id: int, variables: dict[str, str]) -> int:
    """Restart the service with events pending, and return their number."""
    stage.resume_worker()  # otherwise it would not end
    stage.stop()
    stage.start(**variables)
    stage.pause_worker()  # otherwise it would build the pending ones
    with psycopg.connect(stage.url, autocommit=True) as connection:
        return note_pending(connection, space_id)


def build_segments(connection: psycopg.Connection, space_id: int) -> None:
    """Build the segments of a Space from scratch."""
    forget_space(connection, space_id)
    builder = Builder()
    while builder.build_next(connection, space_id):
        pass


def note_pending(connection: psycopg.Connection, space_id: int) -> int:
    """Record some of a Space's events as changed, and return how many."""
    (event_ids,) = connection.execute(SOME_EVENTS, {"space_id": space_id, "share": PENDING_SHARE}).fetchone()
    connection.execute(NOTE_EVENTS, {"space_id": space_id, "event_ids": event_ids})
    return len(event_ids)


def _measure_segments(
    stage: Stage, print_line: Callable[..., None], connection: psycopg.Connection, space_id: int, size: int
) -> None:
    """Build the segments of a Space as the worker does, and print what they cost."""
    before, own_cpu = stage.cpu_by_role(), time.process_time()
    build_segments(connection, space_id)
    cpu_by_role = {role: now - before.get(role, 0) for role, now in stage.cpu_by_role().items()}
    cpu_by_role["worker"] = time.process_time() - own_cpu
    (octets,) = connection.execute(OCTETS, {"space_id": space_id}).fetchone()
    print_line(f"Segments of {size:,} events and {10 * size:,} touchpoints")
    print_line("octets/event", "worker µs", "PostgreSQL µs", "(CPU per event)")
    per_event = [f"{1e6 * cpu_by_role.get(role, 0) / size:.0f}" for role in ("worker", "postgresql")]
    print_line(f"{octets / size:.0f}", *per_event)


def _measure_reports(stage: Stage, print_line: Callable[..., None], key: str, repetitions: int) -> None:
    print_line(f"GET /reports over HTTP: each question {repetitions} times, and the middle one's time")
    print_line("ms", "CPU ms", "question")
    idle = stage.memory()["api"]
    ask = _asker(stage, key)
    ask(ANOTHER)  # connects, and reads the data that every report needs
    before = stage.memory()["api"]
    result = Result()
    with _track_api_memory(stage) as peak:
        for question in QUESTIONS:
            cpu = sum(stage.cpu_by_role().values())
            answers = [ask(question) for _ in range(repetitions)]
            cpu = (sum(stage.cpu_by_role().values()) - cpu) / repetitions
            seconds = median(seconds for seconds, _ in answers)
            result.latencies.append(seconds)
            remarks = [] if "rows" in answers[0][1] else ["refused: it takes too long"]
            print_line(f"{1e3 * seconds:.0f}", f"{1e3 * cpu:.0f}", question.name, *remarks)
    print_line(f"Of these {len(QUESTIONS)}")
    print_line("p50 ms", "p95 ms", "max ms", "API MB idle", "after one", "at its peak")
    figures = [f"{result.percentile(share):.0f}" for share in (0.5, 0.95, 1)]
    print_line(*figures, f"{idle:.0f}", f"{before:.0f}", f"{max(peak):.0f}")


def _check_totals(stage: Stage, space_id: int, key: str) -> None:
    """Raise AssertionError unless a report matches the table's sums."""
    _, answer = _asker(stage, key)(TOTAL)
    with psycopg.connect(stage.url) as connection:
        events, revenue = connection.execute(TOTALS, {"space_id": space_id}).fetchone()
    totals = answer["totals"]
    assert (totals["events"], round(100 * totals["revenue"])) == (events, 100 * revenue), (totals, revenue)


def _compare(stage: Stage, print_line: Callable[..., None], space_id: int, key: str) -> None:
    """Ask DuckDB some of the questions, too, in alternation."""
    print_line("The same of DuckDB, with its own copy of both tables in memory, on two threads")
    print_line("model", "days", "Headwater ms", "DuckDB ms", "ratio")
    ask = _asker(stage, key)
    with columnar.copy_to_duckdb(stage.url, space_id) as duck:
        for question in COMPARABLE:
            headwater_times, duckdb_times = [], []
            for _ in range(REPEATS):
                seconds, answer = ask(question)
                headwater_times.append(seconds)
                start = time.perf_counter()
                rows = duck.execute(columnar.query(question.model, question.days)).fetchall()
                duckdb_times.append(time.perf_counter() - start)
                columnar.check(answer, rows)
            headwater_time, duckdb_time = 1e3 * median(headwater_times), 1e3 * median(duckdb_times)
            days = question.days or "lifetime"
            print_line(
                question.model,
                days,
                f"{headwater_time:.0f}",
                f"{duckdb_time:.0f}",
                f"{headwater_time / duckdb_time:.2f}",
            )


def _asker(stage: Stage, key: str) -> Callable[[Question], tuple[float, dict]]:
    """Return a function that asks a question over a new connection, because the service closes idle ones. It
    returns the seconds and the answer, or the refusal of a report that would take too long.
    """
    client = http.client.HTTPConnection("127.0.0.1", stage.port)
    today = datetime.now().date()  # noqa: DTZ005 - the Space has no time zone

    def ask(question: Question) -> tuple[float, dict]:
        first = today - timedelta(days=89) if question.recent else today.replace(year=2000, day=1)
        dates = {"start_date": f"{first} 00:00:00", "end_date": f"{today} 23:59:59"}
        path = "/public-api/v1/reports?" + urlencode(dates | question.parameters, doseq=True)
        start = time.perf_counter()
        client.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        response = client.getresponse()
        body = response.read()
        seconds = time.perf_counter() - start
        client.close()
        answer = json.loads(body)
        assert response.status == 200 or answer.get("reason") == "too_much", (question.name, answer)
        return seconds, answer

    return ask


@contextmanager
def _track_api_memory(stage: Stage) -> Iterator[list[float]]:
    """Track the peak memory of the API process during the block, in MB."""
    (api,) = [process for process, role in stage.tree() if role == "api"]
    samples, stop = [0.0], threading.Event()

    def sample_memory() -> None:
        while not stop.wait(0.02):
            samples.append(api.memory_full_info().pss / 2**20)

    thread = threading.Thread(target=sample_memory)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()
