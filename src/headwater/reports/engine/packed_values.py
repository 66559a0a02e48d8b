"""Sums with their whole numbers in as few octets as these need, to be remembered: most are a
fraction of the eight that are calculated with. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.paths.packed_columns import PackedColumn, pack, unpack

MANY = 64
"""Shorter arrays stay as they are: an object more would take what it saves."""
_WIDEST = 1 << 62
"""Numbers that span no more can be packed."""


@dataclass(frozen=True)
class _PackedArray:
    rows: tuple[PackedColumn, ...]
    """Each is packed by itself, as they may be of different things."""
    shape: tuple[int, ...]


def packed(value: object) -> Any:
    """Return a value made of plain data and arrays with its arrays packed."""
    return _with_arrays(value, _pack)


def unpacked(value: object) -> Any:
    """Return the value that was packed."""
    return _with_arrays(value, _unpack)


def _with_arrays(value: object, change: Callable[[object], object]) -> object:
    """Return a value with its arrays changed."""
    if isinstance(value, np.ndarray | _PackedArray):
        return change(cast("object", value))
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value)
        return {key: _with_arrays(each, change) for key, each in entries.items()}
    if isinstance(value, list | tuple):
        parts = [_with_arrays(each, change) for each in cast("tuple[object, ...]", value)]
        return parts if isinstance(value, list) else tuple(parts)
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        return replace(value, **{name: _with_arrays(getattr(value, name), change) for name in names})
    return value


def _pack(value: object) -> object:
    array = cast("NDArray[Any]", value)
    if array.dtype != np.int64 or array.ndim not in (1, 2) or array.size < MANY:
        return array
    if int(array.max()) - int(array.min()) >= _WIDEST:
        return array
    return _PackedArray(tuple(pack(row) for row in np.atleast_2d(array)), array.shape)


def _unpack(value: object) -> object:
    if not isinstance(value, _PackedArray):
        return value
    rows = [unpack(row, value.shape[-1]) for row in value.rows]
    return rows[0] if len(value.shape) == 1 else np.stack(rows)
