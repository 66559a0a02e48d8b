"""Integer weights of time decay, by age relative to a path's latest touch. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.integer[Any]]

LATEST_WEIGHT = 1 << 20
STEPS = 1024
_DAY = 86_400


# The latest touch weighs 1, a touch one half-life older a half, and so on. Only the time between touches
# matters: if all were a day older, all weights would shrink by the same factor, which keeps the shares. With
# a half-life of seven days, in 2**20:
#
#     days before the latest touch      0          3.5         7         14        21
#     steps of a half-life              0          512       1024      2048      3072
#     weight                      1048576      741455    524288    262144    131072
#
# Each further half-life repeats the numbers, halved and rounded down: 0 after twenty-one. No number is within
# 5e-5 of a half, so floats round correctly.

_FIRST = np.rint(LATEST_WEIGHT / 2.0 ** (np.arange(STEPS) / STEPS)).astype(np.int64)
_TABLE = np.concatenate([_FIRST >> halvings for halvings in range(LATEST_WEIGHT.bit_length() + 1)])
"""By step. The last is 0, also for later steps."""


def weigh(seconds: IntArray, half_life_days: int) -> IntArray:
    """Weigh touches by seconds before the latest touch, like the database function `decayed_weight`."""
    steps = seconds * STEPS
    steps //= half_life_days * _DAY
    return _TABLE.take(steps, mode="clip")
