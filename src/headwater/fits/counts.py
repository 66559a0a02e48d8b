"""The counts of a fit, their digest, and the weights that follow from them alone. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from headwater.fits.estimation import MARKOV, SHAPLEY
from headwater.fits.journeys import CONVERSION, NULL, START, STATES, FloatArray, JourneyKinds
from headwater.fits.markov import markov_weights
from headwater.fits.models import FitRequest
from headwater.fits.shapley import shapley_shares, shapley_weights
from headwater.sources.catalogue import SOURCE_IDS, SOURCES

BILLION = 10**9
_NAMES = {START: "start", CONVERSION: "conversion", NULL: "null", **{
    number: name for name, number in SOURCE_IDS.items()
}}  # fmt: skip
_STATES = {name: state for state, name in _NAMES.items()}


def count_journeys(journeys: JourneyKinds) -> dict[str, Any]:
    """Return all that the weights follow from, as JSON has it, in one order."""
    transitions = journeys.transitions(journeys.counts)
    sets: dict[int, int] = {}
    for kind in np.flatnonzero(journeys.converted).tolist():
        members = int(journeys.source_sets[kind])
        sets[members] = sets.get(members, 0) + int(journeys.counts[kind])
    return {
        "transitions": [
            [_NAMES[left], _NAMES[entered], int(transitions[left, entered])]
            for left, entered in np.argwhere(transitions > 0).tolist()
        ],
        "source_sets": [[_members(each), count] for each, count in sorted(sets.items())],
    }


def digest_of(request: FitRequest, counts: Mapping[str, Any]) -> str:
    """Return the digest by which a fit is known: of the request and of what was counted."""
    content = {
        "event_name": request.event_name, "window_days": request.window_days,
        "start": request.time.start.isoformat(), "end": request.time.end.isoformat(), **counts,
    }  # fmt: skip
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def weights_of(counts: Mapping[str, Any]) -> dict[str, dict[str, Decimal]]:
    """Return by model the weight of every source that has one, from counts alone. They are
    billionths, which add up to 1.
    """
    transitions = np.zeros((STATES, STATES))
    for left, entered, count in counts["transitions"]:
        transitions[_STATES[left], _STATES[entered]] = count
    sets = counts["source_sets"]
    members = [sum(1 << SOURCE_IDS[name] for name in names) for names, _ in sets]
    conversions = np.array([count for _, count in sets], dtype=np.float64)
    shares = shapley_shares(np.array(members, dtype=np.int64))
    return {
        MARKOV: _in_billionths(markov_weights(transitions)),
        SHAPLEY: _in_billionths(shapley_weights(shares, conversions)),
    }


def _in_billionths(weights: FloatArray) -> dict[str, Decimal]:
    """Return weights rounded down, with what is left over where most was lost."""
    exact = weights * BILLION
    whole = np.floor(exact).astype(np.int64)
    left_over = BILLION - int(whole.sum()) if whole.any() else 0
    whole[np.argsort(whole - exact, kind="stable")[:left_over]] += 1
    return {SOURCES[at]: Decimal(int(whole[at])) / BILLION for at in np.flatnonzero(whole).tolist()}


def _members(source_set: int) -> Sequence[str]:
    return [name for name, number in SOURCE_IDS.items() if source_set >> number & 1]
