"""Journeys drawn from a known Markov chain, so that the true weights of sources are known."""

from __future__ import annotations

from collections import defaultdict
from random import Random

from headwater.attribution.trained_models.journeys import Journey

SOURCES = (1, 2, 3, 4)
CONVERTED, LOST = "converted", "lost"
Step = int | str

# From a source (0 is the start) to the next step, with its probability.
CHAIN: dict[int, dict[Step, float]] = {
    0: {1: 0.4, 2: 0.3, 3: 0.2, 4: 0.1},
    1: {1: 0.1, 2: 0.3, 3: 0.1, CONVERTED: 0.1, LOST: 0.4},
    2: {1: 0.1, 3: 0.2, 4: 0.1, CONVERTED: 0.25, LOST: 0.35},
    3: {2: 0.1, 4: 0.3, CONVERTED: 0.1, LOST: 0.5},
    4: {1: 0.1, 3: 0.1, CONVERTED: 0.5, LOST: 0.3},
}


def draw_journeys(dice: Random, contacts: int) -> list[Journey]:
    """Return journeys of contacts; one contact in four has two."""
    journeys: list[Journey] = []
    for contact_id in range(contacts):
        for _ in range(1 + (dice.random() < 0.25)):
            path: list[int] = []
            step: Step = _draw_step(dice, 0)
            while isinstance(step, int):
                path.append(step)
                step = _draw_step(dice, step)
            journeys.append(Journey(contact_id, tuple(path), step == CONVERTED))
    return journeys


def _draw_step(dice: Random, step: int) -> Step:
    return dice.choices(list(CHAIN[step]), list(CHAIN[step].values()))[0]


def markov_truth() -> dict[int, float]:
    """Return the true weight of every source: each is removed in turn, so that it leads nowhere."""
    full_conversion = _conversion(removed_source=None)
    effects = {source: 1 - _conversion(removed_source=source) / full_conversion for source in SOURCES}
    return {source: effect / sum(effects.values()) for source, effect in effects.items()}


def _conversion(removed_source: int | None) -> float:
    """Return the probability of converting, by following the chain step by step."""
    converted, masses = 0.0, {0: 1.0}
    for _ in range(400):
        next_masses: dict[int, float] = defaultdict(float)
        for state, mass in masses.items():
            for following, chance in CHAIN[state].items():
                if following == CONVERTED:
                    converted += mass * chance
                elif isinstance(following, int) and following != removed_source:
                    next_masses[following] += mass * chance
        masses = next_masses
    return converted


def shapley_truth() -> dict[int, float]:
    """Return the true weight of every source: each conversion is split equally among its distinct sources."""
    weights: dict[int, float] = defaultdict(float)
    masses: dict[tuple[int, frozenset[int]], float] = {(0, frozenset()): 1.0}
    for _ in range(400):
        next_masses: dict[tuple[int, frozenset[int]], float] = defaultdict(float)
        for (state, met), mass in masses.items():
            for following, chance in CHAIN[state].items():
                if following == CONVERTED:
                    for source in met:
                        weights[source] += mass * chance / len(met)
                elif isinstance(following, int):
                    next_masses[following, met | {following}] += mass * chance
        masses = next_masses
    return {source: weights[source] / sum(weights.values()) for source in SOURCES}
