"""Cells: events and touches numbered by the groups that they are in, so that sums can be made in
bulk. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from headwater.paths.path_data import IntArray, PathData
from headwater.reports.dimensions import Dimension
from headwater.reports.order import distinct, distinct_values
from headwater.reports.tally import NO_PAIRS, Tally, WideSums

_FEW = 255
"""Keys up to here are their own numbers."""
_DENSE = 1 << 16
"""Keys that span no more than this are counted from the least; others are sorted first."""


@dataclass(frozen=True)
class Cells:
    """The cells of some events or touches, or of pairs of them."""

    codes: IntArray
    """The cell of each."""
    size: int
    """The number of cells, of which some may be empty."""
    keys: Mapping[int, IntArray]
    """The key of every cell, by the place of the group in the report."""

    def sums(
        self, values: Mapping[str, IntArray], members: IntArray | None = None
    ) -> dict[str, WideSums]:
        """Return the sums by cell of what each event adds. `members` has the event of each code;
        None is all events, in order.
        """
        return {
            name: WideSums.by_cell(
                self.codes, of if members is None else of[members], self.size,
                int(np.abs(of).max(initial=0)),
            )
            for name, of in values.items()
        }  # fmt: skip

    def tally(
        self, sums: Mapping[str, WideSums], contacts: tuple[IntArray, IntArray] = NO_PAIRS
    ) -> Tally:
        """Return sums by cell as those by group; `contacts` are pairs of a cell and a contact."""
        present = np.flatnonzero(np.bincount(self.codes, minlength=self.size))
        places = np.zeros(self.size, dtype=np.min_scalar_type(self.size))
        places[present] = np.arange(len(present))
        keys = tuple(self.keys[place][present] for place in sorted(self.keys))
        return Tally(
            keys, len(present), {name: of[present] for name, of in sums.items()},
            distinct(places[contacts[0]], contacts[1]),
        )  # fmt: skip

    def each_once(self, events: IntArray) -> tuple[IntArray, Cells]:
        """Return every pair of an event and a cell once; `events` has the event of each code, in
        order.
        """
        if len(events) < 2 or (events[1:] > events[:-1]).all():
            return events, self
        pairs = distinct_values(events * self.size + self.codes)
        events = pairs // self.size
        return events, Cells(pairs - events * self.size, self.size, self.keys)


@dataclass(frozen=True)
class Pairs:
    """Pairs of an event and a touch on its path, by event."""

    events: IntArray
    touches: IntArray


def event_cells(dimensions: Sequence[Dimension], paths: PathData) -> Cells:
    """Return the cells of events, by those groups that are of events."""
    return _cells(dimensions, paths, paths.events, of_touch=False)


def touch_cells(dimensions: Sequence[Dimension], paths: PathData) -> Cells:
    """Return the cells of touches, by those groups that are of touches."""
    return _cells(dimensions, paths, paths.touches, of_touch=True)


def paired(by_event: Cells, by_touch: Cells, pairs: Pairs) -> Cells:
    """Return the cells of pairs of an event and a touch, by the groups of both."""
    of_touches = Cells(by_touch.codes[pairs.touches].astype(np.int64), by_touch.size, by_touch.keys)
    if not by_event.keys:
        return of_touches
    return _crossed(Cells(by_event.codes[pairs.events], by_event.size, by_event.keys), of_touches)


def cells_of(keys: Mapping[int, IntArray], count: int) -> Cells:
    """Return the cells of so many events or touches by their keys, place by place."""
    cells = [_numbered(place, of) for place, of in keys.items()]
    return reduce(_crossed, cells) if cells else Cells(np.zeros(count, dtype=np.uint8), 1, {})


def _cells(
    dimensions: Sequence[Dimension], paths: PathData, count: int, *, of_touch: bool
) -> Cells:
    keys = {
        place: dimension.keys(paths)
        for place, dimension in enumerate(dimensions)
        if dimension.of_touch is of_touch
    }
    return cells_of(keys, count)


def _numbered(place: int, keys: IntArray) -> Cells:
    """Return the cells of single keys."""
    if not len(keys):
        return Cells(keys, 1, {place: np.zeros(1, dtype=np.int64)})
    least, most = int(keys.min()), int(keys.max())
    if least >= 0 and most <= _FEW:
        return Cells(keys, most + 1, {place: np.arange(most + 1)})
    span = most - least + 1
    if span <= _DENSE:
        return Cells(keys - least, span, {place: np.arange(least, least + span)})
    distinct_keys, codes = np.unique(keys, return_inverse=True)
    return Cells(codes, len(distinct_keys), {place: distinct_keys})


def _crossed(first: Cells, second: Cells) -> Cells:
    """Return the cells of what is in two at once."""
    codes = first.codes.astype(np.int64) * second.size + second.codes
    if first.size * second.size <= _DENSE:
        used = np.arange(first.size * second.size)
    else:
        used, codes = np.unique(codes, return_inverse=True)
    rows, columns = np.divmod(used, second.size)
    keys = {place: key[rows] for place, key in first.keys.items()}
    keys |= {place: key[columns] for place, key in second.keys.items()}
    return Cells(codes, max(1, len(used)), keys)
