"""The spend ledger: a file imported by `headwater import spend`, for new rows and as a replacement, compared
with COPY of the same rows. Also, a full `PUT /spend`.
"""

from __future__ import annotations

import http.client
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from statistics import median

import psycopg

from bench.pipeline import copy_rows
from bench.stage import Stage
from headwater.spend.inputs import MAX_ROWS

ADS = 5_000
"""Different ads, in 1,000 ad sets of 100 campaigns of 5 accounts, each with one row a day."""
REPEATS = 7
_FIRST = date(2026, 1, 1)
_HEADER = (
    "Day,Customer ID,Campaign ID,Campaign,Ad group ID,Ad group,Ad ID,Currency code,Cost,Impr.,"
    "Clicks,Conversions,Conv. value"
)


def measure(stage: Stage, print_line: Callable[..., None], sizes: tuple[int, ...]) -> None:
    """Print the part of the table on spend."""
    for size, (space_id, key) in zip(sizes, stage.spaces(len(sizes)), strict=True):
        with tempfile.TemporaryDirectory() as folder:
            _measure_file(stage, print_line, space_id, Path(folder) / "google.csv", size)
        _measure_put(stage, print_line, key)


def _measure_file(
    stage: Stage, print_line: Callable[..., None], space_id: int, file: Path, size: int
) -> None:
    file.write_text("\n".join([_HEADER, *_lines(size)]))
    print_line(f"A file of {size:,} rows of spend, {file.stat().st_size >> 20} MB")
    print_line("s", "CPU-s", "of it database", "rows/s", "what")
    for name, *options in (
        ("dry run", "--dry-run"), ("new rows",), ("in place of them", "--again"),
    ):  # fmt: skip
        file.touch()  # a later report
        _print_rate(print_line, size, *_import_file(stage, space_id, file, options), name)
    with psycopg.connect(stage.url, autocommit=True) as connection:
        copy_seconds = copy_rows(connection, "spend", space_id)
    _print_rate(print_line, size, copy_seconds, 0.0, copy_seconds, "bare COPY of the rows")


def _print_rate(
    print_line: Callable[..., None],
    size: int,
    seconds: float,
    process_cpu: float,
    database_cpu: float,
    name: str,
) -> None:
    cpu = f"{process_cpu + database_cpu:.1f}", f"{database_cpu:.1f}"
    print_line(f"{seconds:.1f}", *cpu, f"{size / seconds:,.0f}", name)


def _import_file(stage: Stage, space_id: int, file: Path, options: list[str]) -> tuple[float, float, float]:
    """Return the wall seconds of an import, and the CPU seconds of the command and of the database."""
    database_cpu, command_cpu = stage.cpu_by_role()["postgresql"], _children_cpu()
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "headwater", "import", "spend", "--space", str(space_id), str(file),
         "--data-dir", str(stage.data_dir), *options],
        check=True, capture_output=True,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    return seconds, _children_cpu() - command_cpu, stage.cpu_by_role()["postgresql"] - database_cpu


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _lines(size: int) -> Iterator[str]:
    """Yield the rows of a report by ad and day."""
    rng = random.Random(1)  # the same file each time
    for number in range(size):
        day, ad = divmod(number, ADS)
        adset, campaign, account = ad // 5, ad // 50, ad // 1000
        views = rng.randrange(100, 90_000)
        clicks = views // 40
        yield (
            f"{_FIRST + timedelta(days=day)},123-456-78{account:02},{70_000_000 + campaign},"
            f"Campaign {campaign},{80_000_000_000 + adset},Ad group {adset},{90_000_000_000 + ad},"
            f"EUR,{views * 7 / 1000:.2f},{views},{clicks},{clicks / 30:.2f},{views * 3 / 100:.2f}"
        )


def _measure_put(stage: Stage, print_line: Callable[..., None], key: str) -> None:
    print_line(f"PUT /spend of {MAX_ROWS:,} rows over HTTP, beside GET /rates")
    print_line("ms", "CPU ms", "database", "rows/s", "what")
    client = http.client.HTTPConnection("127.0.0.1", stage.port)
    for name, body in (
        ("no-op", None), ("new rows", _body), ("in place", lambda _: _body(0)),
    ):  # fmt: skip
        _send(client, key, None)  # connects
        before = stage.cpu_by_role()
        timings = [_send(client, key, body and body(turn)) for turn in range(REPEATS)]
        after = stage.cpu_by_role()
        cpu, database = (
            1e3 * sum(after[role] - before.get(role, 0) for role in roles) / REPEATS
            for roles in (after, ("postgresql",))
        )
        rate = f"{MAX_ROWS / median(timings):,.0f}" if body else "-"
        print_line(f"{1e3 * median(timings):.0f}", f"{cpu:.0f}", f"{database:.0f}", rate, name)


def _body(turn: int) -> bytes:
    """Return a full report of a day as a request body."""
    return json.dumps({"spend": [
        {
            "date": str(_FIRST - timedelta(days=1 + turn)), "platform": "google",
            "account_id": f"a{ad // 1000}", "campaign_id": f"{70_000 + ad // 50}",
            "campaign_name": f"Campaign {ad // 50}", "adset_id": f"{ad // 5}", "ad_id": str(ad),
            "amount": f"{(turn + ad) / 7:.2f}", "currency": "EUR", "impressions": ad * 40,
            "clicks": ad,
        }
        for ad in range(MAX_ROWS)
    ]}).encode()  # fmt: skip


def _send(client: http.client.HTTPConnection, key: str, body: bytes | None) -> float:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    start = time.perf_counter()
    if body is None:
        client.request("GET", "/public-api/v1/rates?per_page=1", headers=headers)
    else:
        client.request("PUT", "/public-api/v1/spend", body, headers)
    response = client.getresponse()
    answer = response.read()
    assert response.status == 200, answer[:300]
    return time.perf_counter() - start
