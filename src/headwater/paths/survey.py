"""Surveys of the paths of some days before any is read: the days with segments to be believed, the
events that are pending, and an identity of each part. Pure.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np

from headwater.paths.path_data import IntArray

BLOCK_SIZE = 400_000
"""Days are put together up to so many events and touches: enough for arithmetic in bulk. Twice as
many are a little quicker still, and take twice the memory.
"""


@dataclass(frozen=True)
class PendingEvents:
    """The events of a day whose segments are behind."""

    event_ids: IntArray
    """Ascending, each once."""
    changes: bytes
    """The ids of the changes: as long as they are the same, so is what the tables have of the
    events, as whoever changes one notes it anew.
    """


@dataclass(frozen=True)
class SegmentedDay:
    """A day whose segments are all there."""

    day: date
    size: int
    """Its events and touches."""
    stamps: bytes
    """Of its segments: as long as they are the same, so is what the segments have."""


@dataclass(frozen=True)
class Block:
    """Paths that are read together."""

    identity: bytes | None
    """Two blocks of a Space with the same have equal paths. None where that cannot be said."""
    first_day: date
    last_day: date


@dataclass(frozen=True)
class Survey:
    """The days of a Space from one to another, as of one moment."""

    first_day: date
    last_day: date
    days: Sequence[SegmentedDay]
    """In order."""
    pending: Mapping[date, PendingEvents]
    distrusted: frozenset[date]
    """Days whose events are all read from the tables."""
    identifies: bool = True
    """False where equal segments and changes do not make equal paths."""

    @classmethod
    def nothing(cls) -> Survey:
        """Return the survey of no day."""
        return cls(date.max, date.min, [], {}, frozenset())

    # Three blocks of segments, one of what is pending, and the history until two of the days:
    #
    #     day         1    2    3    4    5    6    7
    #     segments    ▇    ▇    ▇    ▇    ▇    ▇    ▇
    #     blocks      ╰─────────╯    ╰────╯    ╰────╯
    #     pending               ·              · ·
    #     history     ├─────────────►│              │
    #                 ├────────────────────────────►│
    #
    # An event that is pending is not believed where it stands, so the changes of a day count for
    # the identity of its block too.

    def blocks(self) -> list[Block]:
        """Return the days with segments put together, in order."""
        blocks: list[Block] = []
        gathered: list[SegmentedDay] = []
        size = 0
        for day in self.days:
            gathered.append(day)
            size += day.size
            if size >= BLOCK_SIZE:
                blocks.append(self._block(gathered))
                gathered, size = [], 0
        return [*blocks, self._block(gathered)] if gathered else blocks

    def days_of(self, block: Block) -> list[date]:
        """Return the days with segments of a block, in order."""
        start = bisect_left(self.days, block.first_day, key=_day_of)
        end = bisect_right(self.days, block.last_day, key=_day_of)
        return [each.day for each in self.days[start:end]]

    def live_block(self, damaged: Iterable[date], place: int) -> Block:
        """Return what is read from the tables, `place` counts its pieces from 0: the events that
        are pending, and all of days that are distrusted, or turned out to be damaged.
        """
        days = sorted(self.distrusted.union(self.pending, damaged))
        first, last = (days[0], days[-1]) if days else (date.min, date.min)
        if not self.identifies or self.distrusted or set(damaged):
            return Block(None, first, last)
        changes = [self.pending[day].changes for day in days]
        return Block(_digest([b"live", place.to_bytes(4), *changes]), first, last)

    def history(self, last_day: date) -> bytes | None:
        """Return the identity of everything until a day, None where that cannot be said."""
        if self._first_distrusted is not None and self._first_distrusted <= last_day:
            return None
        return self._histories[bisect_right(self._known_days, last_day)]

    def _block(self, days: Sequence[SegmentedDay]) -> Block:
        parts = [part for day in days for part in self._parts(day.day, day.stamps)]
        identity = _digest(parts) if self.identifies else None
        return Block(identity, days[0].day, days[-1].day)

    def _parts(self, day: date, stamps: bytes) -> list[bytes]:
        changes = self.pending[day].changes if day in self.pending else b""
        return [str(day).encode(), stamps, changes]

    @cached_property
    def _first_distrusted(self) -> date | None:
        return min(self.distrusted, default=None)

    @cached_property
    def _known_days(self) -> list[date]:
        """The days with something, segments or changes."""
        return sorted({day.day for day in self.days}.union(self.pending))

    @cached_property
    def _histories(self) -> list[bytes]:
        """The identities of no day, of the first known one, of the first two, and so on."""
        stamps = {day.day: day.stamps for day in self.days}
        histories = [b""]
        for day in self._known_days:
            parts = self._parts(day, stamps.get(day, b""))
            histories.append(_digest([histories[-1], *parts]))
        return histories


def _day_of(segmented: SegmentedDay) -> date:
    return segmented.day


def _digest(parts: Iterable[bytes]) -> bytes:
    """Return a digest of parts, each with its length, so that none runs into the next."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return digest.digest()


def pending_events(event_ids: IntArray, changes: IntArray) -> PendingEvents:
    """Return the events of a day with changes, and what identifies them."""
    return PendingEvents(np.unique(event_ids), np.sort(changes).tobytes())
