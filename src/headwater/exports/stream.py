"""Lines from PostgreSQL to a compressed file: rows as they come, gzip, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from itertools import islice
from typing import Any, cast

from isal import igzip
from psycopg import Connection

from headwater.database.json_lines import Lines
from headwater.storage import Sink

LEVEL = 2
LINES_AT_ONCE = 2000


def write_lines(
    connection: Connection[Any], lines: Lines, sink: Sink, progress: Callable[[int], object]
) -> int:
    """Write the lines to `sink` and return their number. `progress` is called with the number so
    far now and then; an exception that it raises ends the writing.
    """
    written = 0
    # Read by COPY, every line would be a message of its own, at three times the CPU time here.
    stream = connection.cursor().stream(
        lines.query, lines.parameters, binary=True, size=LINES_AT_ONCE
    )
    # Closed at once also after an error: until then nothing else can use the connection.
    with closing(cast("Generator[tuple[str]]", stream)) as rows:
        while held := [line for (line,) in islice(rows, LINES_AT_ONCE)]:
            held.append("")
            sink.write("\n".join(held).encode())
            written += len(held) - 1
            progress(written)
    return written


def compressed(sink: Sink) -> igzip.IGzipFile:
    """A gzip stream into `sink`, to be closed before it. Equal lines make equal files."""
    return igzip.IGzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=sink, mtime=0)
