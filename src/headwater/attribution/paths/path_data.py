"""Paths as columns of numbers: many events, and the touches before each. Pure.

Reports compute on them in bulk, whether they come out of segments or straight from the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.shares import count_before

IntArray = NDArray[np.integer[Any]]
"""Integers of any width."""
BoolArray = NDArray[np.bool_]

NO_AMOUNT = -(2**63)
"""In the column of amounts: the event has no amount."""
LEFT_OUT, ROUNDED_AWAY = 1 << 62, 1 << 61
"""Likewise, above zero or below: the event's amount is left out of a report, or its value in the
report's currency rounds to zero. No real amount is as large.
"""


class Column(StrEnum):
    """The columns of events, then the columns of touches."""

    EVENT_IDS = "event_ids"
    CONTACTS = "contacts"
    COMPANIES = "companies"
    """0 means none."""
    NAMES = "names"
    """Places in `event_names`."""
    SECONDS = "seconds"
    """The whole seconds since 1970 of the event."""
    AMOUNTS = "amounts"
    """In ten-thousandths; NO_AMOUNT is none. LEFT_OUT and ROUNDED_AWAY count as nothing, with the
    sign of the amount that the event states.
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
    """The number of touches at the start of the path that are older than a window of this many days."""
    TOUCH_SECONDS = "touch_seconds"
    SOURCES = "sources"
    TAG_SETS = "tag_sets"
    KINDS = "kinds"
    """The EventKind of the event. It comes last because stored segments list their columns in this order."""


class EventKind(IntEnum):
    """The properties of an event besides its name. They are read from the event as stored, so that
    no exchange rate changes them.
    """

    PLAIN = 0
    UPSELL = 1
    """Sold on top of an order."""
    REFUND = 2
    """Money that went back: the amount is below zero."""


TOUCH_COLUMNS = (Column.TOUCH_SECONDS, Column.SOURCES, Column.TAG_SETS)
EVENT_COLUMNS = tuple(column for column in Column if column not in TOUCH_COLUMNS)
ON_PATHS = frozenset(Column) - {
    Column.EVENT_IDS,
    Column.CONTACTS,
    Column.COMPANIES,
    Column.NAMES,
    Column.SECONDS,
    Column.AMOUNTS,
    Column.KINDS,
}
"""The columns that are about touches."""
OLDER = {
    1: Column.OLDER_1,
    7: Column.OLDER_7,
    14: Column.OLDER_14,
    30: Column.OLDER_30,
    60: Column.OLDER_60,
    90: Column.OLDER_90,
}
"""The column by the days of the window."""


# Two purchases of one contact and one of another, with their touches:
#
#     touches     0 1 2 3 | 4 5            starts   lengths   path
#     purchase A  ──────▲                  0        3         0 1 2
#     purchase B  ────────▲                0        4         0 1 2 3
#     purchase C            ────▲          4        2         4 5
#
# A contact's touches are there once for all its events of a segment, so what is stored and read
# grows with events and touches, never with their product. With `older_30` of B being 2, its path
# within 30 days is 2 3.


@dataclass(frozen=True)
class PathData:
    """Events with their paths. Some columns may be left out. Those of events have eight octets, so
    that they can be calculated with; those of touches may have fewer.
    """

    columns: Mapping[Column, IntArray]
    event_names: tuple[str, ...]
    events: int
    """The number of events."""
    touches: int
    """The number of touches."""
    first_orders: BoolArray | None = None
    """True for events that are the first order of their customer: only where events are as they
    were. Of those as they are, others know it.
    """
    orders_until: IntArray | None = None
    """The number of orders of each event's customer up to its second, counted to 2: likewise."""

    def __getitem__(self, column: Column) -> IntArray:
        return self.columns[column]

    @classmethod
    def join(cls, pieces: Sequence[Self]) -> PathData:
        """Return several as one. All have the same columns."""
        if len(pieces) == 1:
            return pieces[0]
        event_names = tuple(dict.fromkeys(name for piece in pieces for name in piece.event_names))
        first = [0, *np.cumsum([piece.touches for piece in pieces[:-1]]).tolist()]
        columns = {
            column: np.concatenate(
                [
                    _adapted(piece, column, start, event_names)
                    for piece, start in zip(pieces, first, strict=True)
                ]
            )
            for column in (pieces[0].columns if pieces else ())
        }
        events, touches = (sum(getattr(p, size) for p in pieces) for size in ("events", "touches"))
        return PathData(columns, event_names, events, touches)

    def select(self, chosen: BoolArray | IntArray) -> PathData:
        """Return some of the events, with all touches."""
        places = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen
        if chosen.dtype == np.bool_ and len(places) == self.events:
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

    def parts(self, count: int) -> list[PathData]:
        """Return the same, which have paths, in so many parts of about as many events; no column is
        copied but the beginnings of paths.
        """
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

    def only(self, columns: Iterable[Column]) -> PathData:
        """Return the same with some of the columns: what is read from the tables has all."""
        kept = {column: self[column] for column in dict.fromkeys(columns)}
        return PathData(kept, self.event_names, self.events, self.touches)

    def without_unused(self) -> PathData:
        """Return the same events without the touches that are on none of their paths."""
        used = self.events_of_touches() > 0
        places = count_before(used)
        columns = {
            column: values[used] if column in TOUCH_COLUMNS else values
            for column, values in self.columns.items()
        }
        columns[Column.STARTS] = places[self[Column.STARTS]].astype(np.int64)
        return PathData(columns, self.event_names, self.events, int(places[-1]))

    def cut_to_window(self, days: int) -> PathData:
        """Return the same events with no touches but those in a window of so many days, 0 is no
        limit, and one path after the other: no touch is on two of them.
        """
        older = self[OLDER[days]] if days else 0
        lengths = np.maximum(self[Column.LENGTHS] - older, 0)
        starts = np.cumsum(lengths) - lengths
        total = int(lengths.sum())
        places = np.arange(total) + np.repeat(self[Column.STARTS] + older - starts, lengths)
        columns = {
            column: values[places] if column in TOUCH_COLUMNS else values
            for column, values in self.columns.items()
        }
        columns |= {Column.STARTS: starts, Column.LENGTHS: lengths}
        if days:
            columns[OLDER[days]] = np.zeros_like(lengths)
        return PathData(columns, self.event_names, self.events, total)

    def events_of_touches(self) -> IntArray:
        """Return of each touch on how many of the paths it is."""
        starts, ends = self[Column.STARTS], self[Column.STARTS] + self[Column.LENGTHS]
        edges = np.bincount(starts, minlength=self.touches + 1)
        edges = edges - np.bincount(ends, minlength=self.touches + 1)
        return np.cumsum(edges)[: self.touches]


_OF_EVENTS = frozenset(EVENT_COLUMNS)


def _adapted(piece: PathData, column: Column, start: int, event_names: tuple[str, ...]) -> IntArray:
    """Return a column of a piece as it is among all: places moved to where the piece is."""
    values = piece[column]
    if column is Column.STARTS:
        return values + start
    if column is Column.NAMES and piece.event_names != event_names:
        places = np.array([event_names.index(name) for name in piece.event_names], dtype=np.int64)
        return places[values] if len(places) else values
    return values
