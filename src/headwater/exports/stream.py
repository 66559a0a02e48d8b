"""Stream lines from PostgreSQL to files, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import islice
from typing import Any, cast

from isal import igzip
from msgspec import Struct
from psycopg import Connection

from headwater.base.storage import Sink
from headwater.database.json_lines import LineColumn, Lines
from headwater.exports.csv_rows import write_csv
from headwater.exports.formats import FileForm, Format
from headwater.exports.parquet_rows import write_parquet

LEVEL = 2
LINES_AT_ONCE = 2000


class FileSet(Struct, frozen=True):
    form: FileForm
    rows_per_file: int | None
    """None for a single file of any size."""
    open: Callable[[int], AbstractContextManager[Sink]]


class LineReader:
    """Reads lines in batches, one batch ahead, to know whether there are more."""

    def __init__(self, batches: Iterator[list[str]], progress: Callable[[int], object]) -> None:
        self.lines_read: int = 0
        """The number of lines read so far."""
        self._batches = batches
        self._progress = progress
        self._held_lines = next(batches, list[str]())

    @property
    def is_at_end(self) -> bool:
        return not self._held_lines

    def read(self, max_lines: int | None) -> Iterator[list[str]]:
        """Yield at most `max_lines` lines in batches. `progress` receives the number so far after each; its
        exception ends the reading.
        """
        end = None if max_lines is None else self.lines_read + max_lines
        while self._held_lines and self.lines_read != end:
            room = None if end is None else end - self.lines_read
            lines, self._held_lines = self._held_lines[:room], [] if room is None else self._held_lines[room:]
            self._held_lines = self._held_lines or next(self._batches, list[str]())
            self.lines_read += len(lines)
            yield lines
            self._progress(self.lines_read)


def write_files(
    connection: Connection[Any], lines: Lines, files: FileSet, progress: Callable[[int], object]
) -> list[int]:
    """Write at least one file, and return the rows of each. `progress` receives the number so far; its
    exception ends the writing.
    """
    rows: list[int] = []
    with closing(_batches(connection, lines)) as batches:
        reader = LineReader(batches, progress)
        while not rows or not reader.is_at_end:
            before = reader.lines_read
            with files.open(len(rows) + 1) as sink, _encoded(sink, files.form) as stream:
                write = _WRITERS[files.form.format]
                write(reader.read(files.rows_per_file), lines.columns, stream)
            rows.append(reader.lines_read - before)
    return rows


def _batches(connection: Connection[Any], lines: Lines) -> Generator[list[str]]:
    for line_part in lines.parts:
        # COPY would send each line as a message, at three times the CPU time here.
        stream = connection.cursor().stream(
            lines.query, {**lines.parameters, **line_part}, binary=True, size=LINES_AT_ONCE
        )
        # Also closed immediately after an error: until then nothing else can use the connection.
        with closing(cast("Generator[tuple[str]]", stream)) as rows:
            while batch := [line for (line,) in islice(rows, LINES_AT_ONCE)]:
                yield batch


def _write_ndjson(batches: Iterable[Sequence[str]], _: Sequence[LineColumn], sink: Sink) -> None:
    for lines in batches:
        sink.write("\n".join([*lines, ""]).encode())


_WRITERS: dict[Format, Callable[[Iterable[Sequence[str]], Sequence[LineColumn], Sink], None]] = {
    Format.NDJSON: _write_ndjson,
    Format.CSV: write_csv,
    Format.PARQUET: write_parquet,
}


@contextmanager
def _encoded(sink: Sink, form: FileForm) -> Generator[Sink]:
    """Yield a stream into `sink`. Equal lines make equal files."""
    if not form.by_gzip:
        yield sink
        return
    with igzip.IGzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=sink, mtime=0) as stream:
        yield cast("Sink", stream)
