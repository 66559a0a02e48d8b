"""The memory of a process for paths and for all that was made of them, so that nothing is read or
worked out twice while nothing changes.

Nothing is ever stale: what is remembered is known by everything that it was made of. An entry that
is not asked for again is let go when there is no room.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.paths.lookup import NumberMap

MEGABYTE = 1024 * 1024
MOST_BYTES = 40 * MEGABYTE
_SHARE = 3
"""One answer may have a third of the room remembered: the sums of a large one would else drive out
all that every other answer is made of, and at last their own beginning.
"""
_OVERHEAD = 200
"""The bytes that a Python object takes at least, more or less."""

Key = tuple[object, ...]


class Portion:
    """Bytes of a memory that may still be used for something."""

    def __init__(self, left: int) -> None:
        self._left = left

    def spend(self, size: int) -> bool:
        """Use some bytes up; False, and nothing is, where fewer are left."""
        if size > self._left:
            return False
        self._left -= size
        return True


class Memory:
    """Values by their keys, the latest used last, up to so many bytes."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes, self._bytes = most_bytes, 0
        self._values: OrderedDict[Key, tuple[object, int]] = OrderedDict()

    def limit_to(self, most_bytes: int) -> None:
        """Remember no more than so many bytes from now on; with 0, nothing."""
        self._most_bytes = most_bytes
        self._let_go()

    def __contains__(self, key: Key) -> bool:
        return key in self._values

    def get(self, key: Key) -> Any:
        """Return what is known by a key that is there."""
        self._values.move_to_end(key)
        return self._values[key][0]

    def portion(self) -> Portion:
        """Return what one answer may have remembered."""
        return Portion(self._most_bytes // _SHARE)

    def put(self, key: Key, value: object, portion: Portion | None = None) -> None:
        """Remember a value, and let go what was not used for longest; a value that is larger than
        half of all, or than what is left of a portion, is not remembered.
        """
        size = _OVERHEAD + size_of(value)
        if size > self._most_bytes // 2 or not (portion is None or portion.spend(size)):
            return
        self._bytes += size - self._values.pop(key, (None, 0))[1]
        self._values[key] = value, size
        self._let_go()

    def _let_go(self) -> None:
        while self._bytes > self._most_bytes:
            _, (_, freed) = self._values.popitem(last=False)
            self._bytes -= freed


memory = Memory()
"""That of this process, used in its event loop alone."""


def size_of(value: object) -> int:
    """Return the bytes that a value made of plain data and arrays takes, more or less."""
    if isinstance(value, np.ndarray):
        array = cast("NDArray[Any]", value)
        whole = array if array.base is None else array.base
        return _OVERHEAD + int(getattr(whole, "nbytes", array.nbytes))
    if isinstance(value, bytes):
        return _OVERHEAD + len(value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value)
        return _OVERHEAD + sum(size_of(each) for entry in entries.items() for each in entry)
    if isinstance(value, list | tuple):
        return _OVERHEAD + sum(map(size_of, cast("tuple[object, ...]", value)))
    if is_dataclass(value) or isinstance(value, NumberMap):
        return _OVERHEAD + sum(map(size_of, vars(value).values()))
    return _OVERHEAD
