"""The events that a report is over, and the touches before them that are in the window. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from headwater.attribution.credits import TouchSlices
from headwater.attribution.paths.lookup import are_among
from headwater.attribution.paths.path_data import (
    LEFT_OUT,
    OLDER,
    ROUNDED_AWAY,
    BoolArray,
    Column,
    IntArray,
    PathData,
)
from headwater.reports.models import Filters
from headwater.reports.plan.dimensions import Dimension


@dataclass(frozen=True)
class KeyFilter:
    """A condition that events, or touches, are in a group with one of some keys."""

    dimension: Dimension
    keys: IntArray
    """Ascending."""

    @property
    def of_touch(self) -> bool:
        """True when it is a condition on touches."""
        return self.dimension.of_touch

    def chosen(self, paths: PathData) -> BoolArray:
        """Return which events, or touches, meet it."""
        return are_among(self.keys, self.dimension.keys(paths))


@dataclass(frozen=True)
class EventConditions:
    """Conditions on events, made ready to be held against many."""

    filters: Filters
    """Of these, the conditions on events."""
    contacts: IntArray | None = None
    """The contacts whose events count, ascending; None is all."""
    seconds: range | None = None
    """The seconds since 1970 in which an event counts; None is all of time."""
    keys: tuple[KeyFilter, ...] = ()
    """The groups that they are in."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of paths that the conditions read."""
        of_contacts = () if self.contacts is None else (Column.CONTACTS,)
        of_keys = (column for each in self.keys for column in each.dimension.columns)
        return (Column.SECONDS, Column.AMOUNTS, Column.NAMES, *of_contacts, *of_keys)

    def within(self, seconds: range | None) -> EventConditions:
        """Return the same conditions, within a time."""
        return replace(self, seconds=seconds)

    def named(self, event_names: tuple[str, ...]) -> EventConditions:
        """Return the same conditions on events with some names alone."""
        return replace(self, filters=replace(self.filters, event_names=event_names))

    def with_keys(self, keys: Iterable[KeyFilter]) -> EventConditions:
        """Return the same conditions with those of the keys that are of events."""
        return replace(self, keys=tuple(each for each in keys if not each.of_touch))

    def chosen(self, paths: PathData) -> BoolArray:
        """Return which events meet the conditions."""
        filters = self.filters
        chosen = np.ones(paths.events, dtype=np.bool_)
        seconds = paths[Column.SECONDS]
        if self.seconds is not None:
            chosen &= (seconds >= self.seconds.start) & (seconds < self.seconds.stop)
        if filters.event_names:
            chosen &= are_named(filters.event_names, paths)
        if self.contacts is not None:
            chosen &= are_among(self.contacts, paths[Column.CONTACTS])
        if filters.amount_min is not None or filters.amount_max is not None:
            chosen &= self._are_within_amounts(paths)
        for each in self.keys:
            chosen &= each.chosen(paths)
        return chosen

    def _are_within_amounts(self, paths: PathData) -> BoolArray:
        """Return which events have an amount that counts and is within the bounds."""
        least, most = self.filters.amount_min, self.filters.amount_max
        amounts, stored = amounts_of(paths), paths[Column.AMOUNTS]
        chosen = (stored > -LEFT_OUT) & (stored < LEFT_OUT)
        if least is not None:
            chosen &= amounts >= -int(-least.scaleb(4) // 1)
        if most is not None:
            chosen &= amounts <= int(most.scaleb(4) // 1)
        return chosen


def are_named(event_names: Collection[str], paths: PathData) -> BoolArray:
    """Return which events have one of these names."""
    wanted = np.array([name in event_names for name in paths.event_names], dtype=np.bool_)
    return wanted[paths[Column.NAMES]] if len(wanted) else np.zeros(paths.events, dtype=np.bool_)


def window_columns(days: int) -> tuple[Column, ...]:
    """Return the columns of paths that tell the touches in a window."""
    older = (OLDER[days],) if days else ()
    return Column.STARTS, Column.LENGTHS, *older


def touches_in_window(paths: PathData, days: int) -> TouchSlices:
    """Return the touches of every event that are in the window; 0 days is no limit."""
    starts = paths[Column.STARTS]
    begins = starts + paths[OLDER[days]] if days else starts
    return TouchSlices(begins, starts + paths[Column.LENGTHS])


def amounts_of(paths: PathData) -> IntArray:
    """Return the amounts of events in ten-thousandths, 0 where there is none that counts."""
    stored = paths[Column.AMOUNTS]
    return np.where((stored <= -ROUNDED_AWAY) | (stored >= ROUNDED_AWAY), 0, stored)


def count_names(paths: PathData, counted: BoolArray | None = None) -> dict[str, int]:
    """Return how many events have each name, of all or of some."""
    places = paths[Column.NAMES] if counted is None else paths[Column.NAMES][counted]
    counts = np.bincount(places, minlength=len(paths.event_names))
    named = zip(paths.event_names, counts.tolist(), strict=False)
    return {name: count for name, count in named if count}


def join_counts(several: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the counts by name of several pieces as those of all."""
    joined: Counter[str] = Counter()
    for counts in several:
        joined.update(counts)
    return dict(joined)
