"""Durable ingest: acknowledged events a second, compared with a no-op route of the same server."""

from __future__ import annotations

import http.client
import itertools
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator

import psycopg

from bench.load import Request, Result, keep_busy, request, send_steadily
from bench.stage import Stage

SECONDS = 5.0
TRACK = "/public-api/v1/events/track"
BATCH = "/public-api/v1/events/batch"


def event(number: int, run: str) -> dict[str, object]:
    """Return a realistic purchase, about 600 bytes, from one of 50,000 people."""
    person = number % 50_000
    return {
        "event_name": "purchase", "email": f"person{person}@shop-{person % 900}.example.com",
        "trk_token": f"tok_{person:08d}", "first_name": "Ada", "last_name": "Lovelace",
        "phone": "+4915112345678", "amount": (number % 50_000) / 100,
        "order_id": f"{run}-{number}", "idempotency_key": f"key-{run}-{number}",
        "url": f"https://shop.example.com/checkout/thank-you?order={number}",
        "user_agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0",
        "trk_source": ("google_ads", "facebook_ads", "email", "ai_chat_gpt")[number % 4],
        "trk_campaign": str(100_000 + number % 40), "trk_ad_group": "99887766",
        "trk_ad_id": str(5_000_000 + number % 200), "trk_type": "cpc",
    }  # fmt: skip


def make_single_requests(
    keys: list[str], path: str = TRACK, method: str = "POST"
) -> Callable[[], Iterator[Request]]:
    """Return a maker of requests with one event, each with the next Space's key."""
    return prepare_requests(lambda: distinct_requests(keys, path, method))


def distinct_requests(keys: list[str], path: str = TRACK, method: str = "POST") -> Iterator[Request]:
    """Yield the same requests, generated while they are sent, so that none is a duplicate."""
    run = secrets.token_hex(4)
    for number in itertools.count():
        body = json.dumps(event(number, run)).encode()
        yield request(method, path, keys[number % len(keys)], body)


def batches(keys: list[str], size: int) -> Callable[[], Iterator[Request]]:
    """Return a maker of requests with `size` events."""
    return prepare_requests(lambda: distinct_batches(keys, size), 400)


def distinct_batches(keys: list[str], size: int) -> Iterator[Request]:
    """Yield the same requests, generated while they are sent."""
    run = secrets.token_hex(4)
    for number in itertools.count():
        events = [event(number * size + item, run) for item in range(size)]
        body = json.dumps({"events": events}).encode()
        yield request("POST", BATCH, keys[number % len(keys)], body)


def prepare_requests(
    make: Callable[[], Iterator[Request]], count: int = 60_000
) -> Callable[[], Iterator[Request]]:
    """Return a maker of requests generated in advance, so that generating them takes no CPU time from the
    server. It repeats them at the end: these are duplicates, which ingest accepts like other events.
    """
    ready: list[Request] = []

    def repeat_requests() -> Iterator[Request]:
        return itertools.cycle(ready)

    ready.extend(itertools.islice(make(), count))
    return repeat_requests


def measure(stage: Stage, print_line: Callable[..., None]) -> None:
    """Print the ingest part of the table."""
    keys = [key for _, key in stage.spaces(2_000)]
    stage.pause_worker()
    print_line("Durable ingest, keys spread over 2,000 Spaces, the worker paused")
    print_line("connections", "kind", "events/s", "p50 ms", "p99 ms", "of no-op", "CPU-s per 1,000")
    noop = make_single_requests(keys, "/healthz", "GET")
    for connections in (1, 2, 16, 64):
        idle = keep_busy(stage.port, connections, SECONDS, noop)
        print_line(*_row(stage, connections, 1, make_single_requests(keys), idle))
    for connections in (1, 2, 16):
        print_line(*_row(stage, connections, 100, batches(keys, 100), None))
    stage.resume_worker()
    print_line(f"What that left to process: drained in {stage.wait_until_drained(900):.0f} s")


def _row(stage, connections, size, make, idle_result: Result | None) -> tuple[object, ...]:
    before = stage.cpu_seconds()
    result = keep_busy(stage.port, connections, SECONDS, make)
    cpu = stage.cpu_seconds() - before
    rate = result.rate() * size
    refusals = {status: n for status, n in result.statuses.items() if status != 202}
    return (
        connections, "single" if size == 1 else f"batch of {size}", f"{rate:,.0f}",
        f"{result.percentile(0.5):.2f}", f"{result.percentile(0.99):.2f}",
        f"{result.rate() / idle_result.rate():.2f}" if idle_result else "-",
        f"{1000 * cpu / (rate * result.seconds):.3f}", *([refusals] if refusals else []),
    )  # fmt: skip


def measure_flow(stage: Stage, print_line: Callable[..., None], rate: float = 7_000) -> None:
    """Print the delay until an accepted event is listed, without load and at `rate` events a second."""
    spaces = stage.spaces(16)
    keys = [key for _, key in spaces]
    print_line("Accepted to stored, one sample after another, over 16 Spaces")
    print_line("load", "samples", "p50 ms", "p99 ms", "acknowledged/s", "rows left at the end")
    print_line("none", *_sample_queue(stage, spaces[0], 3.0))
    sampler = SpaceSampler(stage, spaces[0], 12.0)
    sampler.start()
    result = send_steadily(stage.port, rate, 12.0, make_single_requests(keys))
    samples = sampler.join()
    with psycopg.connect(stage.url) as connection:
        (backlog,) = connection.execute("SELECT count(*) FROM inbox").fetchone()
    print_line(f"{rate:,.0f}/s", *samples, f"{result.rate():,.0f}", backlog)
    stage.wait_until_drained(300)


def _sample_queue(stage: Stage, space: tuple[int, str], seconds: float) -> tuple[object, ...]:
    sampler = SpaceSampler(stage, space, seconds)
    sampler.start()
    return sampler.join()


def summarize(latencies: list[float]) -> tuple[object, ...]:
    """Return the number of latencies, their median and their 99th percentile in milliseconds."""
    result = Result(latencies=latencies)
    return len(latencies), f"{result.percentile(0.5):.0f}", f"{result.percentile(0.99):.0f}"


class SpaceSampler:
    """Sends an event, polls the database until it is stored, and repeats."""

    def __init__(self, stage: Stage, space: tuple[int, str], seconds: float, pause: float = 0.002) -> None:
        self._stage, self._space, self._seconds, self._pause = stage, space, seconds, pause
        self._latencies: list[float] = []

    def start(self) -> None:
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()

    def join(self) -> tuple[object, ...]:
        return summarize(self.wait())

    def wait(self) -> list[float]:
        """Return the seconds of each sample."""
        self._thread.join()
        return self._latencies

    def _sample(self) -> None:
        client = http.client.HTTPConnection("127.0.0.1", self._stage.port)
        space_id, key = self._space
        run = secrets.token_hex(4)
        end = time.perf_counter() + self._seconds
        with psycopg.connect(self._stage.url, autocommit=True) as connection:
            for number in itertools.count():
                if time.perf_counter() > end:
                    return
                body = json.dumps(event(number, run))
                client.request("POST", TRACK, body, {"Authorization": f"Bearer {key}"})
                response = client.getresponse()
                response.read()
                accepted_at = time.perf_counter()
                receipt = int(response.headers["x-receipt-id"])
                while not connection.execute(
                    "SELECT 1 FROM events WHERE space_id = %s AND id = %s", (space_id, receipt)
                ).fetchone():
                    time.sleep(self._pause)
                self._latencies.append(time.perf_counter() - accepted_at)
