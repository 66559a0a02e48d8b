"""Exact sums by integer group code over any number of blocks, in numpy. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headwater.attribution.paths.lookup import distinct, distinct_values, firsts
from headwater.attribution.paths.path_data import NO_NUMBERS, IntArray, PathData
from headwater.reports.engine.dimensions import Dimension

_LARGEST = (1 << 63) - 1

Numbers = NDArray[Any]
"""int64, or Python integers if a sum may overflow."""


def sum_by_code(codes: IntArray, values: IntArray, size: int) -> Numbers:
    fitting = _widen(values, len(values))
    sums = np.zeros(size, dtype=fitting.dtype)
    np.add.at(sums, codes, fitting)
    return sums


def multiply(numbers: Numbers, factor: int) -> Numbers:
    return _widen(numbers, factor) * factor


def sum_all(numbers: Numbers) -> int:
    return int(_widen(numbers, len(numbers)).sum())


def _sum_runs(several: Sequence[Numbers], order: IntArray, starts: IntArray) -> Numbers:
    numbers = np.concatenate(several)[order]
    return np.add.reduceat(_widen(numbers, len(numbers)), starts) if len(starts) else NO_NUMBERS


def _widen(numbers: Numbers, factor: int) -> Numbers:
    """Return numbers that can be multiplied by a factor, or added up that often, without overflow."""
    if numbers.dtype == object or not len(numbers):
        return numbers
    largest = max(int(numbers.max()), -int(numbers.min()))
    kind = np.int64 if largest * factor <= _LARGEST else object
    return numbers.astype(kind, copy=False)


class GroupSums(Struct, frozen=True):
    """A group has one key per dimension."""

    keys: tuple[IntArray, ...]
    """One array per dimension."""
    groups: int
    sums: Mapping[str, Numbers]
    contacts: tuple[IntArray, IntArray]
    """Distinct pairs of group and contact; empty unless counted."""

    @classmethod
    def join(cls, parts: Sequence[GroupSums]) -> GroupSums:
        """Merge sums by key; missing ones count as 0."""
        if not parts:
            return GroupSums((), 0, {}, NO_PAIRS)
        keys = tuple(
            np.concatenate([sums.keys[index] for sums in parts]) for index in range(len(parts[0].keys))
        )
        count = sum(sums.groups for sums in parts)
        order, starts = _runs(keys, count)
        names = dict.fromkeys(name for sums in parts for name in sums.sums)
        sums = {name: _sum_runs([sums.sum(name) for sums in parts], order, starts) for name in names}
        contacts = NO_PAIRS
        if any(len(sums.contacts[0]) for sums in parts):
            new_indexes = np.empty(count, dtype=np.min_scalar_type(count))
            new_indexes[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, count)))
            contacts = _join_pairs(parts, new_indexes)
        first = order[starts]
        return GroupSums(tuple(key[first] for key in keys), len(starts), sums, contacts)

    @property
    def size(self) -> int:
        """The number of groups and pairs."""
        return self.groups + len(self.contacts[0])

    def sum(self, name: str) -> Numbers:
        """Return zeros for a missing name."""
        return self.sums[name] if name in self.sums else np.zeros(self.groups, dtype=np.int64)

    def negated(self) -> GroupSums:
        """Return sums to subtract, without contacts."""
        sums = {name: -values for name, values in self.sums.items()}
        return GroupSums(self.keys, self.groups, sums, NO_PAIRS)

    def contact_counts(self) -> IntArray:
        return np.bincount(self.contacts[0], minlength=self.groups)

    def contact_total(self) -> int:
        """Count distinct contacts."""
        return len(distinct_values(self.contacts[1]))


NO_PAIRS = (NO_NUMBERS, NO_NUMBERS)


def _runs(keys: tuple[IntArray, ...], count: int) -> tuple[IntArray, IntArray]:
    if not count:
        return NO_NUMBERS, NO_NUMBERS
    if not keys:
        return np.arange(count), np.array([0])
    order = np.lexsort(keys[::-1])
    return order, firsts(*(key[order] for key in keys))


def _join_pairs(parts: Sequence[GroupSums], new_indexes: IntArray) -> tuple[IntArray, IntArray]:
    starts = np.cumsum([0, *(pairs_part.groups for pairs_part in parts)])
    pairs = [
        (new_indexes[start : start + pairs_part.groups][pairs_part.contacts[0]], pairs_part.contacts[1])
        for pairs_part, start in zip(parts, starts[:-1].tolist(), strict=True)
        if len(pairs_part.contacts[0])
    ]
    if len(pairs) > 1:
        return distinct(*pairs)
    return pairs[0] if pairs else NO_PAIRS  # pairs of one part are distinct


_MAX_BYTE = 255
"""Keys up to here are their own codes."""
_DENSE = 1 << 16
"""Keys within this span are offset from the least; others are sorted."""


class Grouping(Struct, frozen=True):
    """Group codes of events, touches or pairs of them."""

    codes: IntArray
    size: int
    """Including unused codes."""
    keys: Mapping[int, IntArray]
    """By position of the dimension."""

    def at_position(self, position: int) -> Grouping:
        """Move a single dimension."""
        (keys,) = self.keys.values()
        return Grouping(self.codes, self.size, {position: keys})

    def sums(self, values: Mapping[str, IntArray], members: IntArray | None = None) -> dict[str, Numbers]:
        """Sum event values by code. `members` has the event of each code; None means all in order."""
        return {
            name: sum_by_code(
                self.codes, event_values if members is None else event_values[members], self.size
            )
            for name, event_values in values.items()
        }

    def to_group_sums(
        self, sums: Mapping[str, Numbers], contacts: tuple[IntArray, IntArray] = NO_PAIRS
    ) -> GroupSums:
        """Convert sums by code to sums by group, without unused codes. `contacts` are code and contact."""
        cells = np.flatnonzero(np.bincount(self.codes, minlength=self.size))
        indexes = np.zeros(self.size, dtype=np.min_scalar_type(self.size))
        indexes[cells] = np.arange(len(cells))
        keys = tuple(self.keys[position][cells] for position in sorted(self.keys))
        return GroupSums(
            keys,
            len(cells),
            {name: by_code[cells] for name, by_code in sums.items()},
            distinct((indexes[contacts[0]], contacts[1])),
        )

    def distinct_pairs(self, events: IntArray) -> tuple[IntArray, Grouping]:
        """Return distinct pairs. `events` has the event of each code, ascending."""
        if len(events) < 2 or (events[1:] > events[:-1]).all():
            return events, self
        pairs = distinct_values(events * self.size + self.codes)
        events = pairs // self.size
        return events, Grouping(pairs - events * self.size, self.size, self.keys)


class Pairs(Struct, frozen=True):
    """Pairs of event and touch, by event."""

    events: IntArray
    touches: IntArray


class EventGroupings:
    """Computed once per dimension."""

    def __init__(self, paths: PathData) -> None:
        self._paths = paths
        self._groupings: dict[Dimension, Grouping] = {}

    def get(self, dimension: Dimension) -> Grouping:
        """Return codes at position 0."""
        if dimension not in self._groupings:
            self._groupings[dimension] = _number_keys(dimension.keys(self._paths))
        return self._groupings[dimension]

    def combine(self, dimensions: Sequence[Dimension]) -> Grouping:
        groupings = [
            self.get(dimension).at_position(position)
            for position, dimension in enumerate(dimensions)
            if not dimension.of_touch
        ]
        return _combine_groupings(groupings, self._paths.events)


class PairGroupings:
    """Computed once per set of dimensions."""

    def __init__(self, paths: PathData, pairs: Pairs, events: EventGroupings) -> None:
        self._paths, self._pairs, self._events = paths, pairs, events
        self._groupings: dict[tuple[Dimension, ...], Grouping] = {}

    def combine(self, dimensions: tuple[Dimension, ...]) -> Grouping:
        if dimensions not in self._groupings:
            self._groupings[dimensions] = self._combine(dimensions)
        return self._groupings[dimensions]

    def _combine(self, dimensions: tuple[Dimension, ...]) -> Grouping:
        if len(dimensions) == 1:
            (dimension,) = dimensions
            if dimension.of_touch:
                return _number_keys(dimension.keys(self._touches(dimension)))
            grouping = self._events.get(dimension)
            return Grouping(grouping.codes[self._pairs.events], grouping.size, grouping.keys)
        groupings = [
            self.combine((dimension,)).at_position(position) for position, dimension in enumerate(dimensions)
        ]
        return _combine_groupings(groupings, len(self._pairs.events))

    def _touches(self, dimension: Dimension) -> PathData:
        """Return each pair's touch, with the columns of a dimension."""
        columns = {column: self._paths[column][self._pairs.touches] for column in dimension.columns}
        return PathData(columns, (), 0, len(self._pairs.touches))


def make_grouping(keys: Mapping[int, IntArray], count: int) -> Grouping:
    """Number rows by their keys at each position."""
    return _combine_groupings(
        [_number_keys(column).at_position(position) for position, column in keys.items()], count
    )


def cross_groupings(first: Grouping, second: Grouping) -> Grouping:
    codes = first.codes.astype(np.int64) * second.size + second.codes
    if first.size * second.size <= _DENSE:
        used_codes = np.arange(first.size * second.size)
    else:
        used_codes, codes = np.unique(codes, return_inverse=True)
    rows, columns = np.divmod(used_codes, second.size)
    keys = {position: key[rows] for position, key in first.keys.items()}
    keys |= {position: key[columns] for position, key in second.keys.items()}
    return Grouping(codes, max(1, len(used_codes)), keys)


def _combine_groupings(groupings: Sequence[Grouping], count: int) -> Grouping:
    """Combine groupings of the same rows. Without any, all rows form one group."""
    return (
        reduce(cross_groupings, groupings) if groupings else Grouping(np.zeros(count, dtype=np.uint8), 1, {})
    )


def _number_keys(keys: IntArray) -> Grouping:
    if not len(keys):
        return Grouping(keys, 1, {0: np.zeros(1, dtype=np.int64)})
    least, greatest = int(keys.min()), int(keys.max())
    if least >= 0 and greatest <= _MAX_BYTE:
        return Grouping(keys, greatest + 1, {0: np.arange(greatest + 1)})
    span = greatest - least + 1
    if span <= _DENSE:
        return Grouping(keys - least, span, {0: np.arange(least, least + span)})
    distinct_keys, codes = np.unique(keys, return_inverse=True)
    return Grouping(codes, len(distinct_keys), {0: distinct_keys})
