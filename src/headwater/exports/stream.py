"""Lines from PostgreSQL to a compressed file: COPY out, gzip, in constant memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isal import igzip
from psycopg import Connection
from psycopg.sql import SQL

from headwater.database.json_lines import Lines
from headwater.storage import Sink

# JSON has no raw control characters. With two of them as quote and delimiter the CSV format writes
# every line as it is, while the text format would double its backslashes.
COPY = SQL("COPY ({}) TO STDOUT (FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02')")

LEVEL = 2
LINES_AT_ONCE = 2000


def write_lines(
    connection: Connection[Any], lines: Lines, sink: Sink, progress: Callable[[int], object]
) -> int:
    """Write the lines to `sink` and return their number. `progress` is called with the number so
    far now and then; an exception that it raises ends the writing.
    """
    written = 0
    held: list[bytes | bytearray | memoryview] = []
    with connection.cursor().copy(COPY.format(lines.query), lines.parameters) as copy:
        for line in copy:
            held.append(line)
            if len(held) == LINES_AT_ONCE:
                sink.write(b"".join(held))
                written += len(held)
                held.clear()
                progress(written)
    sink.write(b"".join(held))
    progress(written + len(held))
    return written + len(held)


def compressed(sink: Sink) -> igzip.IGzipFile:
    """A gzip stream into `sink`, to be closed before it. Equal lines make equal files."""
    return igzip.IGzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=sink, mtime=0)
