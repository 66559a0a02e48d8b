"""GET /reports/cohorts over HTTP: 24 months of customers of a Space with a million events, compared with a
report of the same paths.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from statistics import median
from urllib.parse import urlencode

import psycopg

from bench.listing import fill
from bench.reports import FORGETFUL, REPEATS, build_segments, note_pending
from bench.stage import Stage

DAYS = 720
"""The days over which the events are spread: 24 months."""
PLAIN = "reports"
QUESTIONS: tuple[tuple[str, str, dict[str, str | Sequence[str]]], ...] = (
    ("linear by source", PLAIN, {"measures[]": ("credited_revenue", "credited_events")}),
    ("none", "reports/cohorts", {"group_by": "none"}),
    *(
        (f"{model} by {group}", "reports/cohorts", {"attribution_model": model, "group_by": group})
        for model, group in (
            ("last_touch", "source"), ("linear", "source"), ("u_shaped", "source"),
            ("time_decay", "source"), ("last_non_direct_touch", "channel"), ("linear", "campaign"),
        )
    ),
)  # fmt: skip


def measure(stage: Stage, print_line: Callable[..., None], sizes: tuple[int, ...]) -> None:
    """Print the part of the table on cohorts."""
    for size, (space_id, key) in zip(sizes, stage.spaces(len(sizes)), strict=True):
        fill(stage.url, space_id, size, days=DAYS)
        stage.pause_worker()
        with psycopg.connect(stage.url, autocommit=True) as connection:
            build_segments(connection, space_id)
        stage.resume_worker()
        for cache, variables in (("nothing", FORGETFUL), ("first orders", {})):
            stage.stop()
            stage.start(**variables)
            stage.pause_worker()
            with psycopg.connect(stage.url, autocommit=True) as connection:
                pending_count = note_pending(connection, space_id)
            print_line(f"{size:,} events of 24 months, {pending_count:,} pending; {cache} remembered")
            _measure(stage, print_line, key)
            stage.resume_worker()


def _measure(stage: Stage, print_line: Callable[..., None], key: str) -> None:
    print_line("ms", "CPU ms", "months", "KB", "question")
    client = http.client.HTTPConnection("127.0.0.1", stage.port)
    for name, end, extra_parameters in (QUESTIONS[0], *QUESTIONS):  # the first connects
        cpu = sum(stage.cpu_by_role().values())
        answers = [_ask(client, key, end, extra_parameters) for _ in range(REPEATS)]
        cpu = (sum(stage.cpu_by_role().values()) - cpu) / REPEATS
        milliseconds, body = 1e3 * median(seconds for seconds, _ in answers), answers[-1][1]
        months = len(json.loads(body).get("totals", ())) if end != PLAIN else 0
        print_line(f"{milliseconds:.0f}", f"{1e3 * cpu:.0f}", months, len(body) // 1024, name)


def _ask(
    client: http.client.HTTPConnection, key: str, end: str, extra_parameters: dict[str, str | Sequence[str]]
) -> tuple[float, bytes]:
    today = date.today()  # noqa: DTZ011 - the Space has no time zone
    first = today - timedelta(days=DAYS)
    dates = {"start_date": f"{first} 00:00:00", "end_date": f"{today} 23:59:59"}
    parameters = {**dates, "attribution_model": "linear", "attribution_window": "90", **extra_parameters}
    start = time.perf_counter()
    client.request(
        "GET", f"/public-api/v1/{end}?" + urlencode(parameters, doseq=True),
        headers={"Authorization": f"Bearer {key}"},
    )  # fmt: skip
    response = client.getresponse()
    body = response.read()
    assert response.status == 200, (end, body[:300])
    return time.perf_counter() - start, body
