"""A process's cache for paths and values computed from them.

Entries never go stale: the key covers every input, first the database and Space. The least recently used are
evicted.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray
from psycopg import AsyncConnection

from headwater.attribution.paths.lookup import NumberMap
from headwater.database.queries import Queries, fetch_one

queries = Queries(__name__, "cache.sql")

MEGABYTE = 1024 * 1024
MAX_BYTES = 40 * MEGABYTE
_OBJECT_BYTES = 200
"""The approximate size of a small Python object with its references."""

Key = tuple[object, ...]


class Cache:
    """Values by key, up to a number of bytes."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes, self._bytes = max_bytes, 0
        self._entries: OrderedDict[Key, tuple[object, int]] = OrderedDict()

    def resize(self, max_bytes: int) -> None:
        """Set the bytes; 0 disables the cache."""
        self._max_bytes = max_bytes
        self._evict()

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def get(self, key: Key) -> Any:
        """Raises KeyError."""
        value, _ = self._entries[key]
        self._entries.move_to_end(key)
        return value

    def put(self, key: Key, value: object) -> None:
        """Reject values larger than half of the cache."""
        size = _OBJECT_BYTES + estimate_size(value)
        if size > self._max_bytes // 2:
            return
        self._bytes += size - self._entries.pop(key, (None, 0))[1]
        self._entries[key] = value, size
        self._evict()

    def _evict(self) -> None:
        while self._bytes > self._max_bytes:
            _, (_, size) = self._entries.popitem(last=False)
            self._bytes -= size


cache = Cache()
"""Used only in the event loop."""


def estimate_size(value: object) -> int:
    """Return the approximate bytes of plain data and arrays."""
    if isinstance(value, np.ndarray):
        array = cast("NDArray[Any]", value)
        base = array if array.base is None else array.base
        size = int(getattr(base, "nbytes", array.nbytes))
        return _OBJECT_BYTES + (5 * size if array.dtype == object else size)
    if isinstance(value, bytes):
        return _OBJECT_BYTES + len(value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value)
        return _OBJECT_BYTES + sum(estimate_size(element) for entry in entries.items() for element in entry)
    if isinstance(value, list | tuple | Struct):
        parts = astuple(value) if isinstance(value, Struct) else cast("tuple[object, ...]", value)
        return _OBJECT_BYTES + sum(map(estimate_size, parts))
    if is_dataclass(value) or isinstance(value, NumberMap):
        return _OBJECT_BYTES + sum(map(estimate_size, vars(value).values()))
    return _OBJECT_BYTES


class PathSource(NamedTuple):
    address: str
    database: int
    """The database's oid; a replacement has another one."""
    space_id: int


_databases = WeakKeyDictionary[AsyncConnection, tuple[str, int]]()
"""The address and oid of each connection's database, which don't change."""


async def fetch_source(connection: AsyncConnection, space_id: int) -> PathSource:
    if connection not in _databases:
        (number,) = await fetch_one(connection, queries["database"])
        _databases[connection] = connection.info.dsn, number
    return PathSource(*_databases[connection], space_id)
