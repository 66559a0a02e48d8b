"""A year of a shop's orders: an import that is killed and continued imports every order once, and its figures
equal those of plain Python to the cent.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

from psycopg import AsyncConnection

from headwater.intake.imports.file_readings import read_file
from headwater.intake.imports.formats.choices import NO_CHOICES
from headwater.intake.imports.formats.files import open_source
from headwater.intake.imports.importer import Import
from headwater.intake.imports.rejected_rows import RejectedRowFile
from headwater.intake.pipeline.batch_runner import BATCH_ROWS
from headwater.sources.source_names import SHIPPED_ALONE
from headwater.spaces.spaces import fetch_space
from tests.support.campaigns import campaign_size
from tests.support.forks import run_copy
from tests.support.import_desk import Desk, client_for_stage
from tests.support.importing import Importer
from tests.support.pipeline import Stage as Pipeline
from tests.support.shop_exports import ExpectedImport, write_shopify

ORDERS = campaign_size("HEADWATER_PAST_ORDERS", 1200, 50_000)
MOST_SECONDS = 60
"""On an otherwise idle machine."""
YEAR = {"start_date": "2025-01-01 00:00:00", "end_date": "2026-12-31 23:59:59"}


def import_and_die(importer: Importer, url: str, file: Path) -> int:
    """Import until the second chunk is stored, then die. Return the exit code."""

    async def run() -> None:
        with open_source(str(file), "csv") as source:
            reading = read_file("orders", source, NO_CHOICES, {})
            async with await AsyncConnection.connect(url, autocommit=True) as connection:
                space = await fetch_space(connection, importer.stage.space_id)
                refusals = RejectedRowFile(Path(f"{file}.refused.ndjson"), dry=False)
                job = Import(space, "orders", source, reading.columns, refusals, notation=reading.notation)
                await job.begin(connection, again=False)
                async for progress in job.chunks(connection):
                    if progress.rows_done > 1500:
                        os.kill(os.getpid(), signal.SIGKILL)

    return run_copy(lambda: None, lambda: asyncio.run(run()))


def add_up(pipeline: Pipeline) -> tuple[dict[str, Decimal], dict[str, Decimal]]:
    """Return the stored revenue and refunds by currency."""
    revenue: defaultdict[str, Decimal] = defaultdict(Decimal)
    refunds: defaultdict[str, Decimal] = defaultdict(Decimal)
    for currency, amount in pipeline.rows("events", "currency", "amount"):
        (revenue if amount >= 0 else refunds)[currency or "USD"] += abs(amount)
    return revenue, refunds


def check_figures(pipeline: Pipeline, expected: ExpectedImport) -> None:
    assert pipeline.values("events", "amount >= 0").count(True) == expected.orders
    assert add_up(pipeline) == (expected.revenue, expected.refunds)
    assert pipeline.rows("rejected", "reason") == pipeline.rows("duplicates", "reason") == []
    touches = Counter(
        SHIPPED_ALONE.get_name(number) for number in pipeline.values("touchpoints", "source_id")
    )
    assert touches == Counter({name: count for name, count in expected.sources.items() if name})


def test_it_works(importer: Importer, desk: Desk, database_url: str) -> None:
    pipeline = Pipeline(importer.stage.connection, importer.stage.space_id)
    file = importer.folder / "orders_export.csv"
    expected = write_shopify(file, ORDERS)
    start_time = time.monotonic()
    assert import_and_die(importer, database_url, file) == -signal.SIGKILL
    assert 0 < sum(kind == "event" for kind, _ in importer.waiting()) < expected.orders
    report = importer.run("orders", file, status=1)
    import_seconds = time.monotonic() - start_time
    assert 1500 < report["rows_done_before"] < report["rows"] <= expected.rows
    assert (report["queued"], report["refused"]) == (expected.orders, expected.refusals.total())
    assert report["reasons"] == expected.refusals
    assert Counter(report["sources"]) + Counter({"": report["without_source"]}) == expected.sources
    pipeline.process(BATCH_ROWS)
    total_seconds = time.monotonic() - start_time
    check_figures(pipeline, expected)
    with client_for_stage(desk, importer.stage) as client:
        request_time = time.monotonic()
        answer = client.get("/reports", params={**YEAR, "measures[]": "orders"})
        report_seconds = time.monotonic() - request_time
    assert answer.json()["overall"]["orders"] == expected.orders, answer.text
    seconds = f"{ORDERS} orders: imported in {import_seconds:.1f} s, processed in {total_seconds:.1f} s"
    sys.stderr.write(f"{seconds}, reported in {report_seconds:.2f} s\n")
    assert total_seconds < MOST_SECONDS * max(1, os.getloadavg()[0] / (os.cpu_count() or 1))
