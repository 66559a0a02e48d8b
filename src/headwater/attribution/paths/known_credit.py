"""The credit of some sources, by a rule, as far as this process knows it: of segments by their
stamps, and of events that are to be put into one by their changes. So a list is credited anew only
where something has changed. Pure, but for the memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Self

import numpy as np

from headwater.attribution.paths.cache import Key, cache
from headwater.attribution.paths.lookup import place_among
from headwater.attribution.paths.path_data import BoolArray, Column, IntArray, PathData
from headwater.attribution.paths.postings import read_postings

MOST_SEGMENTS = 1_000
MOST_CHANGES = 10_000
NO_CREDIT = -1
"""Instead of an event's second: it has no credit."""
_NONE = np.array([], dtype=np.int64)
_1970 = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class CreditedEvents:
    """Events that have credit, one perhaps several times."""

    event_ids: IntArray
    seconds: IntArray
    """The whole seconds since 1970 of each."""
    touches: int
    """How many touches with credit they have."""
    passed: int
    """The postings or events that were looked at."""

    @classmethod
    def of_paths(cls, paths: PathData, touches: IntArray) -> CreditedEvents:
        """Return those of paths, given how many touches with credit each event has."""
        events = np.flatnonzero(touches)
        event_ids, seconds = paths[Column.EVENT_IDS][events], paths[Column.SECONDS][events]
        return CreditedEvents(event_ids, seconds, int(touches.sum()), paths.events)

    @classmethod
    def join(cls, several: Sequence[Self]) -> CreditedEvents:
        return CreditedEvents(
            np.concatenate([_NONE, *(each.event_ids for each in several)]),
            np.concatenate([_NONE, *(each.seconds for each in several)]),
            sum(each.touches for each in several),
            sum(each.passed for each in several),
        )


def read_all_postings(
    postings: Iterable[tuple[int, date, int, bytes]], model: str, window_days: int
) -> dict[int, CreditedEvents]:
    """Return by the stamps of segments the events with credit by a model in a window, given the
    postings of sources with stamp, day and source. Raises DamagedPostings.
    """
    read: dict[int, list[CreditedEvents]] = {}
    for stamp, day, source, data in postings:
        ids, seconds, count = read_postings(data, source, model, window_days)
        midnight = (day.toordinal() - _1970) * 86_400
        credited = CreditedEvents(ids, seconds + midnight, len(ids), count)
        read.setdefault(stamp, []).append(credited)
    return {stamp: CreditedEvents.join(several) for stamp, several in read.items()}


# Of an event with one change, the change's number says in which state it is: any later state has a
# change of its own. Of one with several, another that was begun before may still come in between.
#
#     changes that are seen   {7}          {7, 6}            {7, 6, 9}
#     of the event            remembered   looked at anew    looked at anew


@dataclass(frozen=True)
class EventChanges:
    """Changes that wait, in no order: the event of each, and its number."""

    event_ids: IntArray
    numbers: IntArray

    def of_single(self) -> tuple[IntArray, IntArray, BoolArray]:
        """Return the events, ascending, the first change of each, and which have no other."""
        events, firsts, counts = np.unique(self.event_ids, return_index=True, return_counts=True)
        return events, self.numbers[firsts], counts == 1


@dataclass(frozen=True)
class KnownCredit:
    """The credit of some sources in a Space, by a rule, as far as it is known."""

    segments: Mapping[int, CreditedEvents] = field(default_factory=dict[int, CreditedEvents])
    """By the segments' stamps."""
    changes: IntArray = field(default_factory=lambda: _NONE)
    """Those of events with a single change, ascending."""
    seconds: IntArray = field(default_factory=lambda: _NONE)
    """Of the event of each, or NO_CREDIT."""

    def seconds_of(self, changes: EventChanges) -> tuple[IntArray, IntArray, BoolArray]:
        """Return the events of some changes, ascending, their seconds or NO_CREDIT, and which of
        these are known.
        """
        events, numbers, single = changes.of_single()
        places, known = place_among(self.changes, numbers)
        seconds = self.seconds[places] if len(self.seconds) else places
        return events, seconds, known & single

    def with_segments(self, read: Mapping[int, CreditedEvents], now: Collection[int]) -> Self:
        """Return the same and what was read of segments; when it is too much, of former ones only
        those that there are now.
        """
        segments = {**self.segments, **read}
        if len(segments) > MOST_SEGMENTS:
            segments = {stamp: segments[stamp] for stamp in now if stamp in segments}
        return replace(self, segments=segments)

    def with_changes(self, changes: EventChanges, seconds: IntArray) -> Self:
        """Return the same and the seconds, or NO_CREDIT, of the events of some changes, ascending;
        at most so many of the latest.
        """
        _, numbers, single = changes.of_single()
        joined = np.concatenate([self.changes, numbers[single]])
        kept, places = np.unique(joined, return_index=True)
        values = np.concatenate([self.seconds, seconds[single]])[places]
        return replace(self, changes=kept[-MOST_CHANGES:], seconds=values[-MOST_CHANGES:])


def recall(key: Key) -> KnownCredit:
    """Return what is known by a key, which tells databases, Spaces, sources and rules apart."""
    return cache.get(key) if key in cache else KnownCredit()


def remember(key: Key, known: KnownCredit) -> None:
    """Know it from now on."""
    cache.put(key, known)
