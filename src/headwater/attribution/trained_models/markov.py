"""The removal effect of sources in a first-order Markov chain of journeys. Pure."""

from __future__ import annotations

from typing import cast

import numpy as np

from headwater.attribution.trained_models.journeys import BESIDES_SOURCES, CONVERSION, FloatArray

# A removed source leads to null: its contacts are lost. The remaining conversions come from journeys that
# never enter it, so its removal effect is the share of the chain's conversions whose journeys do:
#
#     effect = P(a journey enters it) P(conversion from there) / P(conversion from the start)
#
# All three follow from the inverse N of 1 - Q, where Q has the probabilities between start and sources, and
# N[a, b] is the expected number of visits to b from a: b is reached with N[a, b] / N[b, b]. The result equals
# removing one source after another and recomputing the chain.


def removal_effects(transitions: FloatArray) -> FloatArray:
    """Return every source's removal effect, 0 to 1, from a matrix of counts. All 0 without conversions."""
    effects = np.zeros(len(transitions) - BESIDES_SOURCES)
    departures = transitions.sum(axis=1)
    states = np.flatnonzero(departures[:CONVERSION])
    chances = transitions[states] / departures[states, None]
    source_chances, conversion_chances = chances[:, states], chances[:, CONVERSION]
    visits = cast("FloatArray", np.linalg.inv(np.eye(len(states)) - source_chances))
    conversion: FloatArray = visits @ conversion_chances
    if not len(states) or conversion[0] <= 0:
        return effects
    entry_chances: FloatArray = visits[0] / visits.diagonal()
    effects[states[1:] - 1] = (entry_chances * conversion / conversion[0])[1:]
    return effects


def markov_weights(transitions: FloatArray) -> FloatArray:
    effects = removal_effects(transitions)
    total = effects.sum()
    return effects / total if total > 0 else effects
