"""Exports of a day, plain and credited, compared with a plain COPY of its events, and their memory."""

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

from bench.listing import COMMON, EIGHT, fill
from bench.stage import Stage
from headwater.base.storage import LocalFolder
from headwater.exports.worker import work

DAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
A_MONTH_AGO = DAY - timedelta(days=30)
TEN_FIELDS = [
    "id", "event_time_utc", "profile_id", "company_id", "space_id", "event_name", "amount",
    "is_upsell", "order_id", "order_name",
]  # fmt: skip
CREDITED = {
    "sources": list(COMMON), "attribution_model": "u_shaped", "attribution_window": 90,
}  # fmt: skip
LAST_TOUCH = {**CREDITED, "attribution_model": "last_touch"}
KINDS: dict[str, dict[str, Any]] = {
    "plain, 2 fields": {},
    "plain, 10 fields": {"fields": TEN_FIELDS},
    "u_shaped, 90 days": {**CREDITED, "fields": ["amount", "event_name", "source"]},
    "... and campaigns": {**CREDITED, "fields": ["amount", "event_name", "campaign_id"]},
    "last_touch, 90 days": {**LAST_TOUCH, "fields": ["amount", "event_name", "source"]},
    "... 8 sources": {**LAST_TOUCH, "sources": list(EIGHT), "fields": ["amount", "event_name", "source"]},
    "10 fields, CSV": {"fields": TEN_FIELDS, "format": "csv"},
    "10 fields, Parquet": {"fields": TEN_FIELDS, "format": "parquet"},
}  # fmt: skip
TO_THE_DAY = """
UPDATE events SET event_time = %(day)s + (event_time - date_trunc('day', event_time))
WHERE space_id = %(space_id)s
"""
TEN_COLUMNS = """
COPY (SELECT e.id, e.event_time, e.contact_id, e.company_id, e.space_id, e.event_name, e.amount,
             e.is_upsell, e.order_id, e.order_name
      FROM events e
      WHERE e.space_id = %(space_id)s AND e.event_time >= %(day)s AND e.event_time < %(next_day)s
      ORDER BY e.event_time DESC, e.id DESC) TO STDOUT
"""


def measure(stage: Stage, print_line: Callable[..., None], sizes: tuple[int, ...]) -> None:
    """Print the part of the table on exports."""
    for size, (space_id, key) in zip(sizes, stage.spaces(len(sizes)), strict=True):
        fill(stage.url, space_id, size)
        with psycopg.connect(stage.url, autocommit=True) as connection:
            connection.execute(TO_THE_DAY, {"space_id": space_id, "day": DAY})
            connection.execute("VACUUM (ANALYZE) events")
        print_line(f"Export of a day with {size:,} events")
        _measure_kinds(stage, print_line, space_id, key, DAY)


def measure_one_day(stage: Stage, print_line: Callable[..., None], size: int) -> None:
    """Print the same for one day of a Space with events on many days."""
    space_id, key, is_new = stage.space_named(f"bench of {size} events")
    if is_new:
        fill(stage.url, space_id, size)
    print_line(f"Export of a day of half a year with {size:,} events")
    _measure_kinds(stage, print_line, space_id, key, A_MONTH_AGO)


def _measure_kinds(
    stage: Stage, print_line: Callable[..., None], space_id: int, key: str, day: datetime
) -> None:
    print_line("rows", "count", "rows/s", "file MB", "of plain COPY", "asked to done s", "memory +MB")
    for name, kind in KINDS.items():
        body = {"date": f"{day:%Y-%m-%d}", **kind}
        copy_rate = _copy(stage.url, space_id, day)
        rows, size_bytes, seconds = _job(stage, key, body)
        total_seconds, growth = _export(stage, key, body)
        print_line(name, f"{rows:,}", f"{rows / seconds:,.0f}", f"{size_bytes / 1e6:.1f}",
                   f"{rows / seconds / copy_rate:.2f}", f"{total_seconds:.1f}", f"{growth:.0f}")  # fmt: skip


def _copy(url: str, space_id: int, day: datetime) -> float:
    """Return the rows a second of copying ten columns of the day's events and discarding them."""
    values = {"space_id": space_id, "day": day, "next_day": day + timedelta(days=1)}
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        start = time.perf_counter()
        with cursor.copy(TEN_COLUMNS, values) as copy:
            rows = sum(1 for _ in copy)
        return rows / (time.perf_counter() - start)


def _job(stage: Stage, key: str, body: dict[str, Any]) -> tuple[int, int, float]:
    """Return the rows, the file's bytes, and the seconds of the job alone, from the count to completion."""
    stage.pause_worker()
    client = http.client.HTTPConnection("127.0.0.1", stage.port)
    _send(client, key, "POST", "/events/exports", body)
    with psycopg.connect(stage.url, autocommit=True) as connection:
        start = time.perf_counter()
        assert work(connection, LocalFolder(stage.data_dir / "exports"), stage.url) == 1
        seconds = time.perf_counter() - start
    stage.resume_worker()
    newest = max((stage.data_dir / "exports").iterdir(), key=lambda file: file.stat().st_mtime)
    with psycopg.connect(stage.url, autocommit=True) as connection:
        cursor = connection.execute("SELECT rows_done FROM exports WHERE file = %s", (newest.name,))
        rows = cursor.fetchone()
    assert rows is not None
    return rows[0], newest.stat().st_size, seconds


def _export(stage: Stage, key: str, body: dict[str, Any]) -> tuple[float, float]:
    """Return the seconds of an export over the API, and the growth of its process in MB."""
    client = http.client.HTTPConnection("127.0.0.1", stage.port)
    start = time.perf_counter()
    export = _send(client, key, "POST", "/events/exports", body)
    first = peak = 0.0
    while True:
        status = _send(client, key, "GET", f"/events/exports/{export['export_id']}")
        assert status["status"] != "failed", status
        if status["status"] == "completed":
            return time.perf_counter() - start, peak - first
        memory = _memory(stage)
        first = first or memory
        peak = max(peak, memory)
        time.sleep(0.02)


def _memory(stage: Stage) -> float:
    """Return the memory of the exporter in MB, or 0 before it has started."""
    for process, role in stage.tree():
        if role == "exporter":
            with suppress(psutil.Error):  # it has just ended
                return process.memory_full_info().uss / 2**20
    return 0.0


def _send(client: http.client.HTTPConnection, key: str, method: str, path: str, body: Any = None) -> Any:
    client.request(
        method, "/public-api/v1" + path, json.dumps(body) if body else None,
        {"Authorization": f"Bearer {key}"},
    )  # fmt: skip
    response = client.getresponse()
    answer = response.read()
    assert response.status < 300, answer
    return json.loads(answer)
