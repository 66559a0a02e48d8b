"""How many parts go into a call where a platform bounds its bytes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import msgspec

MEGABYTE = 1_000_000
_AROUND = 1000
"""Bytes of a call that are in no part."""


def within(size: int) -> Callable[[Sequence[dict[str, Any]]], int]:
    """How many of these parts, counted from the first and at least one, make a body of at most
    `size` bytes.
    """

    def fitting(parts: Sequence[dict[str, Any]]) -> int:
        ends = accumulate(len(msgspec.json.encode(part)) + 1 for part in parts)
        return max(1, sum(end <= size - _AROUND for end in ends))

    return fitting
