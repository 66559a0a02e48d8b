"""Shares by weight: an event's units shared out among its recipients by what each weighs, and the
units that are left over to those that lost most. Pure.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.shares import Recipients

IntArray = NDArray[np.integer[Any]]

_DIGIT_BITS = 20
_DIGITS = 3
"""The number of digits of a unit; each has _DIGIT_BITS bits."""
_WORD = 1 << 63


# 100.00 over weights of 1, 2 and 4: what is lost is in parts of a cent by 7, and the cents that are
# left over go where it is most. The places of an event's recipients, the one that lost most first,
# are below those of the next event's, so that one sort serves all events:
#
#     weight   exact        share   lost        place         + 1
#     1        14.2857…     14.28   4           0 + 7 - 4
#     2        28.5714…     28.57   1           0 + 7 - 1
#     4        57.1428…     57.14   2           0 + 7 - 2
#     left over                1 cent           the first 1   to the one with 3


class WeightedRecipients:
    """Recipients with their weights, made ready to share any units out."""

    # All of a piece at once, although smaller columns would stay in a processor's own memory: two
    # threads that make many short calls of numpy wait for each other more than that would save.

    def __init__(self, recipients: Recipients, weights: IntArray) -> None:
        """Weights are at most a billion and of no event all 0."""
        self._recipients, self._weights = recipients, weights
        self._equal = bool((weights == weights[:1]).all())

    @cached_property
    def _totals(self) -> tuple[IntArray, IntArray]:
        """The weight of each recipient's event, and of that and all events before it."""
        before, of = _running(self._weights), self._recipients
        starts, ends = before[of.firsts], before[of.firsts + of.counts]
        return (ends - starts)[of.events], ends[of.events]

    def shares(self, units: IntArray) -> IntArray:
        """Return each one's share in its event's units, of which there are 60 bits."""
        if self._equal:
            return self._recipients.evenly(units)
        of, (totals, places) = self._recipients, self._totals
        shares, lost = _divided(units, of, self._weights, totals)
        left_over = units - _sums(shares, of)
        served = np.flatnonzero((left_over > 0) & (of.counts > 0))
        if not len(served):
            return shares
        places = np.subtract(places, lost, out=lost)
        ordered, next_ones = np.sort(places), of.firsts + left_over
        last = np.full(len(units), -1)
        last[served] = ordered[next_ones[served] - 1]
        shares += places <= last[of.events]
        some = served[left_over[served] < of.counts[served]]
        tied = some[ordered[next_ones[some]] == last[some]]
        shares[self._too_late(tied, places, last, left_over)] -= 1
        return shares

    def _too_late(self, tied: IntArray, places: IntArray, last: IntArray, left_over: IntArray) -> IntArray:
        """Return who of some events is not served although it lost as much as the last one who is:
        the later ones.
        """
        firsts, counts = self._recipients.firsts[tied], self._recipients.counts[tied]
        events = np.repeat(np.arange(len(tied)), counts)
        at = np.arange(len(events)) + (firsts - np.cumsum(counts) + counts)[events]
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


def _sums(shares: IntArray, of: Recipients) -> IntArray:
    """Return what the shares of each event come to; sums may go round, as may what is left."""
    before = _running(shares)
    return before[of.firsts + of.counts] - before[of.firsts]


def _divided(
    units: IntArray, of: Recipients, weights: IntArray, totals: IntArray
) -> tuple[IntArray, IntArray]:
    """Return each one's units times its weight, divided by `totals`, and what is left of each.
    Units have 60 bits, weights 30; totals at most 43.
    """
    if int(units.max(initial=0)) * int(weights.max(initial=0)) < _WORD:
        product = units[of.events]
        product *= weights
        return np.divmod(product, totals, out=(product, np.empty_like(product)))
    shares, lost = np.zeros_like(weights), np.zeros_like(weights)
    for digit in reversed(range(_DIGITS)):
        digits = (units >> (digit * _DIGIT_BITS) & ((1 << _DIGIT_BITS) - 1))[of.events]
        digits *= weights
        lost <<= _DIGIT_BITS
        lost += digits
        more, lost = np.divmod(lost, totals, out=(digits, lost))
        shares <<= _DIGIT_BITS
        shares += more
    return shares, lost
