"""The models on columns of numbers: which touches of many paths get credit, and how much. The same
shares as the functions of the database, whose place among the touches these take in bulk. Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.decay import weigh
from headwater.attribution.models import ANY, MODELS, CreditedTouches, Spread

IntArray = NDArray[np.integer[Any]]

_MOST_SOURCES = 62
"""The highest number that a source can have in the database."""
_DIGIT_BITS = 20
_DIGITS = 3
"""Units have so many digits of so many bits each."""
_WORD = 1 << 63


@dataclass(frozen=True)
class TouchAges:
    """The times of touches, by which older ones have less credit."""

    seconds: IntArray
    """The whole seconds since 1970 of every touch."""
    half_life_days: int


@dataclass(frozen=True)
class TouchSlices:
    """The paths of many events: slices of one long row of touches."""

    begins: IntArray
    """Of each event, the first touch in the window."""
    ends: IntArray
    """Of each event, one past its last touch."""

    @property
    def lengths(self) -> IntArray:
        return self.ends - self.begins


@dataclass(frozen=True)
class Credited:
    """The touches that get credit, event by event in order."""

    events: IntArray
    """The event of each credited touch."""
    touches: IntArray
    counts: IntArray
    """Of each event, how many of its touches are credited."""
    ages: TouchAges | None = None
    """Only where credit goes by them."""

    def shares(self, units: IntArray, spread: Spread) -> IntArray:
        """Return the share of each credited touch in its event's whole number of units, of which
        each event has at most 1e18. The shares of an event add up to its units.
        """
        match spread:
            case Spread.WHOLE:
                return units[self.events]
            case Spread.LINEAR:
                each, left_over = np.divmod(units, np.maximum(self.counts, 1))
                return self._even(each, left_over)
            case Spread.U_SHAPED:
                return self._u_shaped(units)
            case Spread.BY_AGE:
                return self._weighted(units)

    @cached_property
    def _firsts(self) -> IntArray:
        """The place of each event's first touch among all that are credited."""
        return np.cumsum(self.counts) - self.counts

    def _even(self, each: IntArray, left_over: IntArray) -> IntArray:
        """Return the share of each touch; the first ones get one more, as many as are left over."""
        if not left_over.any():
            return each[self.events]
        served = (self._firsts + left_over)[self.events]
        return each[self.events] + (np.arange(len(self.events)) < served)

    def _u_shaped(self, units: IntArray) -> IntArray:
        # As in the database: over the denominator 5m an end has 2m parts and each of the m touches
        # between 1. Whichever remainder is larger has its touches served first.
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
        firsts = self._firsts[many]
        shares[firsts] = end + (np.where(ends < middles, m + 1, 1) <= left)
        shares[firsts + m + 1] = end + (np.where(ends > middles, 2, m + 2) <= left)
        return shares

    @cached_property
    def _weights(self) -> IntArray:
        """The weight of each touch beside the latest of its event."""
        assert self.ages is not None
        seconds = self.ages.seconds[self.touches].astype(np.int64)
        latest = seconds[np.maximum(self._firsts + self.counts - 1, 0)] if len(seconds) else seconds
        return weigh(latest[self.events] - seconds, self.ages.half_life_days)

    # 100.00 over weights of 1, 2 and 4: what is lost is in parts of a cent by 7, and the cents that
    # are left over go where it is most. The places of an event's touches, the one that lost most
    # first, are below those of the next event's, so that one sort serves all events:
    #
    #     weight   exact        share   lost        place         + 1
    #     1        14.2857…     14.28   4           0 + 7 - 4
    #     2        28.5714…     28.57   1           0 + 7 - 1
    #     4        57.1428…     57.14   2           0 + 7 - 2
    #     left over                1 cent           the first 1   to the touch with 3
    #
    def _weighted(self, units: IntArray) -> IntArray:
        before = np.concatenate([[0], np.cumsum(self._weights)])
        ends = self._firsts + self.counts
        starts, totals = before[self._firsts], before[ends] - before[self._firsts]
        shares, lost = _divided(units[self.events], self._weights, totals[self.events])
        sums = np.concatenate([[0], np.cumsum(shares)])  # may go round, as may the differences
        left_over = units - (sums[ends] - sums[self._firsts])
        served = np.flatnonzero((left_over > 0) & (self.counts > 0))
        if not len(served):
            return shares
        places = (starts + totals)[self.events] - lost
        last = np.full(len(units), -1)
        last[served] = np.sort(places)[self._firsts[served] + left_over[served] - 1]
        last_of_all = last[self.events]
        first, equal = places < last_of_all, places == last_of_all
        return shares + (first | (equal & self._served(equal, first, left_over)))

    def _served(
        self, equal: NDArray[np.bool_], first: NDArray[np.bool_], left_over: IntArray
    ) -> NDArray[np.bool_]:
        """Return which touches that lost equally much are served, when others are served first: the
        earlier ones, as long as there is something left.
        """
        before, firsts = count_before(first), self._firsts
        left = left_over - (before[firsts + self.counts] - before[firsts])
        equals = count_before(equal)
        return equals[:-1] - equals[firsts][self.events] < left[self.events]


class Crediting:
    """Gives credit to the touches of paths. What several models have in common, by the sources that
    count for them, is made once.
    """

    def __init__(
        self, paths: TouchSlices, sources: IntArray, ages: TouchAges | None = None
    ) -> None:
        """`sources` are those of all touches; `ages` are needed where credit goes by them."""
        self._paths, self._sources, self._ages = paths, sources, ages
        self._counting: dict[frozenset[int], tuple[TouchSlices, IntArray | None]] = {}
        self._each: dict[frozenset[int], Credited] = {}

    def credit(self, model: str) -> Credited:
        """Return the touches that a model credits."""
        rule = MODELS[model]
        if rule.take is CreditedTouches.EACH:
            (counting,) = rule.counting
            every = self.touches_of(counting.source_ids)
            return replace(every, ages=self._ages) if rule.goes_by_age else every
        picks = np.full(len(self._paths.begins), -1, dtype=np.int64)
        for counting in rule.counting:
            more = self._pick(counting.source_ids, last=rule.take is CreditedTouches.LAST)
            picks = np.where(picks < 0, more, picks)
        has = picks >= 0
        events = np.flatnonzero(has)
        return Credited(events, picks[events], has.astype(np.int64))

    def every_touch(self) -> Credited:
        """Return every touch of the paths."""
        return self.touches_of(ANY.source_ids)

    def touches_of(self, source_ids: frozenset[int]) -> Credited:
        """Return every touch of some sources."""
        if source_ids not in self._each:
            narrowed, touches = self._only(source_ids)
            counts = np.maximum(narrowed.lengths, 0)
            events = np.repeat(np.arange(len(counts)), counts)
            offsets = narrowed.begins - np.cumsum(counts) + counts
            at = np.arange(len(events)) + offsets[events]
            at = at if touches is None else touches[at]
            self._each[source_ids] = Credited(events, at, counts)
        return self._each[source_ids]

    def _pick(self, source_ids: frozenset[int], *, last: bool) -> IntArray:
        """Return each event's first or last touch of some sources; -1 where there is none."""
        narrowed, touches = self._only(source_ids)
        at = narrowed.ends - 1 if last else narrowed.begins
        has = narrowed.lengths > 0
        if touches is not None:
            at = touches[np.where(has, at, 0)] if len(touches) else at
        return np.where(has, at, -1)

    def _only(self, source_ids: frozenset[int]) -> tuple[TouchSlices, IntArray | None]:
        """Return the paths among the touches of some sources, and where these are among all; None
        is everywhere.
        """
        if source_ids == ANY.source_ids:
            return self._paths, None
        if source_ids not in self._counting:
            counts = are_sources_among(source_ids, self._sources)
            before = count_before(counts)
            slices = TouchSlices(before[self._paths.begins], before[self._paths.ends])
            self._counting[source_ids] = slices, np.flatnonzero(counts)
        return self._counting[source_ids]


def _divided(units: IntArray, weights: IntArray, totals: IntArray) -> tuple[IntArray, IntArray]:
    """Return `units * weights` divided by `totals`, and what is left of each. Units have 60 bits,
    weights 20; totals at most 43.
    """
    if int(units.max(initial=0)) * int(weights.max(initial=0)) < _WORD:
        return np.divmod(units * weights, totals)
    shares, lost = np.zeros_like(units), np.zeros_like(units)
    for digit in reversed(range(_DIGITS)):
        digits = units >> (digit * _DIGIT_BITS) & ((1 << _DIGIT_BITS) - 1)
        more, lost = np.divmod((lost << _DIGIT_BITS) + digits * weights, totals)
        shares = (shares << _DIGIT_BITS) + more
    return shares, lost


def are_sources_among(source_ids: Collection[int], sources: IntArray) -> NDArray[np.bool_]:
    """Return which sources are among some."""
    table = np.zeros(1 + _MOST_SOURCES, dtype=np.bool_)
    table[list(source_ids)] = True
    return table.take(sources)


def count_before(chosen: NDArray[np.bool_]) -> IntArray:
    """Return how many are chosen before each place, and in all."""
    before = np.zeros(len(chosen) + 1, dtype=np.int32)
    np.cumsum(chosen, out=before[1:])
    return before
