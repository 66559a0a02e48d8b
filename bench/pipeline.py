"""The pipeline: one worker turns inbox rows into stored facts, compared with COPY of the same rows."""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import msgspec
import psutil
import psycopg
from psycopg import sql

from bench.ingest import event
from bench.stage import Stage
from headwater.database.jobs.connection import connect
from headwater.events.browsing.accepted import AcceptedHit
from headwater.intake.ingest.payload import accept
from headwater.intake.pipeline.batch_runner import BATCH_ROWS, process_space
from headwater.intake.pipeline.read_ahead import NOTHING_AHEAD, ReadAhead

EVENTS = 60_000
ROUNDS = 3
STORED = ("contacts", "contact_identifiers", "events", "touchpoints")
SEEN = ("contacts", "contact_identifiers", "hits", "visits", "touchpoints", "clicks")
PAGES = 4
"""Page views per visit."""


def measure(stage: Stage, print_line: Callable[..., None]) -> None:
    """Print the pipeline part of the table."""
    spaces = iter(space_id for space_id, _ in stage.spaces(2 * 2 * ROUNDS))
    stage.stop()  # otherwise its worker would take the rows
    figures: dict[tuple[str, bool], list[Run]] = {}
    with stage.database() as url:
        for number in range(ROUNDS):
            for kind, tables in (("event", STORED), ("hit", SEEN)):
                for reads_ahead in (number % 2 == 0, number % 2 == 1):
                    run = _measure(url, next(spaces), kind, tables, reads_ahead=reads_ahead)
                    figures.setdefault((kind, reads_ahead), []).append(run)
    stage.start()
    print_line(f"Pipeline: {EVENTS:,} rows of one Space, one worker, batches of {BATCH_ROWS}; medians of"
               f" {ROUNDS} runs in turn")  # fmt: skip
    print_line("kind", "reads ahead", "rows/s", "CPU us, worker", "CPU us, PostgreSQL",
               "bare COPY of the rows, rows/s", "ratio")  # fmt: skip
    for (kind, reads_ahead), runs in figures.items():
        seconds, worker, server, copy_seconds = (
            statistics.median(column) for column in zip(*runs, strict=True)
        )
        print_line(kind, "yes" if reads_ahead else "no", f"{EVENTS / seconds:,.0f}",
                   f"{worker / EVENTS * 1e6:.1f}", f"{server / EVENTS * 1e6:.1f}",
                   f"{EVENTS / copy_seconds:,.0f}", f"{copy_seconds / seconds:.2f}")  # fmt: skip


STORED_COLUMNS = """
SELECT a.attname FROM pg_attribute a
WHERE a.attrelid = %(table)s::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY a.attnum
"""

Run = tuple[float, float, float, float]
"""Seconds to process the rows, CPU seconds of the worker and of its PostgreSQL, and seconds to copy the
stored rows.
"""


def _measure(url: str, space_id: int, kind: str, tables: tuple[str, ...], *, reads_ahead: bool) -> Run:
    read_ahead = ReadAhead() if reads_ahead else NOTHING_AHEAD
    with connect(url) as connection:
        fill(connection, space_id, accepted_events(EVENTS) if kind == "event" else accepted_hits())
        backend = psutil.Process(connection.info.backend_pid)
        before = time.process_time(), sum(backend.cpu_times()[:2]), time.perf_counter()
        with connection.confined(space_id):  # as the worker does
            while process_space(connection, space_id, BATCH_ROWS, read_ahead).rows:
                pass
        after = time.process_time(), sum(backend.cpu_times()[:2]), time.perf_counter()
    worker, server, seconds = (end - start for start, end in zip(before, after, strict=True))
    with psycopg.connect(url, autocommit=True) as plain:
        copy_seconds = sum(copy_rows(plain, table, space_id) for table in tables)
    return seconds, worker, server, copy_seconds


def accepted_events(count: int) -> Iterator[tuple[str, object]]:
    """Yield inbox rows with purchases of 50,000 people."""
    run = secrets.token_hex(4)
    for number in range(count):
        yield "event", accept(msgspec.json.encode(event(number, run)), time.time())


def accepted_hits() -> Iterator[tuple[str, object]]:
    """Yield inbox rows with visits of four pages, a hundred at the same time. Every third visitor is a known
    one.
    """
    run, now = secrets.token_hex(4), int(time.time() * 1000)
    ways = (
        ("?utm_source=fb&utm_medium=cpc&utm_campaign=spring&fbclid={}", None),
        ("?gclid={}&gad_campaignid=123", "https://www.google.com/"),
        ("", "https://www.google.com/"), ("", "https://l.instagram.com/"), ("", None),
    )  # fmt: skip
    for number in range(EVENTS):
        group, page = number // (100 * PAGES), number // 100 % PAGES
        visit = group * 100 + number % 100
        visitor = visit % 200 if visit % 3 == 0 else visit
        query, referrer = ways[visit % 5] if page == 0 else ("", "https://shop.example.com/")
        yield "hit", AcceptedHit(
            key=str(uuid4()), occurred_at=now + number, trk_token=f"tok_{run}_{visitor:08d}",
            url=f"https://shop.example.com/page/{number % 500}{query.format(visit)}",
            referrer=referrer, country="DE", state="Bayern", city="Ulm", device_type="mobile",
            browser="Safari", os="iOS", language="de-DE",
            cookies={"fbp": f"fb.1.{now}.{visitor}"},
        )  # fmt: skip


def fill(connection: psycopg.Connection, space_id: int, rows: Iterator[tuple[str, object]]) -> None:
    """Put rows into a Space's inbox."""
    into = "COPY inbox (space_id, kind, sender, received_at, payload) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(into) as copy:
        for kind, accepted_event in rows:
            copy.write_row((space_id, kind, "api_key", "now", msgspec.json.encode(accepted_event).decode()))
    connection.commit()


def copy_rows(connection: psycopg.Connection, table: str, space_id: int) -> float:
    """Return the seconds to COPY the Space's rows of `table` into an empty table with the same indexes."""
    name, twin = sql.Identifier(table), sql.Identifier(f"bench_{table}")
    connection.execute(sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING ALL)").format(twin, name))
    stored_columns = [
        sql.Identifier(column) for (column,) in connection.execute(STORED_COLUMNS, {"table": table})
    ]
    columns = sql.SQL(", ").join(stored_columns)
    copy_statement = sql.SQL("COPY (SELECT {} FROM {} WHERE space_id = {}) TO STDOUT (FORMAT binary)")
    with connection.cursor() as cursor, cursor.copy(copy_statement.format(columns, name, space_id)) as copy:
        rows = b"".join(bytes(block) for block in copy)
    start = time.perf_counter()
    into = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT binary)").format(twin, columns)
    with connection.cursor() as cursor, cursor.copy(into) as copy:
        copy.write(rows)
    seconds = time.perf_counter() - start
    connection.execute(sql.SQL("DROP TABLE {}").format(twin))
    return seconds
