"""Journeys: numpy columns of contacts' sources in order, until conversion or loss. Equal journeys are one
kind. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

IntArray = NDArray[np.integer[Any]]
FloatArray = NDArray[np.float64]

START = 0
"""The state before the first touch. The sources follow, ordered by number."""
CONVERSION, NULL = -2, -1
"""The last two states: converted and lost."""
BESIDES_SOURCES = 3


class Journey(Struct, frozen=True):
    """The touches before a conversion, or all of a contact without one."""

    contact_id: int
    source_ids: tuple[int, ...]
    """In the order of touches; at least one."""
    converted: bool


# Three contacts (B bought twice) and sources 1 and 2:
#
#     contact   journey              kind
#     A         1 2 conversion       0
#     B         1 2 conversion       0
#     B         2 conversion         1
#     C         1 null               2
#
#     kind      transitions                               sources
#     0         start→1  1→2  2→conversion                {1, 2}
#     1         start→2  2→conversion                     {2}
#     2         start→1  1→null                           {1}
#
# Models need only the counts of kinds, and a resample of contacts only changes the counts.


@dataclass(frozen=True)
class JourneyKinds:
    sources: tuple[int, ...]
    """Source numbers, ascending."""
    contacts: IntArray
    """Each journey's contact, from 0."""
    kinds: IntArray
    step_kinds: IntArray
    steps: IntArray
    """The state left times the number of states, plus the state entered."""
    source_sets: NDArray[np.bool_]
    """By kind and source."""
    converted: NDArray[np.bool_]
    """By kind."""

    @cached_property
    def counts(self) -> FloatArray:
        return self.count_by_kind(np.ones(int(self.contacts.max(initial=-1)) + 1))

    def count_by_kind(self, weights: FloatArray) -> FloatArray:
        """Count journeys by kind, with contacts weighted."""
        size = len(self.converted)
        counts = np.bincount(self.kinds, weights[self.contacts], minlength=size)
        return counts.astype(np.float64)

    @property
    def conversions(self) -> int:
        return int(self.counts[self.converted].sum())

    @property
    def lost(self) -> int:
        return int(self.counts[~self.converted].sum())

    def transitions(self, counts: FloatArray) -> FloatArray:
        """Return a matrix by state, from journeys by kind."""
        states = len(self.sources) + BESIDES_SOURCES
        flat = np.bincount(self.steps, counts[self.step_kinds], minlength=states * states)
        return flat.astype(np.float64).reshape(states, states)


def gather_journeys(journeys: Iterable[Journey]) -> JourneyKinds:
    numbers: dict[tuple[tuple[int, ...], bool], int] = {}
    places: dict[int, int] = {}
    contacts: list[int] = []
    kinds: list[int] = []
    for journey in journeys:
        kinds.append(numbers.setdefault((journey.source_ids, journey.converted), len(numbers)))
        contacts.append(places.setdefault(journey.contact_id, len(places)))
    sources = tuple(sorted({source for source_ids, _ in numbers for source in source_ids}))
    step_kinds, steps = _steps(sources, numbers)
    return JourneyKinds(
        sources,
        _column(contacts),
        _column(kinds),
        step_kinds,
        steps,
        _source_sets(sources, [source_ids for source_ids, _ in numbers]),
        np.array([is_converted for _, is_converted in numbers], dtype=np.bool_),
    )


def _steps(
    sources: tuple[int, ...], kinds: Iterable[tuple[tuple[int, ...], bool]]
) -> tuple[IntArray, IntArray]:
    states = len(sources) + BESIDES_SOURCES
    state_of = {source: state for state, source in enumerate(sources, START + 1)}
    step_kinds: list[int] = []
    steps: list[int] = []
    for kind, (source_ids, is_converted) in enumerate(kinds):
        end = states + (CONVERSION if is_converted else NULL)
        path = [START, *(state_of[source] for source in source_ids), end]
        steps += [previous * states + target for previous, target in pairwise(path)]
        step_kinds += [kind] * (len(path) - 1)
    return _column(step_kinds), _column(steps)


def _source_sets(sources: tuple[int, ...], kinds: Sequence[tuple[int, ...]]) -> NDArray[np.bool_]:
    index_of = {source: index for index, source in enumerate(sources)}
    sets = np.zeros((len(kinds), len(sources)), dtype=np.bool_)
    for kind, source_ids in enumerate(kinds):
        sets[kind, [index_of[source] for source in source_ids]] = True
    return sets


def _column(values: list[int]) -> IntArray:
    return np.array(values, dtype=np.int64)
