"""The models on numpy columns: the credited touches of many paths, and their shares, like the database
functions. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headwater.attribution.models import ANY, MODELS, CreditedTouches, Spread
from headwater.attribution.shares import DistinctSources, Recipients, WeightedRecipients, count_before
from headwater.sources.networks import LAST_NUMBER

IntArray = NDArray[np.integer[Any]]

_EQUAL = np.ones(1 + LAST_NUMBER, dtype=np.int64)


@dataclass(frozen=True)
class TouchAges:
    """The ages of touches, for models that give older ones less credit."""

    seconds: IntArray
    """In Unix seconds, of every touch."""
    half_life_days: int


@dataclass(frozen=True)
class SourceWeights:
    """The weights of sources, for models that share credit by source."""

    sources: IntArray
    """The source number of every touch."""
    weights: IntArray
    """By source number; at most a billion."""


class TouchSlices(Struct, frozen=True):
    """Many paths as slices of one array of touches."""

    begins: IntArray
    """Each event's first touch in the window."""
    ends: IntArray
    """One past each event's last touch."""

    @property
    def lengths(self) -> IntArray:
        return self.ends - self.begins


@dataclass(frozen=True)
class Credited:
    events: IntArray
    touches: IntArray
    counts: IntArray
    ages: TouchAges | None = None
    weights_by_source: SourceWeights | None = None

    def shares(self, units: IntArray, spread: Spread) -> IntArray:
        """Return each touch's share in its event's units, at most 1e18, which add up to them."""
        match spread:
            case Spread.WHOLE:
                return units[self.events]
            case Spread.LINEAR:
                return self._recipients.evenly(units)
            case Spread.U_SHAPED:
                return self._recipients.u_shaped(units)
            case Spread.BY_AGE:
                return self._weighted.shares(units)
            case Spread.BY_SOURCE:
                return self._sources_met.shares(units)

    @cached_property
    def _recipients(self) -> Recipients:
        return Recipients(self.events, self.counts)

    @cached_property
    def _weighted(self) -> WeightedRecipients:
        """The touches, weighted by their age relative to the latest of the event."""
        assert self.ages is not None
        seconds = self.ages.seconds[self.touches].astype(np.int64, copy=False)
        last_indexes = np.maximum(self._recipients.firsts + self.counts - 1, 0)
        latest_seconds = seconds[last_indexes] if len(seconds) else seconds
        age_seconds = latest_seconds[self.events]
        age_seconds -= seconds
        return WeightedRecipients(self._recipients, weigh(age_seconds, self.ages.half_life_days))

    @cached_property
    def _sources_met(self) -> DistinctSources:
        assert self.weights_by_source is not None
        sources = self.weights_by_source.sources[self.touches]
        return DistinctSources.of(self._recipients, sources, self.weights_by_source.weights)


class Crediting:
    """Models with the same eligible sources share intermediate results."""

    def __init__(
        self,
        paths: TouchSlices,
        sources: IntArray,
        ages: TouchAges | None = None,
        trained: Mapping[str, IntArray] | None = None,
    ) -> None:
        """`sources` belong to all touches. Models by age need `ages`, and `trained` models have
        weights by source number.
        """
        self._paths, self._sources, self._ages = paths, sources, ages
        self._trained = trained or {}
        self._counting: dict[frozenset[int], tuple[TouchSlices, IntArray | None]] = {}
        self._credited_by_sources: dict[frozenset[int], Credited] = {}

    def credit(self, model: str) -> Credited:
        rule = MODELS[model]
        if rule.take is CreditedTouches.EACH:
            return self._credit_each(model)
        picks = np.full(len(self._paths.begins), -1, dtype=np.int64)
        for counting in rule.counting:
            further_picks = self._pick(counting.source_ids, last=rule.take is CreditedTouches.LAST)
            picks = np.where(picks < 0, further_picks, picks)
        has_pick = picks >= 0
        events = np.flatnonzero(has_pick)
        return Credited(events, picks[events], has_pick.astype(np.int64))

    def _credit_each(self, model: str) -> Credited:
        """Return every touch that counts for a model, with the values that shares depend on."""
        rule = MODELS[model]
        if rule.needs_training:
            weights = self._trained[model]
            touches = self.select_touches(frozenset(np.flatnonzero(weights).tolist()))
            return replace(touches, weights_by_source=SourceWeights(self._sources, weights))
        (counting,) = rule.counting
        touches = self.select_touches(counting.source_ids)
        match rule.share.spread:
            case Spread.BY_AGE:
                return replace(touches, ages=self._ages)
            case Spread.BY_SOURCE:
                return replace(touches, weights_by_source=SourceWeights(self._sources, _EQUAL))
            case _:
                return touches

    def every_touch(self) -> Credited:
        return self.select_touches(ANY.source_ids)

    def select_touches(self, source_ids: frozenset[int]) -> Credited:
        if source_ids not in self._credited_by_sources:
            narrowed, touches = self._narrow(source_ids)
            counts = np.maximum(narrowed.lengths, 0)
            events = np.repeat(np.arange(len(counts)), counts)
            offsets = narrowed.begins - np.cumsum(counts) + counts
            indexes = np.arange(len(events)) + offsets[events]
            indexes = indexes if touches is None else touches[indexes]
            self._credited_by_sources[source_ids] = Credited(events, indexes, counts)
        return self._credited_by_sources[source_ids]

    def _pick(self, source_ids: frozenset[int], *, last: bool) -> IntArray:
        narrowed, touches = self._narrow(source_ids)
        indexes = narrowed.ends - 1 if last else narrowed.begins
        has_touch = narrowed.lengths > 0
        if touches is not None:
            indexes = touches[np.where(has_touch, indexes, 0)] if len(touches) else indexes
        return np.where(has_touch, indexes, -1)

    def _narrow(self, source_ids: frozenset[int]) -> tuple[TouchSlices, IntArray | None]:
        """Return the paths of touches of some sources, and these touches' indexes; None means all."""
        if source_ids == ANY.source_ids:
            return self._paths, None
        if source_ids not in self._counting:
            counts = are_sources_among(source_ids, self._sources)
            before = count_before(counts)
            slices = TouchSlices(before[self._paths.begins], before[self._paths.ends])
            self._counting[source_ids] = slices, np.flatnonzero(counts)
        return self._counting[source_ids]


def are_sources_among(source_ids: Collection[int], sources: IntArray) -> NDArray[np.bool_]:
    table = np.zeros(1 + LAST_NUMBER, dtype=np.bool_)
    table[list(source_ids)] = True
    return table.take(sources)


LATEST_WEIGHT = 1 << 20
STEPS = 1024
_DAY = 86_400


# The latest touch weighs 1, a touch one half-life older a half, and so on. Only the time between touches
# matters: if all were a day older, all weights would shrink by the same factor, which keeps the shares. With
# a half-life of seven days, in 2**20:
#
#     days before the latest touch      0          3.5         7         14        21
#     steps of a half-life              0          512       1024      2048      3072
#     weight                      1048576      741455    524288    262144    131072
#
# Each further half-life repeats the numbers, halved and rounded down: 0 after twenty-one. No number is within
# 5e-5 of a half, so floats round correctly.

_FIRST = np.rint(LATEST_WEIGHT / 2.0 ** (np.arange(STEPS) / STEPS)).astype(np.int64)
_TABLE = np.concatenate([_FIRST >> halvings for halvings in range(LATEST_WEIGHT.bit_length() + 1)])
"""By step. The last is 0, also for later steps."""


def weigh(seconds: IntArray, half_life_days: int) -> IntArray:
    """Weigh touches by seconds before the latest touch, like the database function `decayed_weight`."""
    steps = seconds * STEPS
    steps //= half_life_days * _DAY
    return _TABLE.take(steps, mode="clip")
