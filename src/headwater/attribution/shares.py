"""Shares: whole numbers of units, shared out among several so that the parts add up to them. The
same as by the functions of the database, of many events at once. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.integer[Any]]


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


def count_before(chosen: NDArray[np.bool_]) -> IntArray:
    """Return how many are chosen before each place, and in all."""
    before = np.zeros(len(chosen) + 1, dtype=np.int32)
    np.cumsum(chosen, out=before[1:])
    return before
