"""The groups of a report as numbers: each event or touch has a key, by which sums are made in bulk.
Only the keys of groups that are listed get their names. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import IntEnum
from functools import cached_property
from typing import Protocol
from zoneinfo import ZoneInfo

import numpy as np

from headwater.attribution.paths.lookup import NumberMap
from headwater.attribution.paths.path_data import NO_AMOUNT, BoolArray, Column, EventKind, IntArray, PathData
from headwater.events.accepted import EVENT_NAMES, ORDER_NAME, SALES_EVENTS, STEP_EVENTS
from headwater.reports.engine.time_buckets import TimeBuckets
from headwater.reports.query import Filters
from headwater.sources.catalogue import CHANNEL_IDS
from headwater.sources.source_names import SourceNames

_QUARTER = 900
_NO_STARTS = np.array([], dtype=np.int64)
NO_KEY = -1
"""The key of what has none: an event without a company, a touch without a campaign."""


class Dimension(Protocol):
    """One of a report's groups. It can be a key of what was made by it."""

    @property
    def of_touch(self) -> bool:
        """True when touches have the keys, false when events have."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the keys are made of."""
        ...

    def keys(self, paths: PathData) -> IntArray:
        """Return the key of every event, or of every touch."""
        ...


@dataclass(frozen=True)
class Stored:
    """A group whose keys are stored as they are."""

    column: Column
    of_touch: bool = False
    nothing: int | None = None
    """The stored number that stands for no key."""

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.column,)

    def keys(self, paths: PathData) -> IntArray:
        stored = paths[self.column]
        return stored if self.nothing is None else np.where(stored == self.nothing, NO_KEY, stored)


@dataclass(frozen=True, eq=False)
class Mapped:
    """A group whose keys are looked up: those of tag sets, or of contacts, by their number."""

    column: Column
    numbers: IntArray
    """The numbers that have a key, ascending."""
    key_of: IntArray
    """The key of each."""
    of_touch: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.column,)

    def keys(self, paths: PathData) -> IntArray:
        return self._key_map.find(paths[self.column])

    @cached_property
    def _key_map(self) -> NumberMap:
        return NumberMap(self.numbers, self.key_of, NO_KEY)


@dataclass(frozen=True)
class OfEventName:
    """The event's name, by its place in a list of all."""

    names: tuple[str, ...]
    of_touch = False
    columns = (Column.NAMES,)

    def keys(self, paths: PathData) -> IntArray:
        places = np.array([self.names.index(name) for name in paths.event_names], dtype=np.int64)
        stored = paths[Column.NAMES]
        return places[stored] if len(places) else stored.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Step:
    """The day, week or month of the period, by its place in it, from 1."""

    starts: IntArray
    """The seconds at which the steps begin."""
    of_touch: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return (time_column(of_touch=self.of_touch),)

    # Days are looked up by the quarters of an hour that they consist of, several times as fast as
    # by halving. Only the first step of a period may begin within one:
    #
    #     quarter         9:30 │ 9:45 │ 10:00 │ …  │ 23:45 │ 0:00 │ …
    #     a start              │   ▲  │       │    │       │ ▲    │
    #     step              0  │   1  │   1   │ 1  │   1   │ 2    │
    #
    def keys(self, paths: PathData) -> IntArray:
        (column,) = self.columns
        seconds = paths[column]
        if self._by_quarter is None:
            return np.searchsorted(self.starts, seconds, "right").astype(np.int64)
        first, table = self._by_quarter
        quarters = np.subtract(seconds, first, dtype=np.int64) // _QUARTER
        keys = table.take(quarters + 1, mode="clip")
        keys[seconds < self.starts[0]] = 0
        return keys

    @cached_property
    def _by_quarter(self) -> tuple[int, IntArray] | None:
        """The first second of the first step's quarter of an hour, and the step of every one from
        the one before; None where a later step begins within one.
        """
        if not len(self.starts):
            return None
        first = int(self.starts[0]) // _QUARTER * _QUARTER
        begins: IntArray = (self.starts - first) // _QUARTER
        if (self.starts[1:] % _QUARTER).any():
            return None
        quarters = np.arange(-1, int(begins[-1]) + 1)
        return first, np.searchsorted(begins, quarters, "right").astype(np.int64)

    @property
    def timeless(self) -> Step:
        """The same without the beginnings of events' steps."""
        return self if self.of_touch else Step(_NO_STARTS)

    def cut(self, seconds: range) -> tuple[int, tuple[int, ...]]:
        """Return how many steps begin up to the first of some seconds, and when others begin within
        them.
        """
        before, until = np.searchsorted(self.starts, [seconds.start, seconds.stop - 1], "right")
        return int(before), tuple(self.starts[before:until].tolist())

    def seconds_of(self, keys: IntArray, within: range) -> range:
        """Return the seconds from the first to the last of some steps of a period, which has these
        seconds; none without a step.
        """
        if not len(keys):
            return range(within.start, within.start)
        last = int(keys[-1])
        ends = int(self.starts[last]) if last < len(self.starts) else within.stop
        return range(int(self.starts[keys[0] - 1]), ends)


@dataclass(frozen=True)
class ClockPart:
    """The weekday (1 is Monday) or the hour of a time on the Space's clock."""

    zone: ZoneInfo
    weekday: bool
    of_touch: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return (time_column(of_touch=self.of_touch),)

    def keys(self, paths: PathData) -> IntArray:
        (column,) = self.columns
        local = local_seconds(paths[column].astype(np.int64), self.zone)
        if self.weekday:
            return (local // 86_400 + 3) % 7 + 1  # 1 January 1970 was a Thursday
        return local // 3_600 % 24


def time_column(*, of_touch: bool) -> Column:
    return Column.TOUCH_SECONDS if of_touch else Column.SECONDS


def steps(buckets: TimeBuckets, *, of_touch: bool) -> Step:
    """Return the steps of a period."""
    starts = np.array([int(start.timestamp()) for start in buckets.starts], dtype=np.int64)
    return Step(starts, of_touch)


def of_channels() -> Mapped:
    """Return the channels, by their number."""
    numbers = np.array(list(CHANNEL_IDS), dtype=np.int64)
    channels = np.array(list(CHANNEL_IDS.values()), dtype=np.int64)
    return Mapped(Column.SOURCES, numbers, channels, of_touch=True)


def of_platforms(sources: SourceNames) -> Mapped:
    """Return the platforms that bill sources, by their place among those of a Space."""
    places = {name: place for place, name in enumerate(sources.platform_sources, start=1)}
    owners = {number: sources.find_platform(source) for source, number in sources.numbers.items()}
    billed = sorted((number, places[owner]) for number, owner in owners.items() if owner)
    numbers, keys = np.array(billed, dtype=np.int64).T
    return Mapped(Column.SOURCES, numbers, keys, of_touch=True)


def local_seconds(seconds: IntArray, zone: ZoneInfo) -> IntArray:
    """Return the seconds since 1970 on a zone's clock. A zone's offset is looked up once for every
    hour that occurs; in an hour in which it changes, for every second.
    """
    hours, places = np.unique(seconds // 3_600, return_inverse=True)
    first = _offsets(hours * 3_600, zone)
    last = _offsets(hours * 3_600 + 3_599, zone)
    offsets = first[places]
    changing = np.flatnonzero((first != last)[places])
    offsets[changing] = _offsets(seconds[changing], zone)
    return seconds + offsets


def _offsets(seconds: IntArray, zone: ZoneInfo) -> IntArray:
    return np.array(
        [
            round(datetime.fromtimestamp(second, UTC).astimezone(zone).utcoffset().total_seconds())  # pyright: ignore[reportOptionalMemberAccess] - it has a zone
            for second in seconds.tolist()
        ],
        dtype=np.int64,
    )


@dataclass(frozen=True)
class Customers:
    """The customer of every event, as a number: a group of events."""

    by_company: bool = False
    """True when a company is one customer."""
    of_touch = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Column.CONTACTS, *([Column.COMPANIES] if self.by_company else []))

    def keys(self, paths: PathData) -> IntArray:
        """Return the number of every event's customer. Where there are both, contacts have even
        numbers and companies odd ones.
        """
        contacts = paths[Column.CONTACTS]
        if not self.by_company:
            return contacts
        companies = paths[Column.COMPANIES].astype(np.int64)
        return np.where(companies != 0, 2 * companies + 1, 2 * contacts.astype(np.int64))


CONTACTS = Customers()
"""Each contact a customer of its own."""


class Kind(IntEnum):
    """The kinds, by the number that stands for each. The names are the keys of the group `kind`."""

    ORDER = 0
    """A purchase that is neither upsell nor refund, whatever its amount."""
    CONVERSION = 1
    """Any other event that converts: a lead, a sign-up."""
    UPSELL = 2
    REFUND = 3

    @property
    def key(self) -> str:
        """The key of the group's row."""
        return self.name.lower()


KIND_KEYS = tuple(kind.key for kind in Kind)


def conversion_names(filters: Filters, *, sells: bool) -> tuple[str, ...]:
    """Return the names of the events that can convert and bring revenue: those that a question
    names; else the sales of a Space that sells, and all but the steps on the way elsewhere.
    """
    if filters.event_names:
        return filters.event_names
    return SALES_EVENTS if sells else _WITHOUT_STEPS


_WITHOUT_STEPS = tuple(name for name in EVENT_NAMES if name not in STEP_EVENTS)


@dataclass(frozen=True)
class KindOfEvent:
    """A group of events: their kind among events with some names. Others have none."""

    names: tuple[str, ...] = ()
    """Empty is all."""
    of_touch = False
    columns = (Column.NAMES, Column.KINDS)

    def keys(self, paths: PathData) -> IntArray:
        """Return the Kind of every event, or NO_KEY."""
        kinds = paths[Column.KINDS]
        keys = np.where(kinds == EventKind.UPSELL, Kind.UPSELL, Kind.REFUND).astype(np.int64)
        is_order = np.array([name == ORDER_NAME for name in paths.event_names], dtype=np.bool_)
        plain = np.where(is_order, Kind.ORDER, Kind.CONVERSION)[paths[Column.NAMES]]
        keys = np.where(kinds == EventKind.PLAIN, plain, keys)
        return keys if self._has_all(paths) else np.where(self._named(paths), keys, NO_KEY)

    def converting_amounts(self, paths: PathData, amounts: IntArray) -> IntArray:
        """Return amounts, those of events with other names as 0."""
        return amounts if self._has_all(paths) else np.where(self._named(paths), amounts, 0)

    def without_other_amounts(self, paths: PathData) -> PathData:
        """Return paths in which events with other names have no amount."""
        if self._has_all(paths):
            return paths
        amounts = np.where(self._named(paths), paths[Column.AMOUNTS], NO_AMOUNT)
        columns = {**paths.columns, Column.AMOUNTS: amounts}
        return replace(paths, columns=columns)

    def _has_all(self, paths: PathData) -> bool:
        return not self.names or set(self.names).issuperset(paths.event_names)

    def _named(self, paths: PathData) -> BoolArray:
        listed = np.array([name in self.names for name in paths.event_names], dtype=np.bool_)
        return listed[paths[Column.NAMES]]


EVERY_NAME = KindOfEvent()
