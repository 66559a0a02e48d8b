"""Weights of sources by model, with bootstrap intervals. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct

from headwater.attribution.models import MARKOV, SHAPLEY
from headwater.attribution.trained_models.journeys import FloatArray, JourneyKinds
from headwater.attribution.trained_models.markov import markov_weights
from headwater.attribution.trained_models.shapley import shapley_shares, shapley_weights

RESAMPLES = 500
BOUNDS = (2.5, 97.5)
"""Percentiles of a 95 % interval."""
Weigh = Callable[[FloatArray], FloatArray]


class Estimate(Struct, frozen=True):
    source: str
    weight: float
    low: float
    high: float


def estimate(
    journeys: JourneyKinds, seed: int, name_of: Callable[[int], str]
) -> Mapping[str, list[Estimate]]:
    """Return the estimates of all visited sources by model, largest first.

    Intervals come from a bootstrap over contacts: each counts a random number of times with mean 1, with all
    of its journeys, which are alike. The same seed gives the same result.
    """
    weighers = {MARKOV: _by_markov(journeys), SHAPLEY: _by_shapley(journeys)}
    resamples = _resamples(journeys, weighers, seed)
    names = [name_of(number) for number in journeys.sources]
    estimates: dict[str, list[Estimate]] = {}
    for model, weigh in weighers.items():
        weights = weigh(journeys.counts)
        low, high = np.percentile(resamples[model], BOUNDS, axis=0)
        estimates[model] = sorted(
            (
                Estimate(name, float(weights[index]), float(low[index]), float(high[index]))
                for index, name in enumerate(names)
            ),
            key=lambda item: (-item.weight, item.source),
        )
    return estimates


def _by_markov(journeys: JourneyKinds) -> Weigh:
    return lambda counts: markov_weights(journeys.transitions(counts))


def _by_shapley(journeys: JourneyKinds) -> Weigh:
    shares = shapley_shares(journeys.source_sets[journeys.converted])
    return lambda counts: shapley_weights(shares, counts[journeys.converted])


def _resamples(journeys: JourneyKinds, weighers: Mapping[str, Weigh], seed: int) -> Mapping[str, FloatArray]:
    dice = np.random.Generator(np.random.PCG64(seed))
    contacts = int(journeys.contacts.max(initial=-1)) + 1
    weights = {model: np.zeros((RESAMPLES, len(journeys.sources))) for model in weighers}
    for index in range(RESAMPLES):
        draws = dice.poisson(1.0, contacts).astype(np.float64)
        counts = journeys.count_by_kind(draws)
        for model, weigh in weighers.items():
            weights[model][index] = weigh(counts)
    return weights
