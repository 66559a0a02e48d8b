"""Lines of an export as Parquet: arro3, written in Rust, parses the JSON by the column types and writes
row groups, so that memory holds only one group.

    lines ──> _LineFile ──> read_json ──> write_parquet ──> _SafeSink ──> sink

arro3 cannot carry Python errors: an error during a read or write is stored, ends the lines, and is raised
again after arro3 has returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import UnsupportedOperation
from typing import TYPE_CHECKING, Any, cast

from headwater.base.storage import Sink
from headwater.database.json_lines import ColumnType, LineColumn
from headwater.exports.formats import ParquetMissingError

if TYPE_CHECKING:
    from arro3.core import Schema

GROUP_ROWS = 131_072
"""Rows of a row group, which readers distribute among their threads."""
BATCH_ROWS = 8_192
COMPRESSION = "zstd(1)"


def write_parquet(batches: Iterable[Sequence[str]], columns: Sequence[LineColumn], sink: Sink) -> None:
    """Write lines of JSON. Raises ParquetMissingError, and the errors of `batches` and `sink`."""
    try:
        from arro3 import io as arrow  # noqa: PLC0415 # an extra, and large
    except ImportError:
        raise ParquetMissingError from None
    errors: list[BaseException] = []
    source = _LineFile(iter(batches), errors)
    try:
        arrow.write_parquet(
            arrow.read_json(cast("Any", source), _schema(columns), batch_size=BATCH_ROWS),
            cast("Any", _SafeSink(sink, errors)),  # both have the file methods that arro3 calls
            compression=COMPRESSION,
            max_row_group_size=GROUP_ROWS,
        )
    except BaseException as error:  # noqa: BLE001 # a panic of Rust's is no Exception
        raise (errors[0] if errors else error) from None
    if errors:
        raise errors[0]


def _schema(columns: Sequence[LineColumn]) -> Schema:
    from arro3.core import DataType, Field, Schema  # noqa: PLC0415

    text = DataType.string()
    types = {
        ColumnType.WHOLE: DataType.int64(),
        ColumnType.AMOUNT: DataType.decimal128(19, 4),
        ColumnType.NUMBER: DataType.decimal128(38, 10),
        ColumnType.BOOLEAN: DataType.bool(),
        ColumnType.TEXT: text,
        ColumnType.MOMENT: DataType.timestamp("us", tz="UTC"),
        ColumnType.TEXTS: DataType.list(Field("item", text)),
    }
    return Schema([Field(column.name, types[column.type]) for column in columns])


class _Stream:
    """A file that arro3 reads or writes from beginning to end."""

    def seek(self, *_: int) -> int:
        """Refuse: arro3 requires the method, and does not call it."""
        raise UnsupportedOperation("seek")


class _LineFile(_Stream):
    """Lines as a file, which ends at a failed read."""

    def __init__(self, batches: Iterator[Sequence[str]], errors: list[BaseException]) -> None:
        self._batches = batches
        self._errors = errors
        self._data: bytes = b""
        self._at: int = 0

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes; empty at the end."""
        if self._at == len(self._data):
            self._data, self._at = self._read_next(), 0
        chunk = self._data[self._at : self._at + size]
        self._at += len(chunk)
        return chunk

    def _read_next(self) -> bytes:
        try:
            lines = None if self._errors else next(self._batches, None)
        except BaseException as error:  # noqa: BLE001 # raised again by write_parquet
            self._errors.append(error)
            return b""
        return "\n".join([*lines, ""]).encode() if lines else b""


class _SafeSink(_Stream):
    """A sink that stores the first error and ignores later bytes."""

    def __init__(self, sink: Sink, errors: list[BaseException]) -> None:
        self._sink = sink
        self._errors = errors

    def write(self, data: bytes) -> int:
        """Report all bytes as written."""
        if not self._errors:
            try:
                self._sink.write(data)
            except BaseException as error:  # noqa: BLE001 # raised again by write_parquet
                self._errors.append(error)
        return len(data)

    def flush(self) -> None:
        """Do nothing: the opener of the file flushes it."""
