"""Surveys of the paths of some days before any is read: the days with segments to be believed, the
events that are pending, and an identity of each part. Pure.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import accumulate

import numpy as np

from headwater.attribution.paths.path_data import IntArray

BLOCK_SIZE = 500_000
"""Days are put together up to so many events and touches: enough for arithmetic in bulk. Twice as
many are a little quicker, and take twice the memory.
"""
_1970 = date(1970, 1, 1).toordinal()
_DAY = 86_400
_LONGEST_RUN = 1 << 12
"""The most days together, eleven years."""


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

    @property
    def ends(self) -> tuple[int, int]:
        """The seconds since 1970 from which and until which its events are."""
        days = self.first_day.toordinal(), self.last_day.toordinal() + 1
        first, after = (_DAY * (day - _1970) for day in days)
        return first, after


@dataclass(frozen=True)
class LivePart:
    """Events whose paths are read from the tables."""

    event_ids: IntArray
    block: Block


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

    # Blocks are runs of 1, 2, 4, 8 … days that begin where the calendar, cut into such runs from
    # its first day on, has them. So longer and shorter ranges have most blocks in common, and what
    # was added up over one is known to the other:
    #
    #     day         1    2    3    4    5    6    7    8    9
    #     range A          ▇    ▇    ▇    ▇    ▇    ▇    ▇    ▇
    #       blocks         ╰────╯    ╰──────────────────╯    ╰── …
    #     range B                    ▇    ▇    ▇    ▇    ▇    ▇
    #       blocks                   ╰──────────────────╯    ╰── …
    #     pending                    ·    ·
    #     history     ├─────────────────►│
    #                 ├───────────────────────────────────────►│
    #
    # An event that is pending is not believed where it stands, so the changes of a day count for
    # the identity of its block too.

    def blocks(self) -> list[Block]:
        """Return the days with segments put together, in order."""
        blocks: list[Block] = []
        sizes = [0, *accumulate(day.size for day in self.days)]
        start = 0
        while start < len(self.days):
            end = self._end_of_run(start, sizes)
            blocks.append(self._block(self.days[start:end]))
            start = end
        return blocks

    def everything(self) -> list[Block]:
        """Return the blocks, and each day whose events are all read from the tables."""
        return [*self.blocks(), *(Block(None, day, day) for day in sorted(self.distrusted))]

    def _end_of_run(self, start: int, sizes: Sequence[int]) -> int:
        """Return the place after the longest run from a place on that is not too large. `sizes` are
        those of all days before each place.
        """
        first, end, length = self.days[start].day.toordinal(), start + 1, 2
        while first % length == 0 and length <= _LONGEST_RUN:
            longer = bisect_left(self.days, first + length, start, key=_ordinal_of)
            if sizes[longer] - sizes[start] > BLOCK_SIZE:
                break
            end, length = longer, 2 * length
        return end

    def days_of(self, block: Block) -> list[date]:
        """Return the days with segments of a block, in order."""
        start = bisect_left(self.days, block.first_day, key=_day_of)
        end = bisect_right(self.days, block.last_day, key=_day_of)
        return [each.day for each in self.days[start:end]]

    def pending_of(self, block: Block) -> IntArray:
        """Return the events that are pending on the days with segments of a block, ascending."""
        days = [self.pending[day].event_ids for day in self.days_of(block) if day in self.pending]
        return np.unique(np.concatenate([np.array([], dtype=np.int64), *days]))

    def pending_parts(self, damaged: Collection[date], most: int) -> list[LivePart]:
        """Return the events that are pending on days whose segments are there, and turned out to be
        whole, day by day, and of a day up to so many together.
        """
        return [
            part
            for day, pending in sorted(self.pending.items())
            if day not in damaged and day not in self.distrusted
            for part in self._parts_of_day(day, pending, most)
        ]

    def unknown_part(self, event_ids: IntArray) -> LivePart:
        """Return events of any days, of which nothing says what their paths are."""
        return LivePart(event_ids, Block(None, self.first_day, self.last_day))

    def history(self, last_day: date) -> bytes | None:
        """Return the identity of everything until a day, None where that cannot be said."""
        if not self.identifies:
            return None
        if self._first_distrusted is not None and self._first_distrusted <= last_day:
            return None
        return self._histories[bisect_right(self._known_days, last_day)]

    def _parts_of_day(self, day: date, pending: PendingEvents, most: int) -> Iterator[LivePart]:
        for place in range(0, len(pending.event_ids), most):
            parts = [b"live", place.to_bytes(8), most.to_bytes(8), pending.changes]
            identity = _digest(parts) if self.identifies else None
            yield LivePart(pending.event_ids[place : place + most], Block(identity, day, day))

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


def _ordinal_of(segmented: SegmentedDay) -> int:
    return segmented.day.toordinal()


def _day_of(segmented: SegmentedDay) -> date:
    return segmented.day


def _digest(parts: Iterable[bytes]) -> bytes:
    """Return a digest of parts, each with its length, so that none runs into the next."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return digest.digest()


def put_together(parts: Sequence[LivePart], most: int) -> list[list[LivePart]]:
    """Return parts in their order, as many together as have up to so many events."""
    together: list[list[LivePart]] = []
    size = most
    for part in parts:
        size += len(part.event_ids)
        if size > most:
            together.append([])
            size = len(part.event_ids)
        together[-1].append(part)
    return together


def block_of(parts: Sequence[LivePart]) -> Block:
    """Return several parts as one block."""
    blocks = [part.block for part in parts]
    identities = [block.identity for block in blocks if block.identity is not None]
    return Block(
        _digest(identities) if len(identities) == len(blocks) else None,
        min(block.first_day for block in blocks),
        max(block.last_day for block in blocks),
    )


def pending_events(event_ids: IntArray, changes: IntArray) -> PendingEvents:
    """Return the events of a day with changes, and what identifies them."""
    return PendingEvents(np.unique(event_ids), np.sort(changes).tobytes())
