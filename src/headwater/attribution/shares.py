"""Shares: an event's units divided among its touches equally, by weight or by source, so that they add up.
Same results as the database functions, for many events. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headwater.sources.networks import LAST_NUMBER

IntArray = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Recipients:
    """The recipients of units, ordered by event."""

    events: IntArray
    """The event of each recipient."""
    counts: IntArray

    @cached_property
    def firsts(self) -> IntArray:
        return np.cumsum(self.counts) - self.counts

    def evenly(self, units: IntArray) -> IntArray:
        quotient, left_over = np.divmod(units, np.maximum(self.counts, 1))
        return self._share_evenly(quotient, left_over)

    def _share_evenly(self, units: IntArray, left_over: IntArray) -> IntArray:
        """The first recipients get one more unit, as many as are left over."""
        shares = units[self.events]
        if left_over.any():
            shares += np.arange(len(shares)) < (self.firsts + left_over)[self.events]
        return shares

    def u_shaped(self, units: IntArray) -> IntArray:
        """Return two fifths for the first and the last, and one fifth for those between."""
        # As in the database: over the denominator 5m, an end has 2m parts and each of the m in between one.
        # The side with the larger remainder is served first.
        longer_paths = np.flatnonzero(self.counts > 2)
        base, extra = units.copy(), np.zeros_like(units)
        pairs = np.flatnonzero(self.counts == 2)
        base[pairs], extra[pairs] = units[pairs] >> 1, units[pairs] & 1
        units, m = units[longer_paths], self.counts[longer_paths] - 2
        end, middle = 2 * units // 5, units // (5 * m)
        ends, middles = (2 * units - 5 * end) * m, units - 5 * m * middle
        remainder = units - 2 * end - m * middle
        base[longer_paths], extra[longer_paths] = middle, remainder + (ends < middles) - (ends > middles)
        shares = self._share_evenly(base, extra)
        firsts = self.firsts[longer_paths]
        shares[firsts] = end + (np.where(ends < middles, m + 1, 1) <= remainder)
        shares[firsts + m + 1] = end + (np.where(ends > middles, 2, m + 2) <= remainder)
        return shares


def count_before(selection: NDArray[np.bool_]) -> IntArray:
    """Count selected items before each index, and in total."""
    before = np.zeros(len(selection) + 1, dtype=np.int32)
    np.cumsum(selection, out=before[1:])
    return before


_DIGIT_BITS = 20
_DIGITS = 3
"""Digits of a unit, of _DIGIT_BITS bits each."""
_WORD = 1 << 63


# 100.00 over weights of 1, 2 and 4: the loss of each is in sevenths of a cent, and the remaining cents go
# where most was lost. Each event's recipients get sort keys, the largest loss first, below the keys of the
# next event, so that one sort serves all events:
#
#     weight   exact        share   lost        sort key      + 1
#     1        14.2857…     14.28   4           0 + 7 - 4
#     2        28.5714…     28.57   1           0 + 7 - 1
#     4        57.1428…     57.14   2           0 + 7 - 2
#     remaining                1 cent           the first 1   to the one with 3


class WeightedRecipients:
    """Weighted recipients that can share any units."""

    # The whole batch, although smaller columns would fit the processor's cache: with many short numpy calls,
    # two threads would wait for each other longer.

    def __init__(self, recipients: Recipients, weights: IntArray) -> None:
        """Weights are at most a billion, and not all 0 for any event."""
        self._recipients, self._weights = recipients, weights
        self._equal = bool((weights == weights[:1]).all())

    @cached_property
    def _totals(self) -> tuple[IntArray, IntArray]:
        """Each recipient's event weight, and the cumulative weight including that event."""
        before, recipients = _cumulate(self._weights), self._recipients
        starts, ends = before[recipients.firsts], before[recipients.firsts + recipients.counts]
        return (ends - starts)[recipients.events], ends[recipients.events]

    def shares(self, units: IntArray) -> IntArray:
        """Share units of up to 60 bits."""
        if self._equal:
            return self._recipients.evenly(units)
        recipients, (totals, places) = self._recipients, self._totals
        shares, remainders = _divide(units, recipients, self._weights, totals)
        left_over = units - _sum_shares(shares, recipients)
        served_events = np.flatnonzero((left_over > 0) & (recipients.counts > 0))
        if not len(served_events):
            return shares
        places = np.subtract(places, remainders, out=remainders)
        ordered_places, next_ones = np.sort(places), recipients.firsts + left_over
        last = np.full(len(units), -1)
        last[served_events] = ordered_places[next_ones[served_events] - 1]
        shares += places <= last[recipients.events]
        partly_served = served_events[left_over[served_events] < recipients.counts[served_events]]
        tied_events = partly_served[ordered_places[next_ones[partly_served]] == last[partly_served]]
        shares[self._find_unserved(tied_events, places, last, left_over)] -= 1
        return shares

    def _find_unserved(
        self, tied: IntArray, places: IntArray, last: IntArray, left_over: IntArray
    ) -> IntArray:
        """Return the recipients of tied events without an extra unit although they lost as much as the last
        one served: the later ones.
        """
        firsts, counts = self._recipients.firsts[tied], self._recipients.counts[tied]
        events = np.repeat(np.arange(len(tied)), counts)
        indexes = np.arange(len(events)) + (firsts - np.cumsum(counts) + counts)[events]
        places, last = places[indexes], last[tied][events]
        equal = np.flatnonzero(places == last)
        events_of_equal = events[equal]
        equals = np.bincount(events_of_equal, minlength=len(tied))
        turns = np.arange(len(equal)) - (np.cumsum(equals) - equals)[events_of_equal]
        remainder = left_over[tied] - np.bincount(events[places < last], minlength=len(tied))
        return indexes[equal[turns >= remainder[events_of_equal]]]


def _cumulate(values: IntArray) -> IntArray:
    sums = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


def _sum_shares(shares: IntArray, recipients: Recipients) -> IntArray:
    """Sum shares per event. Sums may overflow; so may the remainder, which cancels out."""
    before = _cumulate(shares)
    return before[recipients.firsts + recipients.counts] - before[recipients.firsts]


def _divide(
    units: IntArray, recipients: Recipients, weights: IntArray, totals: IntArray
) -> tuple[IntArray, IntArray]:
    """Divide units times weight by `totals`; return quotient and remainder. Units have 60 bits, weights 30,
    totals at most 43.
    """
    if int(units.max(initial=0)) * int(weights.max(initial=0)) < _WORD:
        product = units[recipients.events]
        product *= weights
        return np.divmod(product, totals, out=(product, np.empty_like(product)))
    shares, remainders = np.zeros_like(weights), np.zeros_like(weights)
    for digit in reversed(range(_DIGITS)):
        digits = (units >> (digit * _DIGIT_BITS) & ((1 << _DIGIT_BITS) - 1))[recipients.events]
        digits *= weights
        remainders <<= _DIGIT_BITS
        remainders += digits
        next_shares, remainders = np.divmod(remainders, totals, out=(digits, remainders))
        shares <<= _DIGIT_BITS
        shares += next_shares
    return shares, remainders


_NUMBERS = 1 + LAST_NUMBER


# A purchase of 100.00 after four touches, where google_ads weighs twice as much as email. A source has one
# share however often it was visited, split equally among its touches:
#
#     touch                  0 google_ads   1 email   2 google_ads   3 google_ads
#     source, in order met   0              1         0              0
#     its weight             2              1
#     its share              66.67          33.33
#     credit                 22.23          33.33     22.22          22.22
#
# The first touch of a source gets its remaining cent.


class DistinctSources(Struct, frozen=True):
    """An event's distinct sources, by first touch."""

    _met: WeightedRecipients
    """The sources, with weights."""
    _order: IntArray
    """Touch indexes, grouped by source."""
    _turns: IntArray
    """Each touch group's source index."""
    _touches: Recipients

    @classmethod
    def of(cls, credited: Recipients, sources: IntArray, weights: IntArray) -> DistinctSources:
        """Build from credited touches and weights by source number."""
        keys = credited.events * _NUMBERS
        keys += sources
        order, begins = _sort_keys(keys)
        del keys
        sizes = np.diff(begins, append=len(order))
        is_first = np.zeros(len(order), dtype=np.bool_)
        is_first[order[begins]] = True
        first_indexes = np.flatnonzero(is_first)
        events = credited.events[first_indexes]
        recipients = Recipients(events, np.bincount(events, minlength=len(credited.counts)))
        return cls(
            WeightedRecipients(recipients, weights[sources[first_indexes]]),
            order,
            np.cumsum(is_first, dtype=np.int32)[order[begins]] - 1,
            Recipients(np.repeat(np.arange(len(sizes)), sizes), sizes),
        )

    def shares(self, units: IntArray) -> IntArray:
        source_shares = self._met.shares(units)
        shares = np.empty(len(self._order), dtype=np.int64)
        shares[self._order] = self._touches.evenly(source_shares[self._turns])
        return shares


def _sort_keys(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Return the indexes that sort keys (stable), and the starts of equal runs. Overwrites `keys`: a batch
    may have as many as touches.
    """
    bits = len(keys).bit_length()
    keys <<= bits  # sorting numbers takes half the time of sorting indexes
    keys += np.arange(len(keys))
    keys.sort()
    order = keys & ((1 << bits) - 1)
    keys >>= bits
    differs = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=differs[1:])
    return order, np.flatnonzero(differs)
