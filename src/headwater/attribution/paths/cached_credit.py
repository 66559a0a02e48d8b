"""The cached credit of sources under a rule: of segments by version, of pending events by change. A list
recomputes only changes. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Self

import numpy as np
from msgspec import Struct

from headwater.attribution.paths.lookup import find_positions
from headwater.attribution.paths.path_data import (
    NO_NUMBERS,
    BoolArray,
    Column,
    IntArray,
    PathData,
    find_midnight,
    join_numbers,
)
from headwater.attribution.paths.postings import read_postings

MOST_SEGMENTS = 1_000
MOST_CHANGES = 10_000
NO_CREDIT = -1
"""In place of an event's second."""


@dataclass(frozen=True)
class CreditedEvents:
    """Credited events, possibly repeated."""

    event_ids: IntArray
    seconds: IntArray
    """In Unix seconds."""
    touches: int
    passed: int
    """Postings or events read."""

    @classmethod
    def from_paths(cls, paths: PathData, touches: IntArray) -> CreditedEvents:
        """Build from credited touches per event."""
        events = np.flatnonzero(touches)
        event_ids, seconds = paths[Column.EVENT_IDS][events], paths[Column.SECONDS][events]
        return CreditedEvents(event_ids, seconds, int(touches.sum()), paths.events)

    @classmethod
    def join(cls, several: Sequence[Self]) -> CreditedEvents:
        return CreditedEvents(
            join_numbers(item.event_ids for item in several),
            join_numbers(item.seconds for item in several),
            sum(item.touches for item in several),
            sum(item.passed for item in several),
        )


def read_all_postings(
    postings: Iterable[tuple[int, date, int, bytes]], model: str, window_days: int
) -> dict[int, CreditedEvents]:
    """Group credited events by segment version, the first value of a posting. Raises DamagedSegment."""
    events_by_part: dict[int, list[CreditedEvents]] = {}
    for stamp, day, source, data in postings:
        ids, seconds, count = read_postings(data, source, model, window_days)
        credited = CreditedEvents(ids, seconds + find_midnight(day), len(ids), count)
        events_by_part.setdefault(stamp, []).append(credited)
    return {stamp: CreditedEvents.join(postings) for stamp, postings in events_by_part.items()}


# With one change, its number determines the event's state, because a later state has another change. With
# several, an earlier transaction may still commit in between.
#
#     visible changes         {7}          {7, 6}            {7, 6, 9}
#     of the event            cached       read again        read again


class EventChanges(Struct, frozen=True):
    event_ids: IntArray
    numbers: IntArray

    def find_single(self) -> tuple[IntArray, IntArray, BoolArray]:
        """Return ascending events, each one's first change, and a mask of events without further changes."""
        events, first_indexes, counts = np.unique(self.event_ids, return_index=True, return_counts=True)
        return events, self.numbers[first_indexes], counts == 1


@dataclass(frozen=True)
class CachedCredit:
    segments: Mapping[int, CreditedEvents] = field(default_factory=dict[int, CreditedEvents])
    """By segment version."""
    changes: IntArray = field(default_factory=lambda: NO_NUMBERS)
    """Of events with a single change, ascending."""
    seconds: IntArray = field(default_factory=lambda: NO_NUMBERS)
    """Each change's event second, or NO_CREDIT."""

    def find_seconds(self, changes: EventChanges) -> tuple[IntArray, IntArray, BoolArray]:
        """Return the changed events, ascending, seconds or NO_CREDIT, and a mask of cached ones."""
        events, numbers, is_single = changes.find_single()
        places, is_known = find_positions(self.changes, numbers)
        seconds = self.seconds[places] if len(self.seconds) else places
        return events, seconds, is_known & is_single

    def with_segments(
        self, new_segments: Mapping[int, CreditedEvents], current_segments: Collection[int]
    ) -> Self:
        """Add segments. If there are too many, keep only current ones."""
        segments = {**self.segments, **new_segments}
        if len(segments) > MOST_SEGMENTS:
            segments = {stamp: segments[stamp] for stamp in current_segments if stamp in segments}
        return replace(self, segments=segments)

    def with_changes(self, changes: EventChanges, seconds: IntArray) -> Self:
        """Keep only the latest changes. Events ascend; seconds may be NO_CREDIT."""
        _, numbers, is_single = changes.find_single()
        all_changes = np.concatenate([self.changes, numbers[is_single]])
        unique_ids, places = np.unique(all_changes, return_index=True)
        values = np.concatenate([self.seconds, seconds[is_single]])[places]
        return replace(self, changes=unique_ids[-MOST_CHANGES:], seconds=values[-MOST_CHANGES:])
