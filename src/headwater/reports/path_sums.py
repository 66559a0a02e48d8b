"""Adding up a piece of the paths by the ways that they are. Pure, and in bulk: the work grows with
events and touches, never with their product, and a path fits a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from headwater.attribution.credits import TouchSlices
from headwater.paths.path_data import Column, IntArray, PathData
from headwater.reports.cells import cells_of
from headwater.reports.models import Group
from headwater.reports.path_models import DAYS, MOST_STEPS, TOUCHES, PathsQuery, TouchPath
from headwater.reports.selection import (
    EventConditions,
    amounts_of,
    count_names,
    join_counts,
    touches_in_window,
    window_columns,
)
from headwater.reports.tally import Tally
from headwater.sources.catalogue import CHANNELS, SOURCES, channel_of

EVENTS, REVENUE, SECONDS = "events", "revenue", "seconds"
"""The sums: events, their amounts in ten-thousandths, and the seconds from their first touch."""

STEP_BITS = len(SOURCES).bit_length()
"""Of a step's number in that of a path, which has to fit 63."""
_STEP = (1 << STEP_BITS) - 1


class StepNames:
    """The names that steps may have, numbered from 1 in their order. Paths as numbers are in the
    order of their steps.
    """

    def __init__(self, group: Group) -> None:
        by_channel = group is Group.CHANNEL
        names: tuple[str, ...] = CHANNELS if by_channel else SOURCES
        self._names: list[str] = sorted(names)
        steps: list[str] = [channel_of(each) if by_channel else each for each in SOURCES]
        self._numbers = np.array([0, *(1 + self._names.index(name) for name in steps)])

    def numbers(self, source_ids: IntArray) -> IntArray:
        """Return the numbers of the steps that touches are."""
        return self._numbers[source_ids]

    def name(self, number: int) -> str:
        return self._names[number - 1]

    def path(self, code: int, more: int) -> TouchPath:
        """Return the path that a number stands for."""
        places = range((MOST_STEPS - 1) * STEP_BITS, -1, -STEP_BITS)
        numbers = [code >> place & _STEP for place in places]
        return TouchPath(tuple(self.name(number) for number in numbers if number), more)


STEP_NAMES = {group: StepNames(group) for group in (Group.SOURCE, Group.CHANNEL)}


@dataclass(frozen=True)
class PathPlan:
    """A report of paths made ready."""

    query: PathsQuery
    conditions: EventConditions

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of paths that it reads."""
        window = window_columns(self.query.window_days)
        return (*self.conditions.columns, *window, Column.SOURCES, Column.TOUCH_SECONDS)


@dataclass(frozen=True)
class PathSums:
    """The sums of a piece of the paths, or of all."""

    paths: Tally
    """By the path as a number, and its further steps."""
    touches: Tally
    """By the place in TOUCHES."""
    days: Tally
    """By the place in DAYS."""
    ends: Tally
    """By the numbers of the first and the last source."""
    names: Mapping[str, int]
    """How many events have each name."""

    @property
    def size(self) -> int:
        """The number of different paths."""
        return self.paths.groups

    @classmethod
    def join(cls, several: Sequence[Self]) -> Self:
        return cls(
            Tally.join([sums.paths for sums in several]),
            Tally.join([sums.touches for sums in several]),
            Tally.join([sums.days for sums in several]),
            Tally.join([sums.ends for sums in several]),
            join_counts(sums.names for sums in several),
        )


def add_up_paths(plan: PathPlan, paths: PathData) -> PathSums:
    """Add up the events of a piece that have a touch in the window."""
    paths = paths.select(plan.conditions.chosen(paths))
    window = touches_in_window(paths, plan.query.window_days)
    reached = window.lengths > 0
    paths = paths.select(reached)
    window = TouchSlices(window.begins[reached], window.ends[reached])
    since = paths[Column.TOUCH_SECONDS].astype(np.int64)[window.begins]
    seconds = paths[Column.SECONDS].astype(np.int64) - since
    values = {
        EVENTS: np.ones(paths.events, dtype=np.int64),
        REVENUE: amounts_of(paths),
        SECONDS: seconds,
    }

    def tally(*keys: IntArray) -> Tally:
        cells = cells_of(dict(enumerate(keys)), paths.events)
        return cells.tally(cells.sums(values))

    sources = STEP_NAMES[Group.SOURCE].numbers(paths[Column.SOURCES])
    steps = STEP_NAMES[plan.query.group].numbers(paths[Column.SOURCES])
    return PathSums(
        tally(*code_paths(steps, window)),
        tally(_ranged(TOUCHES, window.lengths)),
        tally(_ranged(DAYS, seconds // 86_400)),
        tally(sources[window.begins], sources[window.ends - 1]),
        count_names(paths),
    )


def code_paths(steps: IntArray, window: TouchSlices) -> tuple[IntArray, IntArray]:
    """Return every event's path as a number, and its further steps."""
    begins = np.ones(len(steps), dtype=np.bool_)
    begins[1:] = steps[1:] != steps[:-1]
    runs, of_runs = np.cumsum(begins) - 1, steps[begins]  # equal neighbours, whoever's they are
    first, last = runs[window.begins], runs[window.ends - 1]
    codes = np.zeros(len(first), dtype=np.int64)
    for step in range(MOST_STEPS):
        there = first + step <= last
        codes = codes << STEP_BITS | np.where(there, of_runs[np.minimum(first + step, last)], 0)
    return codes, np.maximum(last - first + 1 - MOST_STEPS, 0)


def _ranged(ranges: Mapping[str, int], values: IntArray) -> IntArray:
    return np.searchsorted(list(ranges.values()), values, "right") - 1
