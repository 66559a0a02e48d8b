"""The pipeline: rows of the inbox to stored facts, by one worker, beside COPY of the same rows."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import msgspec
import psycopg
from psycopg import sql

from bench.ingest import event
from bench.stage import Stage
from headwater.browsing.accepted import AcceptedHit
from headwater.ingest.payload import accept
from headwater.jobs.connection import WorkerConnection, connect
from headwater.pipeline.batch_runner import BATCH_ROWS, process_space

EVENTS = 60_000
STORED = ("contacts", "contact_identifiers", "events", "touchpoints")
SEEN = ("contacts", "contact_identifiers", "hits", "visits", "touchpoints", "clicks")
PAGES = 4
"""Page views in a visit."""


def measure(stage: Stage, say: Callable[..., None]) -> None:
    """Print the pipeline part of the table."""
    (events, _), (hits, _) = stage.spaces(2)
    stage.stop()  # its worker would take the rows first
    with stage.database() as url, connect(url) as connection:
        runs = [
            (kind, *_measure(url, connection, space_id, rows, tables))
            for kind, space_id, rows, tables in (
                ("event", events, accepted_events(EVENTS), STORED), ("hit", hits, _hits(), SEEN),
            )
        ]  # fmt: skip
    stage.start()
    say(f"Pipeline: {EVENTS:,} rows of one Space, one worker, batches of {BATCH_ROWS}")
    say("kind", "rows/s", "bare COPY of the rows it stored, rows/s", "ratio")
    for kind, seconds, copying in runs:
        rates = f"{EVENTS / seconds:,.0f}", f"{EVENTS / copying:,.0f}"
        say(kind, *rates, f"{copying / seconds:.2f}")


def _measure(
    url: str,
    connection: WorkerConnection,
    space_id: int,
    rows: Iterator[tuple[str, object]],
    tables: tuple[str, ...],
) -> tuple[float, float]:
    """Seconds to process rows, and to copy what was stored of them."""
    fill(connection, space_id, rows)
    started = time.perf_counter()
    with connection.confined(space_id):  # as the worker does
        while process_space(connection, space_id, BATCH_ROWS).rows:
            pass
    seconds = time.perf_counter() - started
    with psycopg.connect(url, autocommit=True) as plain:
        return seconds, sum(copy_rows(plain, table, space_id) for table in tables)


def accepted_events(count: int) -> Iterator[tuple[str, object]]:
    """Rows of an inbox with purchases of 50,000 people."""
    run = secrets.token_hex(4)
    for number in range(count):
        yield "event", accept(msgspec.json.encode(event(number, run)), time.time())


def _hits() -> Iterator[tuple[str, object]]:
    """Visits of four pages, a hundred under way at a time, every third visitor a known one."""
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
    into = "COPY inbox (space_id, kind, received_at, payload) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(into) as copy:
        for kind, accepted in rows:
            copy.write_row((space_id, kind, "now", msgspec.json.encode(accepted).decode()))
    connection.commit()


def copy_rows(connection: psycopg.Connection, table: str, space_id: int) -> float:
    """Seconds to COPY the Space's rows of `table` into an empty table with the same indexes."""
    name, twin = sql.Identifier(table), sql.Identifier(f"bench_{table}")
    connection.execute(sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING ALL)").format(twin, name))
    out = sql.SQL("COPY (SELECT * FROM {} WHERE space_id = {}) TO STDOUT (FORMAT binary)")
    with connection.cursor() as cursor, cursor.copy(out.format(name, space_id)) as copy:
        rows = b"".join(bytes(block) for block in copy)
    started = time.perf_counter()
    into = sql.SQL("COPY {} FROM STDIN (FORMAT binary)").format(twin)
    with connection.cursor() as cursor, cursor.copy(into) as copy:
        copy.write(rows)
    seconds = time.perf_counter() - started
    connection.execute(sql.SQL("DROP TABLE {}").format(twin))
    return seconds
