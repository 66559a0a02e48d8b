"""The credit of three models by source in DuckDB, with queries that a user could write over a copy of the
tables. DuckDB's figures are doubles, ours are exact.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from headwater.sources.catalogue import SOURCES

THREADS = 2
TABLES = {
    "events": ("id", "contact_id", "event_time", "amount::double precision AS amount"),
    "touchpoints": ("id", "contact_id", "occurred_at", "source_id"),
}

LAST = """
SELECT t.source_id, sum(e.amount) FROM events e
ASOF JOIN touchpoints t ON t.contact_id = e.contact_id AND e.event_time >= t.occurred_at
WHERE {window} GROUP BY ALL
"""
PATHS = """
WITH paths AS (
    SELECT e.amount, t.source_id, count(*) OVER path AS touches, row_number() OVER
           (PARTITION BY e.id ORDER BY t.occurred_at, t.id) AS place
    FROM events e
    JOIN touchpoints t ON t.contact_id = e.contact_id AND t.occurred_at <= e.event_time
    WHERE {window} WINDOW path AS (PARTITION BY e.id)
)
SELECT source_id, sum(amount * CASE WHEN touches < 3 THEN 1.0 / touches
    WHEN place IN (1, touches) THEN 0.4 ELSE 0.2 / (touches - 2) END)
FROM paths GROUP BY ALL
"""
LINEAR = """
WITH paths AS (
    SELECT e.id, e.amount, t.source_id FROM events e
    JOIN touchpoints t ON t.contact_id = e.contact_id AND t.occurred_at <= e.event_time
    WHERE {window}
), lengths AS (SELECT id, count(*) AS touches FROM paths GROUP BY ALL)
SELECT source_id, sum(amount / touches) FROM paths JOIN lengths USING (id) GROUP BY ALL
"""
_QUERIES = {"last_touch": LAST, "linear": LINEAR, "u_shaped": PATHS}


def query(model: str, days: int) -> str:
    """Return the query for a model's credited revenue by source, within a window in days. 0 is unlimited."""
    window = f"t.occurred_at >= e.event_time - INTERVAL {days} DAY" if days else "true"
    return _QUERIES[model].format(window=window)


def check(answer: dict[str, Any], rows: list[tuple[int, float]]) -> None:
    """Raise AssertionError when our answer differs from DuckDB's by more than rounding."""
    duckdb_revenue = {SOURCES[source_id - 1]: amount for source_id, amount in rows}
    source, revenue = (answer["columns"].index(name) for name in ("source", "credited_revenue"))
    headwater_revenue = {row[source]: float(row[revenue]) for row in answer["rows"]}
    assert headwater_revenue.keys() == duckdb_revenue.keys()
    assert all(
        abs(headwater_revenue[name] / duckdb_revenue[name] - 1) < 1e-3 for name in headwater_revenue
    ), (headwater_revenue, duckdb_revenue)


@contextmanager
def copy_to_duckdb(url: str, space_id: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a DuckDB that has a Space's events and touchpoints."""
    with (
        tempfile.TemporaryDirectory() as directory,
        duckdb.connect(config={"threads": THREADS}) as duck,
        psycopg.connect(url) as connection,
    ):
        for table, columns in TABLES.items():
            file = Path(directory) / f"{table}.csv"
            rows = f"SELECT {', '.join(columns)} FROM {table} WHERE space_id = {space_id}"
            with (
                file.open("wb") as output,
                connection.cursor() as cursor,
                cursor.copy(f"COPY ({rows}) TO STDOUT (FORMAT csv, HEADER)") as copy,
            ):
                for block in copy:
                    output.write(block)
            duck.execute(f"CREATE TABLE {table} AS FROM read_csv('{file}')")
            file.unlink()
        yield duck
