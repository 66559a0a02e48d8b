"""Exact sums by group over any number of blocks. Events and touches get integer group codes, so that numpy
can sum in bulk. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.paths.lookup import distinct, distinct_values, firsts
from headwater.attribution.paths.path_data import IntArray, PathData
from headwater.reports.engine.dimensions import Dimension

_NOTHING = np.array([], dtype=np.int64)
_LARGEST = (1 << 63) - 1

Numbers = NDArray[Any]
"""int64, or Python integers if a sum may overflow."""


def sum_by_cell(cells: IntArray, values: IntArray, size: int) -> Numbers:
    """Return sums by group code, from 0 to `size` - 1."""
    fitting = _widen(values, len(values))
    sums = np.zeros(size, dtype=fitting.dtype)
    np.add.at(sums, cells, fitting)
    return sums


def multiply(numbers: Numbers, factor: int) -> Numbers:
    return _widen(numbers, factor) * factor


def sum_all(numbers: Numbers) -> int:
    return int(_widen(numbers, len(numbers)).sum())


def _sum_runs(several: Sequence[Numbers], order: IntArray, starts: IntArray) -> Numbers:
    """Return the sums of runs, which begin at `starts`."""
    numbers = np.concatenate(several)[order]
    return np.add.reduceat(_widen(numbers, len(numbers)), starts) if len(starts) else _NOTHING


def _widen(numbers: Numbers, factor: int) -> Numbers:
    """Return numbers that can be multiplied by a factor, or added up that often, without overflow."""
    if numbers.dtype == object or not len(numbers):
        return numbers
    largest = max(int(numbers.max()), -int(numbers.min()))
    kind = np.int64 if largest * factor <= _LARGEST else object
    return numbers.astype(kind, copy=False)


@dataclass(frozen=True)
class Tally:
    """Sums by group. A group has one key per dimension."""

    keys: tuple[IntArray, ...]
    """One array per dimension."""
    groups: int
    sums: Mapping[str, Numbers]
    contacts: tuple[IntArray, IntArray]
    """Distinct pairs of group index and contact; empty unless counted."""

    @classmethod
    def join(cls, pieces: Sequence[Tally]) -> Tally:
        """Merge sums, ordered by key. Missing sums count as 0."""
        if not pieces:
            return Tally((), 0, {}, NO_PAIRS)
        keys = tuple(
            np.concatenate([piece.keys[place] for piece in pieces]) for place in range(len(pieces[0].keys))
        )
        count = sum(piece.groups for piece in pieces)
        order, starts = _runs(keys, count)
        names = dict.fromkeys(name for piece in pieces for name in piece.sums)
        sums = {name: _sum_runs([piece.sum(name) for piece in pieces], order, starts) for name in names}
        contacts = NO_PAIRS
        if any(len(piece.contacts[0]) for piece in pieces):
            new_places = np.empty(count, dtype=np.min_scalar_type(count))
            new_places[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, count)))
            contacts = _joined_pairs(pieces, new_places)
        first = order[starts]
        return Tally(tuple(key[first] for key in keys), len(starts), sums, contacts)

    @property
    def size(self) -> int:
        """The number of groups and of group/contact pairs."""
        return self.groups + len(self.contacts[0])

    def sum(self, name: str) -> Numbers:
        """Return the sums with a name, or zeros."""
        return self.sums[name] if name in self.sums else np.zeros(self.groups, dtype=np.int64)

    def negated(self) -> Tally:
        """Return the sums to subtract these from others. Contacts can't be subtracted."""
        sums = {name: -values for name, values in self.sums.items()}
        return Tally(self.keys, self.groups, sums, NO_PAIRS)

    def contact_counts(self) -> IntArray:
        return np.bincount(self.contacts[0], minlength=self.groups)

    def contact_total(self) -> int:
        """Return the number of distinct contacts."""
        return len(distinct_values(self.contacts[1]))


NO_PAIRS = (_NOTHING, _NOTHING)


def _runs(keys: tuple[IntArray, ...], count: int) -> tuple[IntArray, IntArray]:
    """Return an order that groups equal keys, and the start of each run."""
    if not count:
        return _NOTHING, _NOTHING
    if not keys:
        return np.arange(count), np.array([0])
    order = np.lexsort(keys[::-1])
    return order, firsts(*(key[order] for key in keys))


def _joined_pairs(pieces: Sequence[Tally], new_places: IntArray) -> tuple[IntArray, IntArray]:
    starts = np.cumsum([0, *(piece.groups for piece in pieces)])
    pairs = [
        (new_places[start : start + piece.groups][piece.contacts[0]], piece.contacts[1])
        for piece, start in zip(pieces, starts[:-1].tolist(), strict=True)
        if len(piece.contacts[0])
    ]
    if len(pairs) > 1:
        return distinct(*pairs)
    return pairs[0] if pairs else NO_PAIRS  # pairs of one part are distinct


_FEW = 255
"""Keys up to here are their own codes."""
_DENSE = 1 << 16
"""Keys within this span are offset from the least; others are sorted."""


@dataclass(frozen=True)
class Cells:
    """Group codes of events, touches or pairs of them."""

    codes: IntArray
    size: int
    """Including unused codes."""
    keys: Mapping[int, IntArray]
    """The key of every code, by position of the dimension."""

    def at_place(self, place: int) -> Cells:
        """Move a single dimension to another position."""
        (keys,) = self.keys.values()
        return Cells(self.codes, self.size, {place: keys})

    def sums(self, values: Mapping[str, IntArray], members: IntArray | None = None) -> dict[str, Numbers]:
        """Sum event values by code. `members` has the event of each code; None means all in order."""
        return {
            name: sum_by_cell(self.codes, of if members is None else of[members], self.size)
            for name, of in values.items()
        }

    def tally(self, sums: Mapping[str, Numbers], contacts: tuple[IntArray, IntArray] = NO_PAIRS) -> Tally:
        """Convert sums by code to sums by group, without unused codes. `contacts` are pairs of code and
        contact.
        """
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
        """Return distinct pairs of event and code. `events` has the event of each code, ascending."""
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
    """Group codes of events, computed once per dimension."""

    def __init__(self, paths: PathData) -> None:
        self._paths = paths
        self._known: dict[Dimension, Cells] = {}

    def of(self, dimension: Dimension) -> Cells:
        """Return codes at position 0."""
        if dimension not in self._known:
            self._known[dimension] = _numbered(dimension.keys(self._paths))
        return self._known[dimension]

    def by(self, dimensions: Sequence[Dimension]) -> Cells:
        """Return the codes of the event dimensions among some dimensions."""
        cells = [
            self.of(dimension).at_place(place)
            for place, dimension in enumerate(dimensions)
            if not dimension.of_touch
        ]
        return _together(cells, self._paths.events)


class PairCells:
    """Group codes of event/touch pairs, computed once per set of dimensions."""

    def __init__(self, paths: PathData, pairs: Pairs, events: EventCells) -> None:
        self._paths, self._pairs, self._events = paths, pairs, events
        self._known: dict[tuple[Dimension, ...], Cells] = {}

    def by(self, dimensions: tuple[Dimension, ...]) -> Cells:
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
        """Return each pair's touch, with the columns of a dimension."""
        columns = {column: self._paths[column][self._pairs.touches] for column in dimension.columns}
        return PathData(columns, (), 0, len(self._pairs.touches))


def cells_of(keys: Mapping[int, IntArray], count: int) -> Cells:
    """Number `count` rows by their keys at each position."""
    return _together([_numbered(of).at_place(place) for place, of in keys.items()], count)


def crossed(first: Cells, second: Cells) -> Cells:
    """Combine two groupings of the same rows."""
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
    """Without groupings, all rows form one group."""
    return reduce(crossed, cells) if cells else Cells(np.zeros(count, dtype=np.uint8), 1, {})


def _numbered(keys: IntArray) -> Cells:
    """Number keys at position 0."""
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
