"""Exports of a day, plain and credited, beside the bare COPY of the same rows; and their memory."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import psutil
import psycopg

from bench.listing import COMMON, fill
from bench.stage import Stage
from headwater.events.export_lines import event_lines
from headwater.events.parameters import read_selection
from headwater.exports.jobs import queries
from headwater.exports.stream import COPY
from headwater.exports.worker import work
from headwater.http.parameters import JsonInput
from headwater.http.timerange import TimeRange
from headwater.storage import LocalFolder

DAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
WHOLE_DAY = TimeRange(DAY, DAY + timedelta(days=1))
TEN_FIELDS = [
    "id", "event_time_utc", "profile_id", "company_id", "space_id", "event_name", "amount",
    "is_upsell", "order_id", "order_name",
]  # fmt: skip
CREDITED = {
    "sources": list(COMMON), "attribution_model": "u_shaped", "attribution_window": 90,
}  # fmt: skip
KINDS: dict[str, dict[str, Any]] = {
    "plain, 2 fields": {},
    "plain, 10 fields": {"fields": TEN_FIELDS},
    "u_shaped, 90 days": {**CREDITED, "fields": ["amount", "event_name", "source"]},
    "... and campaigns": {**CREDITED, "fields": ["amount", "event_name", "campaign_id"]},
}  # fmt: skip
TO_THE_DAY = """
UPDATE events SET event_time = %(day)s + (event_time - date_trunc('day', event_time))
WHERE space_id = %(space_id)s
"""


def measure(stage: Stage, say: Callable[..., None], sizes: tuple[int, ...]) -> None:
    """Print the part of the table on exports."""
    for size, (space_id, key) in zip(sizes, stage.spaces(len(sizes)), strict=True):
        fill(stage.url, space_id, size)
        with psycopg.connect(stage.url, autocommit=True) as connection:
            connection.execute(TO_THE_DAY, {"space_id": space_id, "day": DAY})
            connection.execute("VACUUM (ANALYZE) events")
        say(f"Export of a day with {size:,} events")
        say("rows", "count", "rows/s", "MB/s", "of bare COPY", "asked to done s", "memory +MB")
        for name, body in KINDS.items():
            rows, size_bytes, bare = _bare(stage.url, space_id, body)
            seconds = _job(stage, key, body)
            whole, grown = _export(stage, key, body)
            say(name, f"{rows:,}", f"{rows / seconds:,.0f}", f"{size_bytes / seconds / 1e6:.0f}",
                f"{bare / seconds:.2f}", f"{whole:.1f}", f"{grown:.0f}")  # fmt: skip


def _bare(url: str, space_id: int, body: dict[str, Any]) -> tuple[int, int, float]:
    """Rows, bytes and seconds of reading the same rows and doing nothing with them."""
    with psycopg.connect(url) as connection:
        connection.execute(queries["snapshot"])
        lines = event_lines(connection, space_id, read_selection(JsonInput(body), WHOLE_DAY))
        rows = size = 0
        started = time.perf_counter()
        with connection.cursor().copy(COPY.format(lines.query), lines.parameters) as copy:
            for line in copy:
                rows += 1
                size += len(line)
        return rows, size, time.perf_counter() - started


def _job(stage: Stage, key: str, body: dict[str, Any]) -> float:
    """The seconds of the job alone: count, COPY, gzip, fsync, hand-over."""
    stage.pause_worker()
    client = http.client.HTTPConnection("127.0.0.1", stage.port)
    _send(client, key, "POST", "/events/exports", {"date": f"{DAY:%Y-%m-%d}", **body})
    with psycopg.connect(stage.url, autocommit=True) as connection:
        started = time.perf_counter()
        assert work(connection, LocalFolder(stage.data_dir / "exports"), stage.url) == 1
        seconds = time.perf_counter() - started
    stage.resume_worker()
    return seconds


def _export(stage: Stage, key: str, body: dict[str, Any]) -> tuple[float, float]:
    """The seconds of an export over the API, and how much its process grew in MB."""
    client = http.client.HTTPConnection("127.0.0.1", stage.port)
    started = time.perf_counter()
    asked = _send(client, key, "POST", "/events/exports", {"date": f"{DAY:%Y-%m-%d}", **body})
    first = most = 0.0
    while True:
        told = _send(client, key, "GET", f"/events/exports/{asked['export_id']}")
        assert told["status"] != "failed", told
        if told["status"] == "completed":
            return time.perf_counter() - started, most - first
        memory = _memory(stage)
        first = first or memory
        most = max(most, memory)
        time.sleep(0.02)


def _memory(stage: Stage) -> float:
    """What the exporter has of its own, in MB; 0 while there is none."""
    for process, role in stage.tree():
        if role == "exporter":
            with suppress(psutil.Error):  # gone while it was looked at
                return process.memory_full_info().uss / 2**20
    return 0.0


def _send(
    client: http.client.HTTPConnection, key: str, method: str, path: str, body: Any = None
) -> Any:
    client.request(
        method, "/public-api/v1" + path, json.dumps(body) if body else None,
        {"Authorization": f"Bearer {key}"},
    )  # fmt: skip
    response = client.getresponse()
    told = response.read()
    assert response.status < 300, told
    return json.loads(told)
