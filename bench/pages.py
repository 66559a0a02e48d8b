"""The console's pages for a size of Space, with one event in a hundred pending: complete answers over HTTP,
one page after another, like a single user.
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

from bench.listing import TOUCHES_PER_EVENT, fill
from bench.load import Result
from bench.reports import build_segments, note_pending
from bench.stage import Stage

REPEATS = 5
EMAIL, PASSWORD = "bench@example.com", "correct horse battery"
PAGES = (
    "", "?tile=spend", "?period=last+90+days", "?period=this+year", "?compare=none",
    "/channels", "/channels?period=today", "/channels?period=yesterday",
    "/channels?period=last+7+days", "/channels?period=this+month", "/channels?period=last+month",
    "/channels?period=last+90+days", "/channels?period=this+year",
    "/channels?compare=previous_year", "/channels?compare=none",
    "/channels?attribution_model=linear", "/channels?attribution_model=u_shaped",
    "/channels?attribution_window=0", "/channels?date_basis=touch", "/channels?conversion=any",
    "/channels?only=channel%3Apaid", "/channels?open=paid",
    "/channels?open=paid&open=paid%2Fgoogle_ads", "/campaigns", "/campaigns?open=google",
    "/campaigns?period=last+90+days", "/ads/comparison", "/spend", "/changes",
    "/models", "/models?group=source", "/models?group=campaign",
    "/models?models=last_touch&models=linear", "/events", "/events?only=channel%3Apaid",
    "/events?only=source%3Ayelp", "/events?credit=unattributed", "/people", "/setup",
    "/data-quality", "/keys", "/paths", "/paths?steps=channel&period=this+year",
    "/cohorts", "/completeness", "/self-reported", "/live", "/sites", "/sources", "/orders",
    "/platforms", "/links", "/alerts", "/alerts/rules", "/alerts/reports", "/settings", "/members",
    "/rates", "/trained-models", "/share-links", "/notes",
)  # fmt: skip
"""Every kind of page, and the first ones with every option that leads to another report."""
VISITS_PER_EVENT = 5
VISITS = """
INSERT INTO visits (space_id, id, contact_id, started_at, last_hit_at, device, tag_set_id, source_id)
SELECT t.space_id, t.id, t.contact_id, t.occurred_at, t.occurred_at,
       md5(t.contact_id::text)::uuid, t.tag_set_id, t.source_id
FROM touchpoints t
WHERE t.space_id = %(space_id)s AND t.id %% %(touches)s < %(visits)s
"""
"""Adds first page views to some of the touchpoints."""


def measure(stage: Stage, print_line: Callable[..., None], sizes: tuple[int, ...]) -> None:
    """Print the part of the table on pages."""
    for size, (space_id, _) in zip(sizes, stage.spaces(len(sizes)), strict=True):
        fill(stage.url, space_id, size)
        _add_visits(stage.url, space_id)
        with psycopg.connect(stage.url, autocommit=True) as connection:
            stage.pause_worker()  # otherwise it would build the pending ones
            build_segments(connection, space_id)
            pending_count = note_pending(connection, space_id)
        print_line(f"Pages of the console, {size:,} events, {pending_count:,} pending")
        measure_pages(stage, print_line, space_id)
        stage.resume_worker()


def measure_pages(stage: Stage, print_line: Callable[..., None], space_id: int) -> None:
    """Print the time of every page, and of all pages together."""
    print_line("first ms", "p50 ms", "max ms", "KB", "KB gzipped", "requests", "page")
    client, firsts, repeats = _visitor(stage, space_id), Result(), Result()
    for page in PAGES:
        path = f"/console/spaces/{space_id}{page}"
        first, answer = _open(client, path)
        timings = [_open(client, path)[0] for _ in range(REPEATS)]
        firsts.latencies.append(first)
        repeats.latencies += timings
        size, gzip_size = len(answer.content), len(gzip.compress(answer.content, 6))
        times = (first, median(timings), max(timings))
        print_line(*(f"{1000 * seconds:.0f}" for seconds in times),
                   *(f"{octets / 1024:.1f}" for octets in (size, gzip_size)),
                   1 + len(set(re.findall(r'(?:src|href)="(/console/static/[^"]+)"', answer.text))),
                   page or "Overview")  # fmt: skip
    print_line(f"All {len(PAGES)}, opened for the first time, and {REPEATS} times again")
    print_line("", "p50 ms", "p95 ms", "max ms")
    for name, result in (("first", firsts), ("again", repeats)):
        print_line(name, *(f"{result.percentile(share):.0f}" for share in (0.5, 0.95, 1)))


def _add_visits(url: str, space_id: int) -> None:
    values = {"space_id": space_id, "touches": TOUCHES_PER_EVENT, "visits": VISITS_PER_EVENT}
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(VISITS, values)
        connection.execute("VACUUM (ANALYZE) visits")


def _open(client: httpx.Client, path: str) -> tuple[float, httpx.Response]:
    start = time.perf_counter()
    answer = client.get(path).raise_for_status()
    return time.perf_counter() - start, answer


def _visitor(stage: Stage, space_id: int) -> httpx.Client:
    """Log in a user who may see the Space."""
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
