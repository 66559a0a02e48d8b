"""Segments: the stored paths of a day's events, each column packed into as few bytes as its range needs."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
from msgspec import Struct
from psycopg.sql import SQL, Composed, Identifier

from headwater.attribution.paths.path_data import NO_AMOUNT, TOUCH_COLUMNS, Column, IntArray, PathData
from headwater.database.queries import Queries

queries = Queries(__name__, "segments.sql")

MOST_EVENTS = 20_000
"""A segment is filled up to this many events: small enough to rewrite for a few hundred changes, large enough
for numpy.
"""

ALL_COLUMNS = tuple(Column)
_PLACE = {column: index for index, column in enumerate(Column)}
WIDTHS = {0: None, 1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8"}
"""Types by bytes per number; with 0, all equal the base."""
_MAX_UNSIGNED = 1 << 32
"""From here numbers are signed, because unsigned 64-bit integers don't mix with those."""


class DamagedSegment(Exception):
    """A segment has changed since it was stored."""


class Segment(Struct, frozen=True):
    day: date
    """The UTC day of the events."""
    part: int
    paths: PathData


def read_query(name: str, columns: Sequence[Column]) -> Composed:
    """Select columns, for `unpacked`."""
    return queries[name].format(columns=SQL(", ").join(Identifier("s", column) for column in columns))


def unpacked(record: Sequence[Any], columns: Sequence[Column]) -> Segment:
    """Unpack a binary row of `read_query`. Raises DamagedSegment."""
    day, part_number, events, touches, event_names, bases, checksums, *packed_data = record
    values: dict[Column, IntArray] = {}
    try:
        for column, data in zip(columns, packed_data, strict=True):
            column_index = _PLACE[column]
            packed_column = checked(bases[column_index], data, checksums[column_index])
            if column in TOUCH_COLUMNS:
                values[column] = unpack_narrow(packed_column, touches)
            else:
                unpack_column = unpack_amounts if column is Column.AMOUNTS else unpack
                values[column] = unpack_column(packed_column, events)
    except IndexError:
        raise DamagedSegment from None
    return Segment(day, part_number, PathData(values, tuple(event_names), events, touches))


class PackedColumn(Struct, frozen=True):
    """Unsigned integers of the least width, to be added to the base.

    Amounts start at 1, because 0 marks a missing one.
    """

    base: int
    data: bytes

    @property
    def checksum(self) -> int:
        return zlib.crc32(self.data, zlib.crc32(struct.pack("<q", self.base)))


def checked(base: int, data: bytes, checksum: int) -> PackedColumn:
    """Raises DamagedSegment for a wrong checksum."""
    column = PackedColumn(base, data)
    if column.checksum != checksum:
        raise DamagedSegment
    return column


def pack(values: IntArray) -> PackedColumn:
    if not len(values):
        return PackedColumn(0, b"")
    base = int(values.min())
    return PackedColumn(base, _narrow(np.subtract(values, base, dtype=np.int64)))


def unpack(column: PackedColumn, count: int) -> IntArray:
    """Raises DamagedSegment unless there are `count` values."""
    numbers = _numbers(column, count)
    if numbers is None:
        return np.full(count, column.base, dtype=np.int64)
    return numbers.astype(np.int64) + column.base


def unpack_narrow(column: PackedColumn, count: int) -> IntArray:
    """Use the narrowest type, unfit for calculations."""
    numbers = _numbers(column, count)
    base, greatest = column.base, column.base + (0 if numbers is None else int(numbers.max()))
    if numbers is None or base < 0 or greatest >= _MAX_UNSIGNED:
        return unpack(column, count)
    kind = np.min_scalar_type(greatest)
    return numbers.astype(kind) + kind.type(base)


def pack_amounts(amounts: IntArray) -> PackedColumn:
    has_amount = amounts != NO_AMOUNT
    base = int(amounts[has_amount].min()) - 1 if has_amount.any() else 0
    return PackedColumn(base, _narrow(np.where(has_amount, amounts - base, 0)))


def unpack_amounts(column: PackedColumn, count: int) -> IntArray:
    """Raises DamagedSegment unless there are `count` values."""
    numbers = _numbers(column, count)
    if numbers is None:
        return np.full(count, NO_AMOUNT, dtype=np.int64)
    wide_numbers = numbers.astype(np.int64)
    return np.where(wide_numbers > 0, wide_numbers + column.base, NO_AMOUNT)


def _narrow(numbers: IntArray) -> bytes:
    largest = int(numbers.max()) if len(numbers) else 0
    width = next(width for width in WIDTHS if largest < 1 << (8 * width))
    return numbers.astype(f"<u{width}").tobytes() if width else b""


def _numbers(column: PackedColumn, count: int) -> IntArray | None:
    """Return None if no numbers are stored."""
    width, remainder = divmod(len(column.data), count) if count else (0, len(column.data))
    if remainder or width not in WIDTHS:
        raise DamagedSegment
    kind = WIDTHS[width]
    return None if kind is None else np.frombuffer(column.data, dtype=kind)
