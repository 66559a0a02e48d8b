"""Lists of ids in few octets. Pure.

A list is the number of octets of each difference (1, 2, 4 or 8), the least id, and how much each id
is above it. Of a batch whose ids lie close that is one or two octets an id.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from headwater.attribution.paths.path_data import IntArray

_HEAD = 9


def pack_ids(ids: Collection[int]) -> bytes:
    """Return ids as octets; no ids are none."""
    if not ids:
        return b""
    values = np.array(sorted(ids), dtype=np.int64)
    above = values - values[0]
    width = np.min_scalar_type(int(above[-1])).itemsize
    return bytes([width]) + int(values[0]).to_bytes(8) + above.astype(f">u{width}").tobytes()


def unpack_ids(packed: bytes) -> IntArray:
    """Return the ids of such a list, ascending."""
    if not packed:
        return np.array([], dtype=np.int64)
    above = np.frombuffer(packed[_HEAD:], dtype=f">u{packed[0]}").astype(np.int64)
    return above + int.from_bytes(packed[1:_HEAD])
