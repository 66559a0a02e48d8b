"""Cells: events and touches numbered by the groups that they are in, so that sums can be made in
bulk. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from headwater.attribution.paths.path_data import IntArray, PathData
from headwater.reports.engine.tally import NO_PAIRS, Tally, WideSums
from headwater.reports.plan.dimensions import Dimension
from headwater.reports.plan.order import distinct, distinct_values

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

    def at_place(self, place: int) -> Cells:
        """Return the cells by one group as those at a place of a report."""
        (keys,) = self.keys.values()
        return Cells(self.codes, self.size, {place: keys})

    def sums(self, values: Mapping[str, IntArray], members: IntArray | None = None) -> dict[str, WideSums]:
        """Return the sums by cell of what each event adds. `members` has the event of each code;
        None is all events, in order.
        """
        return {
            name: WideSums.by_cell(
                self.codes, of if members is None else of[members], self.size, int(np.abs(of).max(initial=0))
            )
            for name, of in values.items()
        }

    def tally(self, sums: Mapping[str, WideSums], contacts: tuple[IntArray, IntArray] = NO_PAIRS) -> Tally:
        """Return sums by cell as those by group; `contacts` are pairs of a cell and a contact."""
        present = np.flatnonzero(np.bincount(self.codes, minlength=self.size))
        places = np.zeros(self.size, dtype=np.min_scalar_type(self.size))
        places[present] = np.arange(len(present))
        keys = tuple(self.keys[place][present] for place in sorted(self.keys))
        return Tally(
            keys,
            len(present),
            {name: of[present] for name, of in sums.items()},
            distinct((places[contacts[0]], contacts[1])),
        )

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


class EventCells:
    """The cells of events by groups of events; those of one group are made once for all reports."""

    def __init__(self, paths: PathData) -> None:
        self._paths = paths
        self._known: dict[Dimension, Cells] = {}

    def of(self, dimension: Dimension) -> Cells:
        """Return the cells by one group, which is in no place of a report."""
        if dimension not in self._known:
            self._known[dimension] = _numbered(dimension.keys(self._paths))
        return self._known[dimension]

    def by(self, dimensions: Sequence[Dimension]) -> Cells:
        """Return the cells by those groups that are of events."""
        cells = [
            self.of(dimension).at_place(place)
            for place, dimension in enumerate(dimensions)
            if not dimension.of_touch
        ]
        return _together(cells, self._paths.events)


class PairCells:
    """The cells of pairs of an event and a touch on its path, by any groups; each is made once."""

    def __init__(self, paths: PathData, pairs: Pairs, events: EventCells) -> None:
        """`events` are the cells of the paths."""
        self._paths, self._pairs, self._events = paths, pairs, events
        self._known: dict[tuple[Dimension, ...], Cells] = {}

    def by(self, dimensions: tuple[Dimension, ...]) -> Cells:
        """Return the cells by groups of events and of touches."""
        if dimensions not in self._known:
            self._known[dimensions] = self._made(dimensions)
        return self._known[dimensions]

    def _made(self, dimensions: tuple[Dimension, ...]) -> Cells:
        if len(dimensions) == 1:
            (dimension,) = dimensions
            if dimension.of_touch:
                return _numbered(dimension.keys(self._touches(dimension)))
            cells = self._events.of(dimension)
            return Cells(cells.codes[self._pairs.events], cells.size, cells.keys)
        cells = [self.by((each,)).at_place(place) for place, each in enumerate(dimensions)]
        return _together(cells, len(self._pairs.events))

    def _touches(self, dimension: Dimension) -> PathData:
        """Return the touch of every pair, with the columns of a group."""
        columns = {column: self._paths[column][self._pairs.touches] for column in dimension.columns}
        return PathData(columns, (), 0, len(self._pairs.touches))


def cells_of(keys: Mapping[int, IntArray], count: int) -> Cells:
    """Return the cells of so many events or pairs by their keys, place by place."""
    return _together([_numbered(of).at_place(place) for place, of in keys.items()], count)


def crossed(first: Cells, second: Cells) -> Cells:
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


def _together(cells: Sequence[Cells], count: int) -> Cells:
    """Return the cells of what is in several at once; in none, everything is in one."""
    return reduce(crossed, cells) if cells else Cells(np.zeros(count, dtype=np.uint8), 1, {})


def _numbered(keys: IntArray) -> Cells:
    """Return the cells by one group, at the first place."""
    if not len(keys):
        return Cells(keys, 1, {0: np.zeros(1, dtype=np.int64)})
    least, most = int(keys.min()), int(keys.max())
    if least >= 0 and most <= _FEW:
        return Cells(keys, most + 1, {0: np.arange(most + 1)})
    span = most - least + 1
    if span <= _DENSE:
        return Cells(keys - least, span, {0: np.arange(least, least + span)})
    distinct_keys, codes = np.unique(keys, return_inverse=True)
    return Cells(codes, len(distinct_keys), {0: distinct_keys})
