"""The weights of time decay, as whole numbers: a touch's weight depends on how much older it is than the
latest touch of its path. Pure.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.integer[Any]]

LATEST_WEIGHT = 1 << 20
"""The weight of the latest touch."""
STEPS = 1024
"""The equal steps of a half-life: within one, a weight does not change."""
_DAY = 86_400
_DIGITS = 30


def _weights_of_steps() -> list[int]:
    """Return the weight after each step of the first half-life: LATEST_WEIGHT / 2**(step / STEPS),
    to the nearest whole number.
    """
    with localcontext(prec=_DIGITS):
        return [
            int((LATEST_WEIGHT / Decimal(2) ** (Decimal(step) / STEPS)).to_integral_value())
            for step in range(STEPS)
        ]


# The latest touch of a path weighs 1, one that is a half-life older a half, and so on. Only the
# time between touches matters: if all were a day further from the purchase, each would weigh less
# by the same factor, which does not change the shares. With a half-life of seven days, in 2**20:
#
#     days before the latest touch      0          3.5         7         14        21
#     steps of a half-life              0          512       1024      2048      3072
#     weight                      1048576      741455    524288    262144    131072
#
# After the first half-life the numbers repeat, halved once for each half-life and rounded down: after
# twenty-one of them 0.

_FIRST = np.array(_weights_of_steps(), dtype=np.int64)
_TABLE = np.concatenate([_FIRST >> halvings for halvings in range(LATEST_WEIGHT.bit_length() + 1)])
"""The weights by steps. The last is 0, and so are all after it."""


def weigh(seconds: IntArray, half_life_days: int) -> IntArray:
    """Return the weight of touches by how many seconds each is older than the latest of its path.
    The same as the database's function `decayed_weight`.
    """
    steps = seconds * STEPS
    steps //= half_life_days * _DAY
    return _TABLE.take(steps, mode="clip")
