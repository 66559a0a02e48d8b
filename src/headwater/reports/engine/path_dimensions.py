"""Dimensions of the path before an event: sources or channels in sequence, first and last source, length,
duration. Only touches in the window count; without any an event has no key. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from msgspec import Struct

from headwater.attribution.credits import TouchSlices
from headwater.attribution.paths.path_data import Column, IntArray, PathData
from headwater.reports.engine.dimensions import NO_KEY
from headwater.reports.engine.plan import touches_in_window, window_columns
from headwater.reports.query import Group
from headwater.sources.catalogue import CHANNEL_IDS, CHANNELS
from headwater.sources.source_names import SourceNames

MOST_STEPS = 10
"""Further steps are only counted."""
MOST_MORE = 9
"""The most further steps: one digit sorts like text, and a path fits one integer."""
STEP_SEPARATOR = " > "
_FURTHER_MARK = "+"
TOUCHES: Mapping[str, int] = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6-10": 6, "11-20": 11, "21+": 21}
"""Minimum touches by range."""
DAYS: Mapping[str, int] = {
    "0": 0,
    "1": 1,
    "2-3": 2,
    "4-7": 4,
    "8-14": 8,
    "15-30": 15,
    "31-60": 31,
    "61-90": 61,
    "90+": 91,
}
"""Minimum days since the first touch, by range."""
_COUNTS = {str(number) for number in range(1, 1 + MOST_MORE)}


@dataclass(frozen=True)
class TouchPath:
    """Equal neighbouring sources or channels are one step."""

    steps: tuple[str, ...]
    """At most MOST_STEPS."""
    further_steps: int
    """Further steps, at most MOST_MORE."""

    def __str__(self) -> str:
        """Format as `email > direct`, with ` > +3` for three more steps."""
        return STEP_SEPARATOR.join(
            [*self.steps, *([f"{_FURTHER_MARK}{self.further_steps}"] if self.further_steps else [])]
        )

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return None for an invalid count."""
        *steps, last = text.split(STEP_SEPARATOR)
        if not last.startswith(_FURTHER_MARK):
            return cls((*steps, last), 0)
        more_text = last.removeprefix(_FURTHER_MARK)
        return cls(tuple(steps), int(more_text)) if more_text in _COUNTS else None


_MORE_VALUES = MOST_MORE + 1
_KEYS = 1 << 63


class StepNames:
    """Step names, numbered from 1 alphabetically, so that integer paths sort like their steps."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = sorted(set(names.values()))
        self.values = len(self._names) + 1
        """Including 0 for no step."""
        self.most_steps = max(
            steps for steps in range(1, 1 + MOST_STEPS) if self.values**steps * _MORE_VALUES <= _KEYS
        )
        """Fewer with many custom networks: a path must fit one integer."""
        self._numbers = np.zeros(1 + max(names), dtype=np.min_scalar_type(self.values))
        for source_id, name in names.items():
            self._numbers[source_id] = 1 + self._names.index(name)

    def numbers(self, source_ids: IntArray) -> IntArray:
        return self._numbers.take(source_ids)

    def path(self, key: int) -> TouchPath:
        code, more_steps = divmod(key, _MORE_VALUES)
        steps: list[str] = []
        while code:
            code, number = divmod(code, self.values)
            steps += [self._names[number - 1]] if number else []
        return TouchPath(tuple(reversed(steps)), more_steps)

    def key(self, path: TouchPath) -> int | None:
        """Return None if no event can have the path."""
        steps, more_steps = path.steps, path.further_steps
        if not 0 < len(steps) <= self.most_steps or not set(steps) <= set(self._names):
            return None
        if more_steps and (len(steps) < self.most_steps or more_steps > MOST_MORE):
            return None
        code = 0
        for index in range(self.most_steps):
            number = 1 + self._names.index(steps[index]) if index < len(steps) else 0
            code = code * self.values + number
        return code * _MORE_VALUES + more_steps


@lru_cache(maxsize=256)
def name_steps(group: Group, sources: SourceNames) -> StepNames:
    if group is Group.PATH:
        return StepNames({number: name for name, number in sources.numbers.items()})
    return _CHANNEL_STEPS


_CHANNEL_STEPS = StepNames({number: CHANNELS[channel - 1] for number, channel in CHANNEL_IDS.items()})
_Number = Callable[[PathData, TouchSlices], IntArray]


class PathDimension(Struct, frozen=True):
    window_days: int
    read: tuple[Column, ...]
    """Columns besides the window's."""
    number: _Number
    of_touch: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*window_columns(self.window_days), *self.read)

    def keys(self, paths: PathData) -> IntArray:
        window = touches_in_window(paths, self.window_days)
        reached = window.lengths > 0
        if reached.all():
            return self.number(paths, window)
        keys = np.full(paths.events, NO_KEY, dtype=np.int64)
        window = TouchSlices(window.begins[reached], window.ends[reached])
        keys[reached] = self.number(paths.select(reached), window)
        return keys


def make_path_dimension(group: Group, window_days: int, sources: SourceNames) -> PathDimension:
    """Return a dimension in OF_PATHS."""
    if group in (Group.PATH, Group.CHANNEL_PATH):
        return PathDimension(window_days, (Column.SOURCES,), _BySequence(name_steps(group, sources)))
    return PathDimension(window_days, *_DIMENSIONS[group])


def code_paths(names: StepNames, source_ids: IntArray, window: TouchSlices) -> IntArray:
    """Return each path's key. Every event needs a touch in the window."""
    steps = names.numbers(source_ids)
    is_start = np.ones(len(steps), dtype=np.bool_)
    is_start[1:] = steps[1:] != steps[:-1]
    run_steps = steps[is_start]  # across the borders of paths
    runs = np.cumsum(is_start, dtype=np.int32)
    first, last = runs[window.begins] - 1, runs[window.ends - 1] - 1
    codes = np.zeros(len(first), dtype=np.int64)
    for step in range(names.most_steps):
        exists = first + step <= last
        codes = codes * names.values + np.where(exists, run_steps[np.minimum(first + step, last)], 0)
    return codes * _MORE_VALUES + np.clip(last - first + 1 - names.most_steps, 0, MOST_MORE)


class _BySequence(Struct, frozen=True):
    names: StepNames

    def __call__(self, paths: PathData, window: TouchSlices) -> IntArray:
        return code_paths(self.names, paths[Column.SOURCES], window)


def _by_first(paths: PathData, window: TouchSlices) -> IntArray:
    return paths[Column.SOURCES][window.begins]


def _by_last(paths: PathData, window: TouchSlices) -> IntArray:
    return paths[Column.SOURCES][window.ends - 1]


def _by_length(_: PathData, window: TouchSlices) -> IntArray:
    return _find_range(TOUCHES, window.lengths)


def _by_days(paths: PathData, window: TouchSlices) -> IntArray:
    first_seconds = paths[Column.TOUCH_SECONDS][window.begins].astype(np.int64)
    return _find_range(DAYS, (paths[Column.SECONDS].astype(np.int64) - first_seconds) // 86_400)


def _find_range(ranges: Mapping[str, int], values: IntArray) -> IntArray:
    return np.searchsorted(list(ranges.values()), values, "right") - 1


_DIMENSIONS: dict[Group, tuple[tuple[Column, ...], _Number]] = {
    Group.FIRST_SOURCE: ((Column.SOURCES,), _by_first),
    Group.LAST_SOURCE: ((Column.SOURCES,), _by_last),
    Group.TOUCH_RANGE: ((), _by_length),
    Group.DAYS_RANGE: ((Column.SECONDS, Column.TOUCH_SECONDS), _by_days),
}
