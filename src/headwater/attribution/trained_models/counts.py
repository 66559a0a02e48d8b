"""The counts behind a trained model, their digest, and the weights that follow from them. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from headwater.attribution.models import BILLION, MARKOV, SHAPLEY
from headwater.attribution.trained_models.journeys import BESIDES_SOURCES, FloatArray, JourneyKinds
from headwater.attribution.trained_models.markov import markov_weights
from headwater.attribution.trained_models.models import TrainingRequest
from headwater.attribution.trained_models.shapley import shapley_shares, shapley_weights
from headwater.sources.catalogue import SOURCE_IDS

_START, _CONVERSION, _NULL = "start", "conversion", "null"


def count_journeys(journeys: JourneyKinds, name_of: Callable[[int], str]) -> dict[str, Any]:
    """Return the counts that determine the weights: JSON in a fixed order."""
    transitions = journeys.transitions(journeys.counts)
    names = _name_states([name_of(number) for number in journeys.sources])
    sets: dict[int, int] = {}
    for kind in np.flatnonzero(journeys.converted).tolist():
        source_indexes = np.flatnonzero(journeys.source_sets[kind]).tolist()
        members = sum(1 << journeys.sources[index] for index in source_indexes)
        sets[members] = sets.get(members, 0) + int(journeys.counts[kind])
    return {
        "transitions": [
            [names[origin], names[target], int(transitions[origin, target])]
            for origin, target in np.argwhere(transitions > 0).tolist()
        ],
        "source_sets": [
            [[name_of(number) for number in journeys.sources if members >> number & 1], count]
            for members, count in sorted(sets.items())
        ],
    }


def make_digest(request: TrainingRequest, counts: Mapping[str, Any]) -> str:
    """Return the digest that identifies a trained model."""
    content = {
        "event_name": request.event_name,
        "window_days": request.window_days,
        "start": request.time.start.isoformat(),
        "end": request.time.end.isoformat(),
        **counts,
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def compute_weights(counts: Mapping[str, Any]) -> dict[str, dict[str, Decimal]]:
    """Return weights by model and source: billionths that add up to 1."""
    sources = _list_sources(counts)
    states = {name: state for state, name in enumerate(_name_states(sources))}
    transitions = np.zeros((len(sources) + BESIDES_SOURCES,) * 2)
    for origin, target, count in counts["transitions"]:
        transitions[states[origin], states[target]] = count
    sets = counts["source_sets"]
    conversions = np.array([count for _, count in sets], dtype=np.float64)
    members = np.array([[name in names for name in sources] for names, _ in sets], dtype=np.bool_)
    shares = shapley_shares(members.reshape(len(sets), len(sources)))
    return {
        MARKOV: _round_to_billionths(sources, markov_weights(transitions)),
        SHAPLEY: _round_to_billionths(sources, shapley_weights(shares, conversions)),
    }


def _name_states(sources: Sequence[str]) -> list[str]:
    return [_START, *sources, _CONVERSION, _NULL]


def _list_sources(counts: Mapping[str, Any]) -> list[str]:
    """List built-in sources by number, then others by name."""
    names = {name for origin, target, _ in counts["transitions"] for name in (origin, target)}
    names -= {_START, _CONVERSION, _NULL}
    return sorted(names, key=lambda name: (SOURCE_IDS.get(name, 1 + len(SOURCE_IDS)), name))


def _round_to_billionths(sources: Sequence[str], weights: FloatArray) -> dict[str, Decimal]:
    """Round weights down, and add the remaining billionths where most was lost."""
    exact_weights = weights * BILLION
    whole_parts = np.floor(exact_weights).astype(np.int64)
    left_over = BILLION - int(whole_parts.sum()) if whole_parts.any() else 0
    whole_parts[np.argsort(whole_parts - exact_weights, kind="stable")[:left_over]] += 1
    return {
        sources[index]: Decimal(int(whole_parts[index])) / BILLION
        for index in np.flatnonzero(whole_parts).tolist()
    }
