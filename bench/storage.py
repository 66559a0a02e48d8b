"""A Space's size on disk: events and page views go through the pipeline. Then every table's rows, indexes and
overhead are listed, per event and per page view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg

from bench.pipeline import accepted_events, accepted_hits, fill
from bench.reports import build_segments
from bench.stage import Stage
from headwater.database.jobs.connection import connect
from headwater.intake.pipeline.batch_runner import process_space
from headwater.intake.pipeline.read_ahead import ReadAhead

EVENTS = 100_000
"""Of 50,000 people, so that half of them come from known people."""

SIZES = """
SELECT c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind = 'r'
"""
INDEXES = """
SELECT i.indexrelid::regclass::text, pg_relation_size(i.indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
WHERE c.relnamespace = 'public'::regnamespace
"""
LEAST = 5.0
"""Tables and indexes with fewer bytes are not listed."""


def measure(stage: Stage, print_line: Callable[..., None]) -> None:
    """Print the part of the table."""
    (events, _), (hits, _) = stage.spaces(2)
    stage.stop()
    with stage.database() as url:
        _store(url, print_line, events, f"{EVENTS:,} events of 50,000 people", accepted_events(EVENTS))
        _store(url, print_line, hits, "60,000 page views in visits of four", accepted_hits())
    stage.start()


def _store(
    url: str, print_line: Callable[..., None], space_id: int, name: str, rows: Iterator[tuple[str, object]]
) -> None:
    with connect(url) as connection:
        tables, indexes = _sizes(connection)
        fill(connection, space_id, rows)
        (count,) = connection.execute("SELECT count(*) FROM inbox").fetchone()
        read_ahead = ReadAhead()
        with connection.confined(space_id):
            while process_space(connection, space_id, read_ahead=read_ahead).rows:
                pass
        with psycopg.connect(url, autocommit=True) as plain:
            build_segments(plain, space_id)
            plain.execute("VACUUM")  # the inbox and the change records are empty now
            after_tables, after_indexes = _sizes(plain)
    print_line(f"Storage of {name}, octets each, once nothing waits or is pending")
    print_line("table", "rows", "indexes")
    total = 0.0
    for table, sizes in sorted(after_tables.items()):
        growth = [(size - old) / count for size, old in zip(sizes, tables[table], strict=True)]
        total += sum(growth)
        if sum(growth) >= LEAST:
            print_line(table, *(f"{octets:.0f}" for octets in growth))
    for index, size in sorted(after_indexes.items()):
        if (octets := (size - indexes[index]) / count) >= LEAST:
            print_line("index", index, f"{octets:.0f}")
    print_line("all", f"{total:.0f}")


def _sizes(connection: psycopg.Connection) -> tuple[dict[str, list[int]], dict[str, int]]:
    tables = {name: [size, index_size] for name, size, index_size in connection.execute(SIZES)}
    return tables, dict(connection.execute(INDEXES).fetchall())
