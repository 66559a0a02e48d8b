"""Report dimensions: integer keys of events or touches, for sums in numpy. Only listed groups get names.
Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import IntEnum
from functools import cached_property
from typing import Protocol
from zoneinfo import ZoneInfo

import numpy as np
from msgspec import Struct

from headwater.attribution.paths.lookup import NumberMap
from headwater.attribution.paths.path_data import NO_AMOUNT, NO_NUMBERS, Column, EventKind, IntArray, PathData
from headwater.events.accepted import CONVERSIONS, ORDER_NAME, SALES_EVENTS
from headwater.reports.engine.time_buckets import TimeBuckets
from headwater.reports.query import Filters
from headwater.sources.catalogue import CHANNEL_IDS
from headwater.sources.source_names import SourceNames

_QUARTER = 900
NO_KEY = -1


class Dimension(Protocol):
    """Usable as a cache key."""

    @property
    def of_touch(self) -> bool:
        """True if touches, not events, have the keys."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]: ...

    def keys(self, paths: PathData) -> IntArray: ...


class Stored(Struct, frozen=True):
    column: Column
    of_touch: bool = False
    nothing: int | None = None
    """The stored value without a key."""

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.column,)

    def keys(self, paths: PathData) -> IntArray:
        stored_keys = paths[self.column]
        return (
            stored_keys
            if self.nothing is None
            else np.where(stored_keys == self.nothing, NO_KEY, stored_keys)
        )


@dataclass(frozen=True, eq=False)
class Mapped:
    column: Column
    numbers: IntArray
    """Ascending."""
    number_keys: IntArray
    of_touch: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.column,)

    def keys(self, paths: PathData) -> IntArray:
        return self._key_map.find(paths[self.column])

    @cached_property
    def _key_map(self) -> NumberMap:
        return NumberMap(self.numbers, self.number_keys, NO_KEY)


class EventNames(Struct, frozen=True):
    """Keys are indexes in `names`."""

    names: tuple[str, ...]
    of_touch = False
    columns = (Column.NAMES,)

    def keys(self, paths: PathData) -> IntArray:
        places = np.array([self.names.index(name) for name in paths.event_names], dtype=np.int64)
        return places[paths[Column.NAMES]]


@dataclass(frozen=True, eq=False)
class Step:
    """Days, weeks or months, numbered from 1 in the period."""

    starts: IntArray
    """In Unix seconds."""
    of_touch: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return (time_column(of_touch=self.of_touch),)

    # Binary search is several times slower than a lookup by quarter of an hour. Only the first bucket of a
    # period may begin within a quarter:
    #
    #     quarter         9:30 │ 9:45 │ 10:00 │ …  │ 23:45 │ 0:00 │ …
    #     a start              │   ▲  │       │    │       │ ▲    │
    #     bucket            0  │   1  │   1   │ 1  │   1   │ 2    │
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
        """The first second of the first bucket's quarter, and each quarter's bucket from the one before. None
        if a later bucket begins within a quarter.
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
        """The dimension without period, if events are grouped."""
        return self if self.of_touch else Step(NO_NUMBERS)

    def cut(self, seconds: range) -> tuple[int, tuple[int, ...]]:
        """Count the buckets up to the first second, and return later starts within the seconds."""
        before, until = np.searchsorted(self.starts, [seconds.start, seconds.stop - 1], "right")
        return int(before), tuple(self.starts[before:until].tolist())

    def find_seconds(self, keys: IntArray, span: range) -> range:
        """Return the seconds from the first to the last selected bucket; empty without buckets."""
        if not len(keys):
            return range(span.start, span.start)
        last = int(keys[-1])
        ends = int(self.starts[last]) if last < len(self.starts) else span.stop
        return range(int(self.starts[keys[0] - 1]), ends)


class ClockPart(Struct, frozen=True):
    """The local weekday (1 is Monday) or hour."""

    zone: ZoneInfo
    weekday: bool
    of_touch: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return (time_column(of_touch=self.of_touch),)

    def keys(self, paths: PathData) -> IntArray:
        (column,) = self.columns
        local_times = local_seconds(paths[column].astype(np.int64), self.zone)
        if self.weekday:
            return (local_times // 86_400 + 3) % 7 + 1  # 1 January 1970 was a Thursday
        return local_times // 3_600 % 24


def time_column(*, of_touch: bool) -> Column:
    return Column.TOUCH_SECONDS if of_touch else Column.SECONDS


def steps(buckets: TimeBuckets, *, of_touch: bool) -> Step:
    starts = np.array([int(start.timestamp()) for start in buckets.starts], dtype=np.int64)
    return Step(starts, of_touch)


def make_channel_dimension() -> Mapped:
    numbers = np.array(list(CHANNEL_IDS), dtype=np.int64)
    channels = np.array(list(CHANNEL_IDS.values()), dtype=np.int64)
    return Mapped(Column.SOURCES, numbers, channels, of_touch=True)


def make_platform_dimension(sources: SourceNames) -> Mapped:
    """Number ad platforms that bill sources from 1, in the Space's order."""
    places = {name: index for index, name in enumerate(sources.platform_sources, start=1)}
    owners = {number: sources.find_platform(source) for source, number in sources.numbers.items()}
    billed = sorted((number, places[owner]) for number, owner in owners.items() if owner)
    numbers, keys = np.array(billed, dtype=np.int64).T
    return Mapped(Column.SOURCES, numbers, keys, of_touch=True)


def local_seconds(seconds: IntArray, zone: ZoneInfo) -> IntArray:
    """Convert Unix seconds to local ones. The offset is looked up per hour, or per second in an hour with a
    change.
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
    by_company: bool = False
    """True if a company is one customer."""
    of_touch = False

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Column.CONTACTS, *([Column.COMPANIES] if self.by_company else []))

    def keys(self, paths: PathData) -> IntArray:
        """Number customers; by company, contacts are even and companies odd."""
        contacts = paths[Column.CONTACTS]
        if not self.by_company:
            return contacts
        companies = paths[Column.COMPANIES].astype(np.int64)
        return np.where(companies != 0, 2 * companies + 1, 2 * contacts.astype(np.int64))


CONTACTS = Customers()


class Kind(IntEnum):
    """Lower-case names are the keys of the group `kind`."""

    ORDER = 0
    """A purchase that is neither upsell nor refund."""
    CONVERSION = 1
    """Any other event that converts: a lead, a sign-up."""
    UPSELL = 2
    REFUND = 3

    @property
    def key(self) -> str:
        return self.name.lower()


KIND_KEYS = tuple(kind.key for kind in Kind)


def conversion_names(filters: Filters, *, sells: bool) -> tuple[str, ...]:
    """Return the events that convert and bring revenue: those in the filters, else sales events of a selling
    Space, else all except funnel steps.
    """
    if filters.event_names:
        return filters.event_names
    return SALES_EVENTS if sells else CONVERSIONS


@dataclass(frozen=True)
class EventKinds:
    """Other event names have no key."""

    names: tuple[str, ...] = ()
    """Empty means all."""
    of_touch = False
    columns = (Column.NAMES, Column.KINDS)

    def keys(self, paths: PathData) -> IntArray:
        """Return Kind or NO_KEY."""
        kinds = paths[Column.KINDS]
        keys = np.where(kinds == EventKind.UPSELL, Kind.UPSELL, Kind.REFUND).astype(np.int64)
        is_order = np.array([name == ORDER_NAME for name in paths.event_names], dtype=np.bool_)
        plain_keys = np.where(is_order, Kind.ORDER, Kind.CONVERSION)[paths[Column.NAMES]]
        keys = np.where(kinds == EventKind.PLAIN, plain_keys, keys)
        return keys if self._has_all(paths) else np.where(paths.have_names(self.names), keys, NO_KEY)

    def converting_amounts(self, paths: PathData, amounts: IntArray) -> IntArray:
        """Set the amounts of other events to 0."""
        return amounts if self._has_all(paths) else np.where(paths.have_names(self.names), amounts, 0)

    def without_other_amounts(self, paths: PathData) -> PathData:
        if self._has_all(paths):
            return paths
        amounts = np.where(paths.have_names(self.names), paths[Column.AMOUNTS], NO_AMOUNT)
        columns = {**paths.columns, Column.AMOUNTS: amounts}
        return replace(paths, columns=columns)

    def _has_all(self, paths: PathData) -> bool:
        return not self.names or set(self.names).issuperset(paths.event_names)


EVERY_NAME = EventKinds()
