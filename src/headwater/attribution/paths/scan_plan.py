"""Plan a scan of paths: days with valid segments, pending events, and each part's version. Pure."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np
from msgspec import Struct

from headwater.attribution.paths.path_data import IntArray, find_midnight, join_numbers

BLOCK_SIZE = 500_000
"""Events and touches of a block: enough for numpy. 1,000,000 is slightly faster and needs twice the memory.
"""
_DAY = 86_400


@dataclass(frozen=True)
class PendingEvents:
    """A day's events with outdated segments."""

    event_ids: IntArray
    """Ascending, without duplicates."""
    changes: bytes
    """The ids of the changes. Every change has a new id, so equal ids mean equal paths."""


@dataclass(frozen=True)
class SegmentedDay:
    """A day with all of its segments."""

    day: date
    size: int
    """The number of events and touches."""
    versions: bytes
    """Equal versions mean equal paths."""


class Block(Struct, frozen=True):
    """Paths that are read together."""

    version: bytes | None
    """Equal versions in a Space mean equal paths. None if unknown."""
    first_day: date
    last_day: date

    @property
    def seconds(self) -> range:
        """The Unix seconds of its UTC days."""
        return range(find_midnight(self.first_day), find_midnight(self.last_day) + _DAY)


@dataclass(frozen=True)
class ScanPlan:
    """A range of days in one snapshot."""

    first_day: date
    last_day: date
    days: Sequence[SegmentedDay]
    """In order."""
    pending: Mapping[date, PendingEvents]
    unsegmented: frozenset[date]
    """Days to read from the tables."""
    has_versions: bool = True
    """False if paths can change while segments and changes stay the same."""

    @classmethod
    def empty(cls) -> ScanPlan:
        return cls(date.max, date.min, [], {}, frozenset())

    def covers(self, first_day: date, last_day: date) -> bool:
        return self.first_day <= first_day and last_day <= self.last_day

    def narrow(self, first_day: date, last_day: date) -> ScanPlan:
        """Return the plan of some of its days."""
        return ScanPlan(
            first_day,
            last_day,
            [segmented for segmented in self.days if first_day <= segmented.day <= last_day],
            {day: pending for day, pending in self.pending.items() if first_day <= day <= last_day},
            frozenset(day for day in self.unsegmented if first_day <= day <= last_day),
            self.has_versions,
        )

    # A block has days of one month, so ranges that begin in different months share most of their blocks:
    #
    #     month         April              May                June
    #     range A              ▇▇▇▇▇▇▇▇▇▇ ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇ ▇▇▇▇▇▇
    #     range B                                   ▇▇▇▇▇▇▇▇ ▇▇▇▇▇▇
    #     blocks               ╰────────╯ ╰────────────────╯ ╰────╯
    #     history       ├────────────────────────────────────────►│
    #
    # Segments are outdated for pending events, so a day's changes are part of its version.

    def blocks(self) -> list[Block]:
        return [self._block(run) for run in self._runs()]

    def all_blocks(self) -> list[Block]:
        """Return blocks, and days to read from tables."""
        return [*self.blocks(), *(Block(None, day, day) for day in sorted(self.unsegmented))]

    def days_in(self, block: Block) -> list[date]:
        """Return a block's days with segments."""
        start = bisect_left(self.days, block.first_day, key=_get_day)
        end = bisect_right(self.days, block.last_day, key=_get_day)
        return [segmented.day for segmented in self.days[start:end]]

    def pending_in(self, block: Block) -> IntArray:
        """Return events on days with segments, ascending."""
        days = [self.pending[day].event_ids for day in self.days_in(block) if day in self.pending]
        return np.unique(join_numbers(days))

    def pending_days(self, damaged: Collection[date], max_events: int) -> Iterator[list[date]]:
        """Group days with valid segments by up to `max_events`."""
        group: list[date] = []
        size = 0
        for day, pending in sorted(self.pending.items()):
            if day in damaged or day in self.unsegmented:
                continue
            if group and size + len(pending.event_ids) > max_events:
                yield group
                group, size = [], 0
            group.append(day)
            size += len(pending.event_ids)
        if group:
            yield group

    def pending_block(self, days: Sequence[date]) -> Block:
        """Make a block of some days' pending events."""
        parts = [field for day in days for field in (str(day).encode(), self.pending[day].changes)]
        version = _digest([b"pending", *parts]) if self.has_versions else None
        return Block(version, days[0], days[-1])

    def unknown_block(self) -> Block:
        """Make a block for any day's events."""
        return Block(None, self.first_day, self.last_day)

    def history(self, last_day: date) -> bytes | None:
        """Return the version of all paths up to a day; None if unknown."""
        if not self.has_versions or any(day <= last_day for day in self.unsegmented):
            return None
        return self._histories[bisect_right(self._versions[0], last_day)]

    def _runs(self) -> Iterator[list[SegmentedDay]]:
        run: list[SegmentedDay] = []
        size = 0
        for day in self.days:
            if run and (day.day.replace(day=1) > run[0].day or size + day.size > BLOCK_SIZE):
                yield run
                run, size = [], 0
            run.append(day)
            size += day.size
        if run:
            yield run

    def _block(self, run: Sequence[SegmentedDay]) -> Block:
        first_day, last_day = run[0].day, run[-1].day
        return Block(self._version(first_day, last_day), first_day, last_day)

    def _version(self, first_day: date, last_day: date) -> bytes | None:
        days, versions = self._versions
        start, end = bisect_left(days, first_day), bisect_right(days, last_day)
        return _digest(versions[start:end]) if self.has_versions else None

    @cached_property
    def _histories(self) -> list[bytes]:
        """The versions of all paths before the first of these days, up to it, and up to each later one."""
        digest = hashlib.blake2b(digest_size=16)
        histories = [digest.digest()]
        for version in self._versions[1]:
            digest.update(version)  # without lengths: each version has 16 bytes
            histories.append(digest.digest())
        return histories

    @cached_property
    def _versions(self) -> tuple[list[date], list[bytes]]:
        """The days with segments or changes, and their versions."""
        segments = {segmented.day: segmented.versions for segmented in self.days}
        changes = {day: pending.changes for day, pending in self.pending.items()}
        days = sorted({*segments, *changes})
        return days, [
            _digest([str(day).encode(), segments.get(day, b""), changes.get(day, b"")]) for day in days
        ]


def _get_day(segmented: SegmentedDay) -> date:
    return segmented.day


def _digest(parts: Iterable[bytes]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for field in parts:
        digest.update(len(field).to_bytes(8))
        digest.update(field)
    return digest.digest()


def make_pending_events(event_ids: IntArray, changes: IntArray) -> PendingEvents:
    return PendingEvents(np.unique(event_ids), np.sort(changes).tobytes())
