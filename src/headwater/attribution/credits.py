"""The models on columns of numbers: which touches of many paths get credit, and how much. The same
shares as the functions of the database, whose place among the touches these take in bulk. Pure.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.models import ANY, MODELS, CreditedTouches, Spread

IntArray = NDArray[np.integer[Any]]

_MOST_SOURCES = 62
"""The highest number that a source can have in the database."""


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


class Crediting:
    """Gives credit to the touches of paths. What several models have in common, by the sources that
    count for them, is made once.
    """

    def __init__(self, paths: TouchSlices, sources: IntArray) -> None:
        """`sources` are those of all touches."""
        self._paths, self._sources = paths, sources
        self._counting: dict[frozenset[int], tuple[TouchSlices, IntArray | None]] = {}
        self._each: dict[frozenset[int], Credited] = {}

    def credit(self, model: str) -> Credited:
        """Return the touches that a model credits."""
        rule = MODELS[model]
        if rule.take is CreditedTouches.EACH:
            (counting,) = rule.counting
            return self.touches_of(counting.source_ids)
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
