"""Cached sums over blocks of paths: a report opened again sums only changed blocks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from types import FunctionType
from typing import Any, Generic, Protocol, TypeVar, cast
from zoneinfo import ZoneInfo

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray
from psycopg.sql import Composable

from headwater.attribution.paths.cache import Key, PathSource, cache
from headwater.attribution.paths.path_data import PathData
from headwater.attribution.paths.scan_plan import Block
from headwater.reports.engine.conversion import ConvertedAmounts
from headwater.reports.engine.plan import FirstOrders

_PLAIN_TYPES = (str, bytes, int, float, Decimal, date, range, Enum, ZoneInfo, Composable, type(None))


class Fingerprint:
    """A digest of plain data and arrays: equal digests mean equal values.

    First orders are too large; their scope and the paths' history determine them.
    """

    def __init__(self, value: object) -> None:
        self.first_orders: FirstOrders | None = None
        self._hash = hashlib.blake2b(digest_size=16)
        self._add(value)
        self.digest = self._hash.digest()

    def history(self, last_day: date) -> bytes | None:
        """Return the version of the orders up to a day; None if unknown, empty without orders."""
        return b"" if self.first_orders is None else self.first_orders.scan.history(last_day)

    def _add(self, value: object) -> None:
        if isinstance(value, FirstOrders):
            assert self.first_orders in (None, value), "a value has one set of first orders"
            self.first_orders, value = value, (value.customers, value.event_names)
        if isinstance(value, np.ndarray):
            array = cast("NDArray[Any]", value)
            self._add_text(f"{array.dtype} {array.shape}")
            self._hash.update(np.ascontiguousarray(array).data)
        elif isinstance(value, Struct) or is_dataclass(value):
            self._add_all(type(value).__qualname__, _members(value))
        elif isinstance(value, Mapping):
            self._add_all("mapping", list(cast("Mapping[object, object]", value).items()))
        elif isinstance(value, frozenset):
            self._add_all("set", sorted(map(repr, cast("frozenset[object]", value))))
        elif isinstance(value, tuple | list):
            self._add_all("sequence", cast("Sequence[object]", value))
        elif isinstance(value, FunctionType) and "<" not in value.__qualname__:  # no lambda or closure
            self._add_text(f"{value.__module__}.{value.__qualname__}")
        elif isinstance(value, _PLAIN_TYPES):
            self._add_text(repr(value))
        elif type(value).__module__.startswith("headwater."):
            self._add_all(type(value).__qualname__, list(vars(value).items()))
        else:
            raise TypeError(f"{type(value)} cannot be part of a cache key")

    def _add_all(self, kind: str, parts: Sequence[object]) -> None:
        self._add_text(f"{kind} {len(parts)}")
        for value in parts:
            self._add(value)

    def _add_text(self, text: str) -> None:
        encoded = text.encode()
        self._hash.update(len(encoded).to_bytes(8) + encoded)


def _members(value: Any) -> Sequence[object]:
    if isinstance(value, Struct):
        return astuple(value)
    return [getattr(value, field.name) for field in fields(value)]


class Subject(Protocol):
    """Summed up block by block."""

    @property
    def timeless(self) -> object:
        """Everything its sums depend on in every block."""
        ...

    def clip(self, block: Block, /) -> Key | None:
        """Return the block's further cache key; None if it has no sums there."""
        ...


S = TypeVar("S", bound=Subject)
T = TypeVar("T")


class Addition(Struct, Generic[S, T], frozen=True):
    name: str
    add_up: Callable[[Sequence[S], PathData], Sequence[T]]
    nothing: T


class BlockSums(Generic[S, T]):
    def __init__(
        self,
        source: PathSource,
        subjects: Sequence[S],
        addition: Addition[S, T],
        conversion: ConvertedAmounts | None = None,
    ) -> None:
        """`conversion` replaces stored amounts."""
        self._source, self._subjects, self._addition = source, subjects, addition
        self._amounts = Fingerprint(conversion).digest
        self._fingerprints = [Fingerprint(subject.timeless) for subject in subjects]
        self._sums_by_block: dict[Block, dict[int, T]] = {}
        """By block and subject index."""

    def is_cached(self, block: Block) -> bool:
        return len(self._find(block)) == len(self._subjects)

    def find_cached(self) -> Iterator[Sequence[T]]:
        """Yield the sums of blocks cached for all subjects."""
        for subject_sums in self._sums_by_block.values():
            if len(subject_sums) == len(self._subjects):
                yield [subject_sums[index] for index in range(len(self._subjects))]

    def add_up(self, block: Block, paths: PathData) -> Sequence[T]:
        """Omit cached subjects."""
        subject_sums = self._find(block)
        missing_subjects = [
            subject for index, subject in enumerate(self._subjects) if index not in subject_sums
        ]
        return self._addition.add_up(missing_subjects, paths)

    def complete(self, block: Block, new_sums: Sequence[T]) -> Sequence[T]:
        """Cache the new sums, and return all."""
        subject_sums, values = self._find(block), iter(new_sums)
        sums: list[T] = []
        for index, subject in enumerate(self._subjects):
            if index in subject_sums:
                sums.append(subject_sums[index])
                continue
            sums.append(next(values))
            key = self._key(index, block, subject.clip(block))
            if key is not None:
                cache.put(key, sums[-1])
        return sums

    def _find(self, block: Block) -> dict[int, T]:
        if block not in self._sums_by_block:
            subject_sums = self._sums_by_block[block] = {}
            for index, subject in enumerate(self._subjects):
                clip = subject.clip(block)
                key = self._key(index, block, clip)
                if clip is None:
                    subject_sums[index] = self._addition.nothing
                elif key is not None and key in cache:
                    subject_sums[index] = cache.get(key)
        return self._sums_by_block[block]

    def _key(self, index: int, block: Block, clip: Key | None) -> Key | None:
        """Return a cache key, or None if the sums can't be cached."""
        fingerprint = self._fingerprints[index]
        history = fingerprint.history(block.last_day)
        if block.version is None or history is None:
            return None
        made_of = fingerprint.digest, self._amounts, block.version, clip, history
        return self._source, self._addition.name, *made_of
