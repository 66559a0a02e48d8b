"""Shares: whole numbers of units, shared out among several so that the parts add up to them. The
same as by the functions of the database, of many events at once. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.integer[Any]]

_DIGIT_BITS = 20
_DIGITS = 3
"""Units have so many digits of so many bits each."""
_WORD = 1 << 63
_AT_ONCE = 1 << 14
"""Recipients that are shared among at once where that takes many passes: so few that their columns
stay in a processor's own memory.
"""


@dataclass(frozen=True)
class Recipients:
    """Those among whom the units of events are shared out, event by event in order."""

    events: IntArray
    """The event of each."""
    counts: IntArray
    """Of each event, how many there are."""

    @cached_property
    def firsts(self) -> IntArray:
        """The place of each event's first among all."""
        return np.cumsum(self.counts) - self.counts

    def evenly(self, units: IntArray) -> IntArray:
        """Return equal shares."""
        each, left_over = np.divmod(units, np.maximum(self.counts, 1))
        return self._even(each, left_over)

    def _even(self, each: IntArray, left_over: IntArray) -> IntArray:
        """Return each one's share; the first ones get one more, as many as are left over."""
        if not left_over.any():
            return each[self.events]
        shares = each[self.events]
        shares += np.arange(len(shares)) < (self.firsts + left_over)[self.events]
        return shares

    def u_shaped(self, units: IntArray) -> IntArray:
        """Return two fifths for the first and for the last, and one for those between."""
        # As in the database: over the denominator 5m an end has 2m parts and each of the m between
        # one. Whichever remainder is larger has those with it served first.
        many = np.flatnonzero(self.counts > 2)
        base, extra = units.copy(), np.zeros_like(units)
        pairs = np.flatnonzero(self.counts == 2)
        base[pairs], extra[pairs] = units[pairs] >> 1, units[pairs] & 1
        units, m = units[many], self.counts[many] - 2
        end, middle = 2 * units // 5, units // (5 * m)
        ends, middles = (2 * units - 5 * end) * m, units - 5 * m * middle
        left = units - 2 * end - m * middle
        base[many], extra[many] = middle, left + (ends < middles) - (ends > middles)
        shares = self._even(base, extra)
        firsts = self.firsts[many]
        shares[firsts] = end + (np.where(ends < middles, m + 1, 1) <= left)
        shares[firsts + m + 1] = end + (np.where(ends > middles, 2, m + 2) <= left)
        return shares

    # 100.00 over weights of 1, 2 and 4: what is lost is in parts of a cent by 7, and the cents that
    # are left over go where it is most. The places of an event's recipients, the one that lost most
    # first, are below those of the next event's, so that one sort serves all events:
    #
    #     weight   exact        share   lost        place         + 1
    #     1        14.2857…     14.28   4           0 + 7 - 4
    #     2        28.5714…     28.57   1           0 + 7 - 1
    #     4        57.1428…     57.14   2           0 + 7 - 2
    #     left over                1 cent           the first 1   to the one with 3
    #
    def by_weight(self, units: IntArray, weights: IntArray) -> IntArray:
        """Return shares by weights, which are at most a billion and of no event all 0."""
        if (weights == weights[:1]).all():
            return self.evenly(units)
        shares = np.empty(len(weights), dtype=np.int64)
        for first, last in self._parts():
            start = int(self.firsts[first])
            at = slice(start, int(self.firsts[last - 1] + self.counts[last - 1]))
            part = Recipients(self.events[at] - first, self.counts[first:last])
            shares[at] = part._by_weight(units[first:last], weights[at])
        return shares

    def _parts(self) -> Iterator[tuple[int, int]]:
        """Yield the first event, and one past the last, of parts of about _AT_ONCE recipients."""
        last = len(self.counts)
        edges = np.searchsorted(self.firsts, np.arange(0, len(self.events), _AT_ONCE))
        yield from pairwise(dict.fromkeys([*edges.tolist(), last]))

    def _by_weight(self, units: IntArray, weights: IntArray) -> IntArray:
        before, ends = _running(weights), self.firsts + self.counts
        starts, totals = before[self.firsts], before[ends] - before[self.firsts]
        shares, lost = _divided(units[self.events], weights, totals[self.events])
        sums = _running(shares)  # may go round, as may the differences
        left_over = units - (sums[ends] - sums[self.firsts])
        served = np.flatnonzero((left_over > 0) & (self.counts > 0))
        if not len(served):
            return shares
        places = (starts + totals)[self.events]
        places -= lost
        ordered, next_ones = np.sort(places), self.firsts + left_over
        last = np.full(len(units), -1)
        last[served] = ordered[next_ones[served] - 1]
        shares += places <= last[self.events]
        some = served[left_over[served] < self.counts[served]]
        tied = some[ordered[next_ones[some]] == last[some]]
        shares[self._too_late(tied, places, last, left_over)] -= 1
        return shares

    def _too_late(
        self, tied: IntArray, places: IntArray, last: IntArray, left_over: IntArray
    ) -> IntArray:
        """Return who of some events is not served although it lost as much as the last one who is:
        the later ones.
        """
        counts = self.counts[tied]
        events = np.repeat(np.arange(len(tied)), counts)
        at = np.arange(len(events)) + (self.firsts[tied] - np.cumsum(counts) + counts)[events]
        places, last = places[at], last[tied][events]
        equal = np.flatnonzero(places == last)
        events_of_equal = events[equal]
        equals = np.bincount(events_of_equal, minlength=len(tied))
        turns = np.arange(len(equal)) - (np.cumsum(equals) - equals)[events_of_equal]
        left = left_over[tied] - np.bincount(events[places < last], minlength=len(tied))
        return at[equal[turns >= left[events_of_equal]]]


def _running(values: IntArray) -> IntArray:
    """Return the sum of the values before each place, and of all."""
    sums = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


def _divided(units: IntArray, weights: IntArray, totals: IntArray) -> tuple[IntArray, IntArray]:
    """Return `units * weights` divided by `totals`, and what is left of each. Units have 60 bits,
    weights 30; totals at most 43.
    """
    if int(units.max(initial=0)) * int(weights.max(initial=0)) < _WORD:
        return np.divmod(units * weights, totals)
    shares, lost = np.zeros_like(units), np.zeros_like(units)
    for digit in reversed(range(_DIGITS)):
        digits = units >> (digit * _DIGIT_BITS) & ((1 << _DIGIT_BITS) - 1)
        more, lost = np.divmod((lost << _DIGIT_BITS) + digits * weights, totals)
        shares = (shares << _DIGIT_BITS) + more
    return shares, lost


def count_before(chosen: NDArray[np.bool_]) -> IntArray:
    """Return how many are chosen before each place, and in all."""
    before = np.zeros(len(chosen) + 1, dtype=np.int32)
    np.cumsum(chosen, out=before[1:])
    return before
