"""Read rows of NDJSON or CSV, perhaps compressed, from a path or standard input.

Unreadable rows are also yielded, to be counted and reported.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import shutil
import sys
import tempfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import msgspec

from headwater.http.errors import Errors, Invalid
from headwater.http.json_decoder import decode_storable, refuse_bad_text
from headwater.intake.imports.formats.dialects import (
    BAD_HEADER,
    HEAD_BYTES,
    SEPARATOR_LINE,
    WORKBOOK,
    Dialect,
    FileSurvey,
    UnreadableError,
    WrongEncodingError,
    read_column_name,
    read_dialect,
)

STANDARD_INPUT = "-"
FORMATS = ("ndjson", "csv")
LONGEST_ROW = 256 * 1024
"""Bytes; like one event over the API."""

USUAL_DIALECT = Dialect()

_LONGEST_LINE = 2 * LONGEST_ROW
"""Characters; quotation marks are doubled."""
_SUFFIXES = {
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
}
_WORKBOOK_SUFFIXES = (".xlsx", ".xls", ".xlsm")
_CHUNK_BYTES = 1024 * 1024
GZIP = b"\x1f\x8b"
_BLANK = ' \t\r\n;,|"\ufeff\u00a0'
_BOM = b"\xef\xbb\xbf"
_TOO_LONG: Errors = {"row": ["The row is longer than 256 KB."]}


class FileRow(msgspec.Struct, frozen=True, gc=False):
    """Numbers count from 1; `line` is the row's end."""

    number: int
    line: int
    values: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    errors: Errors | None = None
    """If the row can't be read."""
    position: str = ""
    """Of a row that was fetched: what the rows after it are requested by."""


@dataclass(frozen=True)
class RowSource:
    """An open file. The position of `raw` is the progress."""

    raw: BinaryIO
    form: str
    """One of FORMATS."""
    size: int
    digest: bytes
    """SHA-256 of the stored bytes."""
    dialect: Dialect = USUAL_DIALECT
    """For CSV files."""
    chunk: int | None = None
    """Rows per transaction, if they are fetched in pages."""

    def head(self) -> bytes:
        """Return the first bytes, decompressed."""
        return self._lines().read(HEAD_BYTES)

    def columns(self) -> list[str] | None:
        """Return a CSV file's header. Raises UnreadableError."""
        return next(self._read_table())[1] if self.form == "csv" else None

    def rows(self) -> Generator[FileRow]:
        """Raise UnreadableError for bad input."""
        with _check_compression():
            is_table = self.form == "csv"
            yield from _read_csv_rows(self._read_table()) if is_table else _read_json_rows(self._lines())

    def rows_after(self, rows_done: int, position: str) -> Iterator[FileRow]:
        """Return the rows after those that an interrupted import has done."""
        del position  # files are read from their beginning
        return islice(self.rows(), rows_done, None)

    def judged(self, encoding: str | None, delimiter: str | None) -> RowSource:
        """Return the source with its dialect, detected if not given. Raises UnreadableError."""
        survey = FileSurvey()
        with _check_compression():
            stream = self._lines()
            while chunk := stream.read(_CHUNK_BYTES):
                survey.add(chunk)
        survey.finish()
        return replace(self, dialect=read_dialect(survey, encoding, delimiter))

    def _read_table(self) -> Generator[tuple[int, list[str]]]:
        return _read_table(self._lines(), self.dialect)

    def _lines(self) -> BinaryIO:
        self.raw.seek(0)
        compressed = self.raw.read(len(GZIP)) == GZIP
        self.raw.seek(0)
        return cast("BinaryIO", gzip.GzipFile(fileobj=self.raw)) if compressed else self.raw


@contextmanager
def _check_compression() -> Generator[None]:
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UnreadableError(f"the compressed file is damaged: {error}") from None


@contextmanager
def open_source(
    name: str, form: str | None, encoding: str | None = None, delimiter: str | None = None
) -> Generator[RowSource]:
    """Open a file, or standard input for `-`. Raises UnreadableError or OSError."""
    form = form or _find_form(name)
    with tempfile.TemporaryFile() if name == STANDARD_INPUT else Path(name).open("rb") as file:
        raw = cast("BinaryIO", file)
        if name == STANDARD_INPUT:
            shutil.copyfileobj(sys.stdin.buffer, raw)
            raw.seek(0)
        digest = hashlib.file_digest(cast("Any", file), "sha256").digest()
        source = RowSource(raw, form, raw.tell(), digest)
        yield source.judged(encoding, delimiter) if form == "csv" else source


def _find_form(name: str) -> str:
    suffix = Path(name.removesuffix(".gz")).suffix.lower()
    form = _SUFFIXES.get(suffix)
    if suffix in _WORKBOOK_SUFFIXES:
        raise UnreadableError(WORKBOOK)
    if form is None:
        raise UnreadableError(f"{name}: use --format {' or --format '.join(FORMATS)}")
    return form


def _read_json_rows(stream: BinaryIO) -> Iterator[FileRow]:
    number = 0
    for line, text in enumerate(stream, start=1):
        text = text.removeprefix(_BOM) if line == 1 else text  # noqa: PLW2901
        if not text.strip():
            continue
        number += 1
        try:
            yield FileRow(number, line, _parse_object(text))
        except Invalid as invalid:
            yield FileRow(number, line, errors=invalid.errors)


def _parse_object(text: bytes) -> dict[str, Any]:
    if len(text) > LONGEST_ROW:
        raise Invalid(_TOO_LONG)
    value = decode_storable(text)
    if not isinstance(value, dict):
        raise Invalid({"row": ["The row must be a JSON object."]})
    return cast("dict[str, Any]", value)


def _read_table(stream: BinaryIO, dialect: Dialect) -> Generator[tuple[int, list[str]]]:
    """Yield the header, then rows, with their last lines. Unreadable rows are empty."""
    csv.field_size_limit(LONGEST_ROW)
    text = io.TextIOWrapper(stream, dialect.encoding, errors=dialect.error_handler, newline="")
    try:
        lines = _read_bounded_lines(text)
        for _ in range(dialect.lines_before):
            next(lines, "")
        skipped_lines = dialect.lines_before
        first = next(lines, "")
        while first and (SEPARATOR_LINE.fullmatch(first) or not first.strip(_BLANK)):
            first = next(lines, "")
            skipped_lines += 1
        reader = csv.reader(chain([first], lines), delimiter=dialect.delimiter)
        yield reader.line_num + skipped_lines, _read_header(reader)
        for cells in _iter_cells(reader):
            yield reader.line_num + skipped_lines, cells
    finally:
        with suppress(ValueError):  # an abandoned import has closed it
            text.detach()  # keep the stream open


def _read_bounded_lines(text: TextIO) -> Iterator[str]:
    """Cut lines just above the limit, to bound memory."""
    while line := text.readline(_LONGEST_LINE):
        line_bytes = line
        while len(line_bytes) >= LONGEST_ROW and not line_bytes.endswith(("\n", "\r")):
            line_bytes = text.readline(_LONGEST_LINE)
        yield line


def _read_header(reader: Iterator[list[str]]) -> list[str]:
    header = [read_column_name(cell) for cell in next(reader, cast("list[str]", []))]
    names = [name for name in header if name]
    try:
        refuse_bad_text(names)
    except Invalid:
        raise WrongEncodingError(BAD_HEADER) from None
    if not names:
        raise UnreadableError("the file has no header")
    if len(set(names)) < len(names):
        repeated_name = next(name for name in names if names.count(name) > 1)
        raise UnreadableError(f"the header names the column {repeated_name} twice")
    return header


def _iter_cells(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield []
        else:
            if "".join(cells).strip():
                yield cells


def _read_csv_rows(table: Iterator[tuple[int, list[str]]]) -> Iterator[FileRow]:
    _, header = next(table)
    for number, (line, cells) in enumerate(table, start=1):
        try:
            yield FileRow(number, line, _map_cells(header, cells))
        except Invalid as invalid:
            yield FileRow(number, line, errors=invalid.errors)


def _map_cells(header: list[str], cells: list[str]) -> dict[str, Any]:
    if not cells:
        raise Invalid({"row": ["The row cannot be read: a quotation mark in it is never closed."]})
    if any(cells[len(header) :]):
        raise Invalid({"row": ["The row has more cells than the header."]})
    text = "".join(cells)
    if len(text) > LONGEST_ROW:
        raise Invalid(_TOO_LONG)
    values = dict(zip(header, cells, strict=False))
    values.pop("", None)
    if not text.isascii() or "\0" in text:  # faster than checking every cell
        refuse_bad_text(values)
    return values
