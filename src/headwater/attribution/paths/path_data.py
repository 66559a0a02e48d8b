"""Paths as numpy columns: many events, and the touches before each, from segments or tables. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import IntEnum, StrEnum
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.shares import count_before

IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]
NO_NUMBERS: IntArray = np.array([], dtype=np.int64)

NO_AMOUNT = -(2**63)
"""The amount of an event without one."""
LEFT_OUT, ROUNDED_AWAY = 1 << 62, 1 << 61
"""Positive or negative: the amount is left out of a report, or rounds to zero. No real amount is as large."""


class Column(StrEnum):
    """The columns of events, then of touches."""

    EVENT_IDS = "event_ids"
    CONTACTS = "contacts"
    COMPANIES = "companies"
    """0 means none."""
    NAMES = "names"
    """Indexes in `event_names`."""
    SECONDS = "seconds"
    """Unix seconds."""
    AMOUNTS = "amounts"
    """In ten-thousandths, or NO_AMOUNT. LEFT_OUT and ROUNDED_AWAY count as nothing, with the amount's sign.
    """
    STARTS = "starts"
    """The index of the first touch of the event's path."""
    LENGTHS = "lengths"
    """The number of touches on the whole path."""
    OLDER_1 = "older_1"
    OLDER_7 = "older_7"
    OLDER_14 = "older_14"
    OLDER_30 = "older_30"
    OLDER_60 = "older_60"
    OLDER_90 = "older_90"
    """Touches older than a window of this many days."""
    TOUCH_SECONDS = "touch_seconds"
    SOURCES = "sources"
    TAG_SETS = "tag_sets"
    KINDS = "kinds"
    """An EventKind. The last column, because stored segments list their columns in this order."""


class EventKind(IntEnum):
    """Properties of the stored event besides its name, so exchange rates don't change them."""

    PLAIN = 0
    UPSELL = 1
    """Sold on top of an order."""
    REFUND = 2
    """The amount is negative."""


TOUCH_COLUMNS = (Column.TOUCH_SECONDS, Column.SOURCES, Column.TAG_SETS)
EVENT_COLUMNS = tuple(column for column in Column if column not in TOUCH_COLUMNS)
OLDER_COLUMNS = {
    1: Column.OLDER_1,
    7: Column.OLDER_7,
    14: Column.OLDER_14,
    30: Column.OLDER_30,
    60: Column.OLDER_60,
    90: Column.OLDER_90,
}
"""By days of the window."""
ON_PATHS = frozenset({Column.STARTS, Column.LENGTHS, *OLDER_COLUMNS.values(), *TOUCH_COLUMNS})


# Two purchases of one contact and one of another, with their touches:
#
#     touches     0 1 2 3 | 4 5            starts   lengths   path
#     purchase A  ──────▲                  0        3         0 1 2
#     purchase B  ────────▲                0        4         0 1 2 3
#     purchase C            ────▲          4        2         4 5
#
# All events of a contact in a segment share its touches, so the size grows with events and touches, not with
# their product. If `older_30` of B is 2, its path within 30 days is 2 3.


@dataclass(frozen=True)
class PathData:
    """Events with their paths. Columns may be missing. Event columns are 64-bit, for calculations; touch
    columns may be narrower.
    """

    columns: Mapping[Column, IntArray]
    event_names: tuple[str, ...]
    events: int
    touches: int
    first_orders: BoolArray | None = None
    """A mask of first orders, only for events in former states; for others it is looked up."""
    orders_until: IntArray | None = None
    """Each customer's orders up to the event's second, at most 2; likewise."""

    def __getitem__(self, column: Column) -> IntArray:
        return self.columns[column]

    @classmethod
    def join(cls, parts: Sequence[Self]) -> PathData:
        """Concatenate parts with the same columns."""
        if len(parts) == 1:
            return parts[0]
        event_names = tuple(dict.fromkeys(name for sums in parts for name in sums.event_names))
        first = [0, *np.cumsum([sums.touches for sums in parts[:-1]]).tolist()]
        columns = {
            column: np.concatenate(
                [
                    _adapt_column(sums, column, start, event_names)
                    for sums, start in zip(parts, first, strict=True)
                ]
            )
            for column in (parts[0].columns if parts else ())
        }
        events, touches = (sum(getattr(p, size) for p in parts) for size in ("events", "touches"))
        return PathData(columns, event_names, events, touches)

    def select(self, selection: BoolArray | IntArray) -> PathData:
        """Select events, keeping all touches."""
        places = np.flatnonzero(selection) if selection.dtype == np.bool_ else selection
        if selection.dtype == np.bool_ and len(places) == self.events:
            return self
        columns = {
            column: values[places] if column in _OF_EVENTS else values
            for column, values in self.columns.items()
        }
        return PathData(
            columns,
            self.event_names,
            len(places),
            self.touches,
            None if self.first_orders is None else self.first_orders[places],
            None if self.orders_until is None else self.orders_until[places],
        )

    def have_names(self, names: Collection[str]) -> BoolArray:
        has_name = np.array([name in names for name in self.event_names], dtype=np.bool_)
        return has_name[self[Column.NAMES]]

    def parts(self, count: int) -> list[PathData]:
        """Split into about equal numbers of events, copying only path starts."""
        edges = [self.events * number // count for number in range(count + 1)]
        return [self._part(slice(*edge)) for edge in pairwise(edges)]

    def _part(self, events: slice) -> PathData:
        starts = self[Column.STARTS][events]
        ends = starts + self[Column.LENGTHS][events]
        first = int(starts.min(initial=self.touches))
        touches = slice(first, max(first, int(ends.max(initial=0))))
        columns = {
            column: values[touches if column in TOUCH_COLUMNS else events]
            for column, values in self.columns.items()
        }
        columns[Column.STARTS] = starts - first
        return PathData(
            columns,
            self.event_names,
            len(starts),
            touches.stop - touches.start,
            None if self.first_orders is None else self.first_orders[events],
            None if self.orders_until is None else self.orders_until[events],
        )

    def select_columns(self, columns: Iterable[Column]) -> PathData:
        column_values = {column: self[column] for column in dict.fromkeys(columns)}
        return PathData(column_values, self.event_names, self.events, self.touches)

    def without_unused(self) -> PathData:
        """Remove touches that aren't on any path."""
        is_used = self.touch_events() > 0
        places = count_before(is_used)
        columns = {
            column: values[is_used] if column in TOUCH_COLUMNS else values
            for column, values in self.columns.items()
        }
        columns[Column.STARTS] = places[self[Column.STARTS]].astype(np.int64)
        return PathData(columns, self.event_names, self.events, int(places[-1]))

    def cut_to_window(self, days: int) -> PathData:
        """Keep only touches within a window in days (0 means no limit). Paths become contiguous: shared
        touches are copied.
        """
        older_touches = self[OLDER_COLUMNS[days]] if days else 0
        lengths = np.maximum(self[Column.LENGTHS] - older_touches, 0)
        starts = np.cumsum(lengths) - lengths
        total = int(lengths.sum())
        places = np.arange(total) + np.repeat(self[Column.STARTS] + older_touches - starts, lengths)
        columns = {
            column: values[places] if column in TOUCH_COLUMNS else values
            for column, values in self.columns.items()
        }
        columns |= {Column.STARTS: starts, Column.LENGTHS: lengths}
        if days:
            columns[OLDER_COLUMNS[days]] = np.zeros_like(lengths)
        return PathData(columns, self.event_names, self.events, total)

    def touch_events(self) -> IntArray:
        """Count the paths of each touch."""
        starts, ends = self[Column.STARTS], self[Column.STARTS] + self[Column.LENGTHS]
        edges = np.bincount(starts, minlength=self.touches + 1)
        edges = edges - np.bincount(ends, minlength=self.touches + 1)
        return np.cumsum(edges)[: self.touches]


_OF_EVENTS = frozenset(EVENT_COLUMNS)


def _adapt_column(paths: PathData, column: Column, start: int, event_names: tuple[str, ...]) -> IntArray:
    """Adapt a part's indexes to the concatenation."""
    values = paths[column]
    if column is Column.STARTS:
        return values + start
    if column is Column.NAMES and paths.event_names != event_names:
        places = np.array([event_names.index(name) for name in paths.event_names], dtype=np.int64)
        return places[values] if len(places) else values
    return values


def join_numbers(parts: Iterable[IntArray]) -> IntArray:
    """Concatenate as 64-bit numbers; empty for none."""
    return np.concatenate([NO_NUMBERS, *parts])


def read_numbers(packed: bytes | None, kind: str = ">i8") -> IntArray:
    """Unpack big-endian numbers; empty for None."""
    return np.frombuffer(packed or b"", dtype=kind).astype(np.int64)


_1970 = date(1970, 1, 1).toordinal()
_SECONDS_BEFORE_2000 = 946_684_800


def find_midnight(day: date) -> int:
    """Return the Unix second that begins a UTC day."""
    return 86_400 * (day.toordinal() - _1970)


def to_unix_seconds(times: IntArray) -> IntArray:
    """Convert PostgreSQL's times, microseconds since 2000."""
    return times // 1_000_000 + _SECONDS_BEFORE_2000
