"""The models on columns of numbers: which touches of many paths get credit, and how much. The same
shares as the functions of the database, whose place among the touches these take in bulk. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.models import ANY, MODELS, CountingTouches, CreditedTouches, Spread

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
    spread: Spread

    def shares(self, units: IntArray) -> IntArray:
        """Return the share of each credited touch in its event's whole number of units, of which
        each event has at most 1e18. The shares of an event add up to its units.
        """
        match self.spread:
            case Spread.WHOLE:
                return units[self.events]
            case Spread.LINEAR:
                each, left_over = np.divmod(units, np.maximum(self.counts, 1))
                return self._even(each, left_over)
            case Spread.U_SHAPED:
                return self._u_shaped(units)

    @cached_property
    def _places(self) -> IntArray:
        """The place of each touch among those of its event, from 1."""
        before = np.cumsum(self.counts) - self.counts
        return np.arange(1, 1 + len(self.events)) - before[self.events]

    def _even(self, each: IntArray, left_over: IntArray) -> IntArray:
        """Return the share of each touch; the first ones get one more, as many as are left over."""
        if not left_over.any():
            return each[self.events]
        return each[self.events] + (self._places <= left_over[self.events])

    def _u_shaped(self, units: IntArray) -> IntArray:
        # As in the database: over the denominator 5m an end has 2m parts and each of the m touches
        # between 1. Whichever remainder is larger has its touches served first.
        few = self.counts < 3
        m = np.where(few, 1, self.counts - 2)
        end, middle = 2 * units // 5, units // (5 * m)
        ends, middles = 2 * units % 5 * m, units % (5 * m)
        left = units - 2 * end - m * middle
        first_rank = np.where(ends < middles, m + 1, 1)
        last_rank = np.where(ends > middles, 2, m + 2)
        served = left + np.where(ends > middles, -1, np.where(ends < middles, 1, 0))
        each, left_over = np.divmod(units, np.maximum(self.counts, 1))
        base, extra = np.where(few, each, middle), np.where(few, left_over, served)
        shares = self._even(base, extra)
        stops = np.cumsum(self.counts)
        many = ~few
        shares[(stops - self.counts)[many]] = (end + (first_rank <= left))[many]
        shares[stops[many] - 1] = (end + (last_rank <= left))[many]
        return shares


def credit(model: str, paths: TouchSlices, sources: IntArray) -> Credited:
    """Return the touches that a model credits; `sources` are those of all touches."""
    rule = MODELS[model]
    if rule.take is CreditedTouches.EACH:
        (counting,) = rule.counting
        return _each(counting, paths, sources, rule.share.spread)
    picks = np.full(len(paths.begins), -1, dtype=np.int64)
    for counting in rule.counting:
        more = _pick(counting, paths, sources, last=rule.take is CreditedTouches.LAST)
        picks = np.where(picks < 0, more, picks)
    has = picks >= 0
    events = np.flatnonzero(has)
    return Credited(events, picks[events], has.astype(np.int64), rule.share.spread)


def every_touch(paths: TouchSlices) -> Credited:
    """Return every touch of the paths."""
    counts = np.maximum(paths.lengths, 0)
    events = np.repeat(np.arange(len(counts)), counts)
    offsets = paths.begins - (np.cumsum(counts) - counts)
    return Credited(events, np.arange(len(events)) + offsets[events], counts, Spread.LINEAR)


def _each(
    counting: CountingTouches, paths: TouchSlices, sources: IntArray, spread: Spread
) -> Credited:
    narrowed, touches = _only(counting, paths, sources)
    credited = every_touch(narrowed)
    at = credited.touches if touches is None else touches[credited.touches]
    return Credited(credited.events, at, credited.counts, spread)


def _pick(
    counting: CountingTouches, paths: TouchSlices, sources: IntArray, *, last: bool
) -> IntArray:
    """Return the first or last touch that counts of each event; -1 where none does."""
    narrowed, touches = _only(counting, paths, sources)
    at = narrowed.ends - 1 if last else narrowed.begins
    has = narrowed.lengths > 0
    if touches is not None:
        at = touches[np.where(has, at, 0)] if len(touches) else at
    return np.where(has, at, -1)


def _only(
    counting: CountingTouches, paths: TouchSlices, sources: IntArray
) -> tuple[TouchSlices, IntArray | None]:
    """Return the paths among the touches that count, and where these are among all; None is
    everywhere.
    """
    if counting is ANY:
        return paths, None
    counts = _lookup(counting)[sources]
    before = np.concatenate([[0], np.cumsum(counts)])
    return TouchSlices(before[paths.begins], before[paths.ends]), np.flatnonzero(counts)


def _lookup(counting: CountingTouches) -> NDArray[np.bool_]:
    table = np.zeros(1 + _MOST_SOURCES, dtype=np.bool_)
    table[list(counting.source_ids)] = True
    return table
