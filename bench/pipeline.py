"""The pipeline: rows of the inbox to stored facts, by one worker, beside COPY of the same rows."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

import msgspec
import psycopg
from psycopg import sql

from bench.ingest import event
from bench.stage import Stage
from headwater.ingest.payload import accept
from headwater.pipeline.running import BATCH_ROWS, connect, process_space

EVENTS = 60_000
STORED = ("contacts", "contact_identifiers", "events", "touchpoints")


def measure(stage: Stage, say: Callable[..., None]) -> None:
    """Print the pipeline part of the table."""
    ((space_id, _),) = stage.spaces(1)
    stage.stop()  # its worker would take the rows first
    with stage.database() as url, connect(url) as connection:
        _fill(connection, space_id)
        started = time.perf_counter()
        while process_space(connection, space_id, BATCH_ROWS).rows:
            pass
        seconds = time.perf_counter() - started
        with psycopg.connect(url, autocommit=True) as plain:
            copying = sum(_copy(plain, table, space_id) for table in STORED)
    stage.start()
    say(f"Pipeline: {EVENTS:,} events of one Space, one worker, batches of {BATCH_ROWS}")
    say("events/s", "bare COPY of the rows it stored, events/s", "ratio")
    say(f"{EVENTS / seconds:,.0f}", f"{EVENTS / copying:,.0f}", f"{copying / seconds:.2f}")


def _fill(connection: psycopg.Connection, space_id: int) -> None:
    run = secrets.token_hex(4)
    into = "COPY inbox (space_id, kind, received_at, payload) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(into) as copy:
        for number in range(EVENTS):
            accepted = accept(msgspec.json.encode(event(number, run)), time.time())
            payload = msgspec.json.encode(accepted).decode()
            copy.write_row((space_id, "event", "now", payload))
    connection.commit()


def _copy(connection: psycopg.Connection, table: str, space_id: int) -> float:
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
