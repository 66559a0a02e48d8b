"""Browser reports: durable page views a second, compared with a no-op route and with single events, and the
size of the script.
"""

from __future__ import annotations

import gzip
import itertools
import json
import secrets
from collections.abc import Callable, Iterator
from uuid import uuid4

import psycopg

from bench.ingest import SECONDS, make_single_requests, prepare_requests
from bench.load import Request, keep_busy
from bench.stage import Stage
from headwater.intake.tracker.script import make_script

ORIGIN = "https://www.shop.example"
AGENTS = tuple(
    f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36"
    for system in ("Windows NT 10.0; Win64; x64", "X11; Linux x86_64", "Linux; Android 10; K")
    for version in range(120, 141)
)


def sites(url: str, spaces: list[tuple[int, str]]) -> list[str]:
    """Create a site in each Space and return the keys."""
    site_keys = [(space_id, "trk_pk_" + secrets.token_urlsafe(18)) for space_id, _ in spaces]
    with psycopg.connect(url) as connection:
        connection.cursor().executemany(
            "INSERT INTO sites (space_id, name, site_key, origins) VALUES (%s, 'bench', %s, %s)",
            [(space_id, key, [ORIGIN]) for space_id, key in site_keys],
        )
    return [key for _, key in site_keys]


def reports(keys: list[str], size: int) -> Callable[[], Iterator[Request]]:
    """Return a maker of reports with `size` page views each, from 50,000 browsers."""

    def make() -> Iterator[Request]:
        for number in itertools.count():
            page = number % 900
            items = [
                {
                    "type": "page", "key": str(uuid4()), "ago": 12, "referrer": f"{ORIGIN}/",
                    "url": f"{ORIGIN}/p/{page}?utm_source=newsletter&utm_campaign=spring{page}",
                }
                for _ in range(size)
            ]  # fmt: skip
            body = json.dumps({
                "site": keys[number % len(keys)], "token": f"token-{number % 50_000:08d}",
                "fingerprint": f"{number % 50_000:016x}", "language": "en-GB", "consent": {},
                "cookies": {"fbp": "fb.1.1700000000000.1234567890"}, "items": items,
            }).encode()  # fmt: skip
            yield (
                f"POST /t HTTP/1.1\r\nHost: hw.shop.example\r\nOrigin: {ORIGIN}\r\n"
                f"User-Agent: {AGENTS[number % len(AGENTS)]}\r\n"
                f"Content-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
            ).encode() + body

    return prepare_requests(make, 60_000 // size)


def measure(stage: Stage, print_line: Callable[..., None]) -> None:
    """Print the part of the table on browser reports."""
    script = make_script("/t.js", "/t")
    print_line("The tracker's script")
    print_line("bytes", len(script))
    print_line("with gzip", len(gzip.compress(script, 9, mtime=0)))
    spaces = stage.spaces(2_000)
    keys = [key for _, key in spaces]
    site_keys = sites(stage.url, spaces)
    stage.pause_worker()
    print_line("Durable page views, over 2,000 Spaces, the worker paused")
    print_line("connections", "what", "items/s", "p50 ms", "p99 ms", "of no-op", "CPU-s per 1,000")
    noop, event = make_single_requests(keys, "/healthz", "GET"), make_single_requests(keys)
    single_views, batches_of_five = reports(site_keys, 1), reports(site_keys, 5)
    for connections in (1, 16, 64):
        idle = keep_busy(stage.port, connections, SECONDS, noop).rate()
        for label, size, make in (
            ("event", 1, event),
            ("page view", 1, single_views),
            ("5 in one", 5, batches_of_five),
        ):
            print_line(*_row(stage, (connections, label, size), make, idle))
    stage.resume_worker()


def _row(
    stage: Stage, load: tuple[int, str, int], make: Callable[[], Iterator[Request]], idle_cpu: float
) -> tuple[object, ...]:
    connections, name, size = load
    before = stage.cpu_seconds()
    result = keep_busy(stage.port, connections, SECONDS, make)
    cpu = stage.cpu_seconds() - before
    rate = result.rate()
    refusals = {status: count for status, count in result.statuses.items() if status != 202}
    return (
        connections, name, f"{rate * size:,.0f}", f"{result.percentile(0.5):.2f}",
        f"{result.percentile(0.99):.2f}", f"{rate / idle_cpu:.2f}",
        f"{1000 * cpu / (rate * size * result.seconds):.3f}", *([refusals] if refusals else []),
    )  # fmt: skip
