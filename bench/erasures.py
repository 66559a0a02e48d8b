"""An export of every contact while contacts are erased one by one: its duration, and how long an erasure
waits for it.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import psycopg

from bench.people import People, fill
from bench.stage import Stage

API = "/public-api/v1"
RATES = (0.0, 0.2, 1.0, 5.0)
"""Erasures a second."""
LOOK_SECONDS = 0.05
WAITED = """
SELECT count(*), coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY waited), 0),
       coalesce(max(waited), 0)
FROM (SELECT extract(epoch FROM erased_at - requested_at)::float8 AS waited FROM erasures
      WHERE space_id = %(space_id)s AND requested_at >= %(since)s) erased
"""
LEFT = "SELECT count(*) FROM erasures WHERE space_id = %(space_id)s AND erased_at IS NULL"


def measure(stage: Stage, print_line: Callable[..., None], sizes: tuple[int, ...]) -> None:
    """Print the part of the table on exports during erasures."""
    for size, (space_id, key) in zip(sizes, stage.spaces(len(sizes)), strict=True):
        client = http.client.HTTPConnection("127.0.0.1", stage.port)
        people = People(client, key, 10_000_000_000 * space_id, size, datetime.now(UTC))
        fill(stage.url, space_id, people)
        print_line(f"Export of {size:,} contacts while people are erased")
        print_line("erasures/s", "export s", "erased", "waited p50 s", "max s")
        first = 0
        for rate in RATES:
            seconds, erased_count, half, longest = _run(stage, space_id, people, rate, first)
            first += erased_count
            print_line(rate, f"{seconds:.1f}", erased_count, f"{half:.2f}", f"{longest:.2f}")


def _run(
    stage: Stage, space_id: int, people: People, rate: float, first_person: int
) -> tuple[float, int, float, float]:
    """Return the export's seconds, the number of erasures, and the seconds they waited."""
    is_over = threading.Event()
    with psycopg.connect(stage.url, autocommit=True) as connection:
        since = connection.execute("SELECT clock_timestamp()").fetchone()
        assert since is not None
        eraser = threading.Thread(target=_erase, args=(stage, people, rate, first_person, is_over))
        eraser.start()
        try:
            seconds = _export(stage, people.key)
        finally:
            is_over.set()
            eraser.join()
        values = {"space_id": space_id, "since": since[0]}
        while connection.execute(LEFT, values).fetchone() != (0,):
            time.sleep(LOOK_SECONDS)
        row = connection.execute(WAITED, values).fetchone()
        assert row is not None
        return (seconds, *row)


def _erase(stage: Stage, people: People, rate: float, first_person: int, end_event: threading.Event) -> None:
    """Request erasures of one contact after another, at an even rate."""
    with closing(http.client.HTTPConnection("127.0.0.1", stage.port)) as client:
        contact_id = people.base + first_person
        while rate and not end_event.wait(1 / rate):
            contact_id += 1
            _send(client, people.key, "DELETE", f"/contacts/{contact_id}/pii")


def _export(stage: Stage, key: str) -> float:
    """Return the seconds from the request to the file."""
    with closing(http.client.HTTPConnection("127.0.0.1", stage.port)) as client:
        start = time.perf_counter()
        export = _send(client, key, "POST", "/contacts/exports", {"whole_range": True})
        path = f"/contacts/exports/{export['export_id']}"
        while (status := _send(client, key, "GET", path))["status"] in ("queued", "processing"):
            time.sleep(LOOK_SECONDS)
        assert "erased since" in status.get("message", "erased since"), status
        return time.perf_counter() - start


def _send(client: http.client.HTTPConnection, key: str, method: str, path: str, body: Any = None) -> Any:
    text = None if body is None else json.dumps(body)
    client.request(method, API + path, text, {"Authorization": f"Bearer {key}"})
    response = client.getresponse()
    answer = response.read()
    assert response.status < 300, (method, path, answer[:300])
    return json.loads(answer) if answer else None
