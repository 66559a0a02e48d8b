"""Pages of the console at a size of Space, one event in a hundred pending: the whole answer over
HTTP, one after the other, as one person looks through them.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

import httpx
import psycopg

from bench.listing import fill
from bench.load import Result
from bench.reports import build_segments, note_pending
from bench.stage import Stage

REPEATS = 5
EMAIL, PASSWORD = "bench@example.com", "correct horse battery"
PAGES = (
    "", "?period=today", "?period=yesterday", "?period=last+7+days", "?period=this+month",
    "?period=last+month", "?period=last+90+days", "?period=this+year", "?compare=previous_year",
    "?compare=none", "?attribution_model=linear", "?attribution_model=u_shaped",
    "?attribution_window=0", "?date_basis=touch", "?conversion=any",
    "?only=channel%3Apaid", "?open=paid", "?open=paid&open=paid%2Fgoogle_ads",
    "/models", "/models?group=source", "/models?group=campaign",
    "/models?models=last_touch&models=linear", "/events", "/events?only=channel%3Apaid",
    "/events?only=source%3Ayelp", "/events?credit=unattributed", "/people", "/setup",
    "/data-quality", "/keys", "/paths", "/paths?steps=channel&period=this+year",
    "/campaigns", "/cohorts", "/completeness", "/self-reported", "/live", "/sites",
    "/sources", "/orders", "/platforms", "/links", "/share-links", "/notes",
)  # fmt: skip
"""Every kind of page, and the first with every choice that makes it another report."""


def measure(stage: Stage, say: Callable[..., None], sizes: tuple[int, ...]) -> None:
    """Print the part of the table on pages."""
    for size, (space_id, _) in zip(sizes, stage.spaces(len(sizes)), strict=True):
        fill(stage.url, space_id, size)
        with psycopg.connect(stage.url, autocommit=True) as connection:
            stage.pause_worker()  # which would build what is to be pending
            build_segments(connection, space_id)
            pending = note_pending(connection, space_id)
        say(f"Pages of the console, {size:,} events, {pending:,} pending")
        measure_pages(stage, say, space_id)
        stage.resume_worker()


def measure_pages(stage: Stage, say: Callable[..., None], space_id: int) -> None:
    """Print what every page takes, and all of them together."""
    say("first ms", "p50 ms", "max ms", "KB", "KB gzipped", "page")
    client, firsts, again = _visitor(stage, space_id), Result(), Result()
    for page in PAGES:
        path = f"/console/spaces/{space_id}{page}"
        first, answer = _open(client, path)
        taken = [_open(client, path)[0] for _ in range(REPEATS)]
        firsts.latencies.append(first)
        again.latencies += taken
        size, gzipped = len(answer.content), len(gzip.compress(answer.content, 6))
        times = (first, median(taken), max(taken))
        say(*(f"{1000 * seconds:.0f}" for seconds in times),
            *(f"{octets / 1024:.1f}" for octets in (size, gzipped)), page or "Revenue")  # fmt: skip
    say(f"All {len(PAGES)}, opened for the first time, and {REPEATS} times again")
    say("", "p50 ms", "p95 ms", "max ms")
    for name, opened in (("first", firsts), ("again", again)):
        say(name, *(f"{opened.percentile(share):.0f}" for share in (0.5, 0.95, 1)))


def _open(client: httpx.Client, path: str) -> tuple[float, httpx.Response]:
    started = time.perf_counter()
    answer = client.get(path).raise_for_status()
    return time.perf_counter() - started, answer


def _visitor(stage: Stage, space_id: int) -> httpx.Client:
    """A logged-in user who may see the Space."""
    subprocess.run(
        [sys.executable, "-m", "headwater", "user", "create", "--data-dir", str(stage.data_dir),
         "--email", EMAIL, "--role", "owner", "--space", str(space_id), "--password-stdin"],
        input=PASSWORD, text=True, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    client = httpx.Client(base_url=f"http://127.0.0.1:{stage.port}", timeout=60)
    (token,) = re.findall(r'name="form_token" value="([^"]+)"', client.get("/login").text)
    form = {"form_token": token, "email": EMAIL, "password": PASSWORD}
    assert client.post("/login", data=form).status_code == 303
    return client
