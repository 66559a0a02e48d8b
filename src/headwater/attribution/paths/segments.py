"""Segments: the packed, stored paths of a day's events."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from psycopg.sql import SQL, Composed, Identifier, Placeholder

from headwater.attribution.paths.packed_columns import (
    DamagedColumn,
    checked,
    pack,
    pack_amounts,
    unpack,
    unpack_amounts,
    unpack_narrow,
)
from headwater.attribution.paths.path_data import TOUCH_COLUMNS, Column, IntArray, PathData
from headwater.attribution.paths.postings import make_postings
from headwater.database.queries import Queries

queries = Queries(__name__, "segments.sql")

MOST_EVENTS = 20_000
"""A segment is filled up to this many events: small enough to rewrite for a few hundred changes, large enough
for numpy.
"""

ALL_COLUMNS = tuple(Column)
_PLACE = {column: index for index, column in enumerate(Column)}
_COMMA = SQL(", ")


class DamagedSegment(Exception):
    """A segment has changed since it was stored."""


@dataclass(frozen=True)
class Segment:
    day: date
    """The UTC day of the events."""
    part: int
    paths: PathData


def read_query(name: str, columns: Sequence[Column]) -> Composed:
    """Select columns, for `unpacked`."""
    return queries[name].format(columns=_COMMA.join(Identifier("s", column) for column in columns))


def unpacked(record: Sequence[Any], columns: Sequence[Column]) -> Segment:
    """Unpack a binary row of `read_query`. Raises DamagedSegment."""
    day, part_number, events, touches, event_names, bases, checksums, *packed = record
    values: dict[Column, IntArray] = {}
    try:
        for column, data in zip(columns, packed, strict=True):
            column_index = _PLACE[column]
            stored = checked(bases[column_index], data, checksums[column_index])
            if column in TOUCH_COLUMNS:
                values[column] = unpack_narrow(stored, touches)
            else:
                unpack_column = unpack_amounts if column is Column.AMOUNTS else unpack
                values[column] = unpack_column(stored, events)
    except (DamagedColumn, IndexError):
        raise DamagedSegment from None
    return Segment(day, part_number, PathData(values, tuple(event_names), events, touches))


def write_query() -> Composed:
    """Store a segment; binds `write_values`."""
    return queries["write"].format(
        names=_COMMA.join(Identifier(column) for column in Column),
        values=_COMMA.join(Placeholder(column) for column in Column),
        excluded=_COMMA.join(Identifier("excluded", column) for column in Column),
    )


def write_values(space_id: int, segment: Segment) -> dict[str, Any]:
    """Return packed columns and postings for `write_query`."""
    paths = segment.paths
    packed = {
        column: (pack_amounts if column is Column.AMOUNTS else pack)(paths[column]) for column in Column
    }
    postings = make_postings(paths)
    return {
        "space_id": space_id,
        "day": segment.day,
        "part": segment.part,
        "stamp": secrets.randbits(63),
        "events": paths.events,
        "touches": paths.touches,
        "event_names": list(paths.event_names),
        "bases": [column.base for column in packed.values()],
        "checksums": [column.checksum for column in packed.values()],
        "common_sources": postings.common_sources,
        "posted_sources": postings.sources,
        "posting_ends": postings.ends,
        "postings": postings.data,
        **{str(name): column.data for name, column in packed.items()},
    }
