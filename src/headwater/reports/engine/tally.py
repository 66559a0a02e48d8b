"""Exact sums by group, over any number of pieces: no float is ever rounded, and no sum overflows.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.paths.path_data import IntArray
from headwater.reports.plan.order import distinct, distinct_values, firsts

_BITS = 52
_LOW = (1 << _BITS) - 1
_HALF_BITS = _BITS // 2
_HALF = (1 << _HALF_BITS) - 1
_ZERO = np.zeros((), dtype=np.int64)
_NOTHING = np.array([], dtype=np.int64)
_EXACT = 1 << 53
"""Doubles hold every whole number up to here, so sums of them that stay below it are exact."""


@dataclass(frozen=True)
class WideSums:
    """Whole numbers of any size that Headwater meets: `high * 2**52 + low`, `low` in that range."""

    high: IntArray
    low: IntArray

    @classmethod
    def of(cls, values: IntArray) -> Self:
        """Return numbers that fit 64 bits."""
        high = values >> _BITS
        if not high.any():  # as nearly everywhere
            return cls(np.broadcast_to(_ZERO, len(values)), values & _LOW)
        return cls(high, values & _LOW)

    @classmethod
    def by_cell(cls, cells: IntArray, values: IntArray, size: int, largest: int) -> Self:
        """Return the sums of values by their cell, of `size` cells. There are at most 2**26 values,
        none of them larger than `largest`, above zero or below.
        """
        if largest * len(values) < _EXACT:
            return cls.of(_sums(cells, values, size))
        low = _sums(cells, values & _HALF, size)
        middle = _sums(cells, values >> _HALF_BITS & _HALF, size)
        high = _sums(cells, values >> _BITS, size)
        return cls._carried(high + (middle >> _HALF_BITS), low + ((middle & _HALF) << _HALF_BITS))

    def times(self, factor: int) -> Self:
        """Return the numbers multiplied by a factor."""
        high, low = np.zeros_like(self.high), np.zeros_like(self.low)
        for at in np.flatnonzero(self.high | self.low).tolist():
            product = self.number(at) * factor
            high[at], low[at] = product >> _BITS, product & _LOW
        return type(self)(high, low)

    @classmethod
    def of_runs(cls, several: Sequence[Self], order: IntArray, starts: IntArray) -> Self:
        """Return the sums of the runs that begin at `starts` of all numbers of several, which are
        put in order first.
        """
        if not len(starts):
            return cls(_NOTHING, _NOTHING)
        low = np.add.reduceat(np.concatenate([sums.low for sums in several])[order], starts)
        if not any(sums.high.any() for sums in several):
            return cls(low >> _BITS, low & _LOW)
        high = np.add.reduceat(np.concatenate([sums.high for sums in several])[order], starts)
        return cls._carried(high, low)

    def __getitem__(self, chosen: IntArray) -> Self:
        return type(self)(self.high[chosen], self.low[chosen])

    def number(self, at: int) -> int:
        """Return one of the numbers."""
        return (int(self.high[at]) << _BITS) + int(self.low[at])

    def rough(self) -> NDArray[np.float64]:
        """Return the numbers as doubles."""
        return self.high.astype(np.float64) * (1 << _BITS) + self.low

    def negated(self) -> Self:
        """Return the numbers with the other sign."""
        return self._carried(-self.high, -self.low)

    def total(self) -> int:
        return (int(self.high.sum()) << _BITS) + sum(
            int(part.sum()) << shift
            for part, shift in ((self.low & _HALF, 0), (self.low >> _HALF_BITS, _HALF_BITS))
        )

    @classmethod
    def _carried(cls, high: IntArray, low: IntArray) -> Self:
        return cls(high + (low >> _BITS), low & _LOW)


@dataclass(frozen=True)
class Tally:
    """Sums by group. A group is identified by as many keys as the report has groups."""

    keys: tuple[IntArray, ...]
    """The keys of the groups, one array for each place."""
    groups: int
    sums: Mapping[str, WideSums]
    contacts: tuple[IntArray, IntArray]
    """Pairs of a group's place in `keys` and a contact, each once; empty unless counted."""

    @classmethod
    def join(cls, pieces: Sequence[Tally]) -> Tally:
        """Return several as one, in which each group is once, ordered by its keys. Sums that one
        does not have are 0 there.
        """
        if not pieces:
            return Tally((), 0, {}, NO_PAIRS)
        keys = tuple(
            np.concatenate([piece.keys[place] for piece in pieces]) for place in range(len(pieces[0].keys))
        )
        count = sum(piece.groups for piece in pieces)
        order, starts = _runs(keys, count)
        names = dict.fromkeys(name for piece in pieces for name in piece.sums)
        sums = {
            name: WideSums.of_runs([piece.sum(name) for piece in pieces], order, starts) for name in names
        }
        contacts = NO_PAIRS
        if any(len(piece.contacts[0]) for piece in pieces):
            new_places = np.empty(count, dtype=np.min_scalar_type(count))
            new_places[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, count)))
            contacts = _joined_pairs(pieces, new_places)
        first = order[starts]
        return Tally(tuple(key[first] for key in keys), len(starts), sums, contacts)

    @property
    def size(self) -> int:
        """The number of groups, and of pairs of a group and a contact."""
        return self.groups + len(self.contacts[0])

    def sum(self, name: str) -> WideSums:
        """Return the sums of a name, zeros if there are none."""
        if name in self.sums:
            return self.sums[name]
        zeros = np.zeros(self.groups, dtype=np.int64)
        return WideSums(zeros, zeros)

    def shifted(self, by: Mapping[int, int]) -> Tally:
        """Return the same with other keys: at some places, larger by a number."""
        keys = tuple(of + by[place] if place in by else of for place, of in enumerate(self.keys))
        return Tally(keys, self.groups, self.sums, self.contacts)

    def negated(self) -> Tally:
        """Return what takes these sums away from others; contacts cannot be."""
        sums = {name: values.negated() for name, values in self.sums.items()}
        return Tally(self.keys, self.groups, sums, NO_PAIRS)

    def contact_counts(self) -> IntArray:
        """Return how many contacts each group has."""
        return np.bincount(self.contacts[0], minlength=self.groups)

    def contact_total(self) -> int:
        """Return how many contacts there are in all groups together."""
        return len(distinct_values(self.contacts[1]))


NO_PAIRS = (_NOTHING, _NOTHING)


def _runs(keys: tuple[IntArray, ...], count: int) -> tuple[IntArray, IntArray]:
    """Return an order in which equal keys are neighbours, and where each run of them begins."""
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
    return pairs[0] if pairs else NO_PAIRS  # groups are there once, and so are pairs


def _sums(cells: IntArray, values: IntArray, size: int) -> IntArray:
    """Return sums that are known to be exact in doubles."""
    return np.bincount(cells, values, minlength=size).astype(np.int64)
